import { describe, expect, test } from 'vitest';
import { decide } from '../../../src/domain/deciding/decide.ts';
import { asksForInvoice, MOST_INVOICE_FAILURES } from '../../../src/domain/deciding/invoice.ts';
import { type InvoiceSeen, observationOf } from '../../../src/domain/deciding/invoice-seen.ts';
import type { DecideContext, PollOutcome } from '../../../src/domain/deciding/outcome.ts';
import { completedEvents } from '../../../src/domain/events/make-event.ts';
import type { InvoiceFacts } from '../../../src/domain/events/system-event-types.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { Observation, Purchase } from '../../../src/domain/purchases/purchase.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';
import { answer, aPurchase, aStatePolicy, trouble } from '../../support/a-purchase.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const T = Date.UTC(2026, 10, 20, 9, 15);
const [CARDS, COMPLETED, CANCELLED] = [6, 2, 8];

const FACTS: InvoiceFacts = {
  totalAmount: decimal('249.50'),
  totalAuthorizedAmount: decimal('300.00'),
  minimumAmountToPay: decimal('100'),
  invoiceDate: '2026-11-20T00:00:00',
  dueDate: '2026-12-20T00:00:00',
  completed: '2026-11-20T09:14:58.000Z',
  debitItems: 2,
  creditItems: 0,
};
const READY: InvoiceSeen = { kind: 'invoice', facts: FACTS };
const NOT_YET: InvoiceSeen = { kind: 'not_completed', detail: 'It is not completed.' };
const failed = (...given: Parameters<typeof trouble>): InvoiceSeen => trouble(...given) as InvoiceSeen;

/** A purchase seen at the bank a moment ago. */
const atBank = (differs: Partial<Purchase> = {}): Purchase =>
  aPurchase({ state: CARDS, stateSince: T - MINUTE, seenAt: T - SECOND, watchedSince: T - HOUR, sequence: 1, ...differs });
/** One that is completed, and whose invoice is wanted. */
const completed = (differs: Partial<Purchase> = {}): Purchase =>
  aPurchase({
    state: COMPLETED,
    stateSince: T - SECOND,
    seenAt: T - SECOND,
    watchedSince: T - HOUR,
    status: 'settled',
    sequence: 2,
    invoice: 'wanted',
    ...differs,
  });
function poll(purchase: Purchase, seen: Observation, differs: Partial<DecideContext> = {}, at = T): PollOutcome {
  const context = { askedAt: at, now: at, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 0, invoices: true, invoice: null };
  return decide(purchase, seen, { ...context, ...differs });
}
const typesOf = ({ events }: PollOutcome): string[] => events.map(({ type }) => type);

describe('what completes', () => {
  test('is told first, and due again at once for its invoice', () => {
    const after = poll(atBank(), answer(COMPLETED));
    expect(typesOf(after)).toEqual(['purchase.state_changed']);
    expect(after).toMatchObject({
      kind: 'changed',
      nextPollAt: T,
      nextPollReason: 'invoice',
      purchase: { invoice: 'wanted', status: 'settled' },
    });
  });

  test('may be completed when it is seen first', () => {
    expect(poll(aPurchase(), answer(COMPLETED))).toMatchObject({ nextPollAt: T, purchase: { invoice: 'wanted' } });
  });

  test('is meant alone: what moves to another state has no invoice', () => {
    expect(poll(atBank(), answer(CANCELLED)).purchase.invoice).toBeNull();
  });

  test('is left alone at a site that does not ask for invoices', () => {
    const after = poll(atBank(), answer(COMPLETED), { invoices: false });
    expect(after).toMatchObject({ nextPollAt: null, purchase: { invoice: null, status: 'settled' } });
  });

  test('is asked for its invoice once, also when it is completed a second time', () => {
    expect(poll(atBank({ invoice: 'ready' }), answer(COMPLETED))).toMatchObject({
      nextPollAt: null,
      purchase: { invoice: 'ready' },
    });
    expect(poll(atBank({ invoice: 'none' }), answer(COMPLETED)).purchase.invoice).toBe('wanted');
  });

  test('is not asked for again by a poll that shows nothing new', () => {
    expect(poll(completed({ invoice: null }), { kind: 'same' })).toMatchObject({ kind: 'unchanged', nextPollAt: null });
  });
});

describe('the invoice', () => {
  test('is announced after what else the poll shows, with the digits it came with and nothing personal', () => {
    const after = poll(completed(), answer(COMPLETED, { CurrencyCode: 'SEK' }), { invoice: READY });
    expect(typesOf(after)).toEqual(['purchase.invoice_ready']);
    const [event] = completedEvents(after.events, after.details, { reference: 'ORD-1', metadata: null, details: null });
    expect(JSON.stringify(event)).toBe(
      `{"type":"purchase.invoice_ready","sequence":3,"at":${T},"state":2,"data":{"site":"default","purchaseId":"p-1","sequence":3,` +
        '"invoice":{"totalAmount":249.50,"totalAuthorizedAmount":300.00,"minimumAmountToPay":100,"invoiceDate":"2026-11-20T00:00:00",' +
        '"dueDate":"2026-12-20T00:00:00","completed":"2026-11-20T09:14:58.000Z","debitItems":2,"creditItems":0},' +
        '"reference":"ORD-1","metadata":null,"price":null,"currency":"SEK","orderReference":null}}',
    );
    expect(after).toMatchObject({ kind: 'changed', nextPollAt: null, lastError: null, transition: null });
    expect(after.purchase).toMatchObject({ invoice: 'ready', sequence: 3, status: 'settled' });
  });

  test('is announced with what the same answer was recorded as before', () => {
    const { events, details } = poll(completed(), { kind: 'same' }, { invoice: READY });
    const [event] = completedEvents(events, details, { reference: null, metadata: null, details: '{"Price":249.50}' });
    expect(JSON.stringify(event!.data)).toContain('"price":249.50');
  });

  test('leaves the rechecks of the state as they are planned', () => {
    const states = new Map(DEFAULT_POLL_POLICY.states).set(COMPLETED, aStatePolicy({ final: true, recheck: [HOUR] }));
    const policy = { ...DEFAULT_POLL_POLICY, states };
    expect(poll(atBank(), answer(COMPLETED), { policy }).nextPollAt).toBe(T);
    const rechecked = { nextPollAt: T - SECOND + HOUR, nextPollReason: 'recheck' };
    expect(poll(completed(), answer(COMPLETED), { policy, invoice: READY })).toMatchObject(rechecked);
  });

  test.each([
    ['the service says that there is none', { kind: 'not_eligible', detail: 'Paid by card.' } as InvoiceSeen],
    ['the service knows no invoice of a purchase it knows', failed('unknown')],
  ])('is none when %s: nothing is told, and that is the end of it', (_, invoice) => {
    const after = poll(completed(), answer(COMPLETED), { invoice });
    expect(after).toMatchObject({ kind: 'changed', events: [], nextPollAt: null, lastError: null });
    expect(after.purchase).toMatchObject({ invoice: 'none', failures: 0 });
  });

  test('is none when the purchase is not completed any more', () => {
    const after = poll(completed(), answer(CANCELLED));
    expect(typesOf(after)).toEqual(['purchase.state_changed']);
    expect(after).toMatchObject({ nextPollAt: null, purchase: { invoice: 'none' } });
  });

  test('waits a second when the site had no place for the call', () => {
    const after = poll(completed({ failures: 3 }), answer(COMPLETED));
    expect(after).toMatchObject({ kind: 'changed', events: [], nextPollAt: T + SECOND });
    expect(after.purchase).toMatchObject({ invoice: 'wanted', failures: 3 });
    expect(poll(completed(), { kind: 'same' }).kind).toBe('changed');
  });

  test('of a purchase that nobody watches any more is not waited for', () => {
    expect(poll(completed({ status: 'stopped' }), answer(COMPLETED))).toMatchObject({ nextPollAt: null });
  });
});

describe('trouble', () => {
  test("of the site's is waited out, whatever the poll itself showed is kept, and no failure is held against the purchase", () => {
    const details = { CurrencyCode: 'SEK' };
    for (const [strikes, wait] of [
      [0, SECOND],
      [3, 4 * SECOND],
    ] as const) {
      const after = poll(completed(), answer(COMPLETED, details), { invoice: failed('unreachable'), strikes });
      expect(after).toMatchObject({ kind: 'changed', detailsChanged: true, events: [], nextPollAt: T + wait });
      expect(after.purchase).toMatchObject({ invoice: 'wanted', failures: 0, seenAt: T });
      expect(after.lastError).toMatch(/^The invoice could not be read\. /);
    }
  });

  test('that asks for a pause gets it', () => {
    const invoice = failed('throttled', { retryAfter: 90 * SECOND });
    expect(poll(completed(), answer(COMPLETED), { invoice }).nextPollAt).toBe(T + 90 * SECOND);
    const malformed = failed('malformed', { retryAfter: 2 * HOUR });
    expect(poll(completed(), answer(COMPLETED), { invoice: malformed }).nextPollAt).toBe(T + 2 * HOUR);
  });

  test('by too many calls is asked ever more rarely from the first time on, and not given up', () => {
    const throttled = (failures: number) => poll(completed({ failures }), answer(COMPLETED), { invoice: failed('throttled') });
    expect(throttled(0)).toMatchObject({ nextPollAt: T + MINUTE, purchase: { invoice: 'wanted', failures: 1 } });
    expect(throttled(MOST_INVOICE_FAILURES).purchase.invoice).toBe('wanted');
  });

  test.each([
    ['an answer that is no invoice', failed('malformed')],
    ['an answer that contradicts the status', NOT_YET],
  ])('that is the own: %s is tried again ever more rarely, and given up after some hours', (_, invoice) => {
    let purchase = completed();
    let at = T;
    const waits: number[] = [];
    for (let tries = 1; tries < MOST_INVOICE_FAILURES; tries++) {
      const after = poll(purchase, answer(COMPLETED), { invoice }, at);
      expect(after.purchase).toMatchObject({ invoice: 'wanted', failures: tries });
      waits.push(after.nextPollAt! - at);
      purchase = after.purchase;
      at = after.nextPollAt!;
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64].map((minutes) => minutes * MINUTE));
    const last = poll(purchase, answer(COMPLETED), { invoice }, at);
    expect(last).toMatchObject({ nextPollAt: null, events: [], purchase: { invoice: 'none', failures: MOST_INVOICE_FAILURES } });
    expect(last.lastError).toBe(`The invoice could not be read. ${'detail' in invoice ? invoice.detail : ''}`);
  });

  test('of the invoices alone, which lasts, is asked ever more rarely and given up only with the purchase', () => {
    const context = { invoice: failed('unreachable'), strikes: 6 };
    const after = poll(completed({ failures: 20 }), answer(COMPLETED), context);
    expect(after).toMatchObject({ purchase: { invoice: 'wanted', failures: 21 }, nextPollAt: T + 24 * HOUR });
    const late = poll(completed({ failures: 20, stateSince: T - DEFAULT_POLL_POLICY.giveUpAfter }), answer(COMPLETED), context);
    expect(late).toMatchObject({ purchase: { invoice: 'none' }, nextPollAt: null });
    const skipped = [{ from: T - 2 * HOUR, until: T - HOUR }];
    const soon = poll(completed({ failures: 20, stateSince: T - DEFAULT_POLL_POLICY.giveUpAfter }), answer(COMPLETED), {
      ...context,
      skipped,
    });
    expect(soon).toMatchObject({ purchase: { invoice: 'wanted' } });
  });

  test('with the status keeps a settled purchase due for its invoice, and not for ever', () => {
    const once = poll(completed(), trouble('malformed'));
    expect(once).toMatchObject({
      kind: 'failed',
      purchase: { invoice: 'wanted', status: 'settled' },
      nextPollAt: T + MINUTE,
      nextPollReason: 'invoice',
    });
    const last = poll(completed({ failures: MOST_INVOICE_FAILURES - 1 }), trouble('malformed'));
    expect(last).toMatchObject({ kind: 'changed', purchase: { invoice: 'none' }, nextPollAt: null });
    // The same for one that was given up and whose invoice somebody asked for; one that was stopped is left alone.
    const afterThat = (status: Purchase['status']) => poll(completed({ status }), trouble('malformed')).nextPollAt;
    expect([afterThat('expired'), afterThat('stopped')]).toEqual([T + MINUTE, null]);
    // The site's trouble is nobody's failure.
    expect(poll(completed(), trouble('unreachable'))).toMatchObject({ kind: 'postponed', purchase: { invoice: 'wanted' } });
  });
});

test('a caller that only asks whether the service answers takes every answer about an invoice for a good one', () => {
  expect(observationOf(NOT_YET)).toEqual({ kind: 'same' });
  const unreached = failed('unreachable');
  expect(observationOf(unreached)).toBe(unreached);
});

test('the service is asked for an invoice only when the poll shows nothing else to be told first', () => {
  expect(asksForInvoice(completed(), { kind: 'same' })).toBe(true);
  expect(asksForInvoice(completed(), answer(COMPLETED))).toBe(true);
  expect(asksForInvoice(completed(), answer(CANCELLED))).toBe(false);
  expect(asksForInvoice(completed(), trouble('unreachable'))).toBe(false);
  expect(asksForInvoice(atBank({ invoice: 'wanted' }), answer(COMPLETED))).toBe(false);
  expect(asksForInvoice(completed({ invoice: 'ready' }), { kind: 'same' })).toBe(false);
});
