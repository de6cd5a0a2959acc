import { expect, test } from 'vitest';
import type { DecidedPoll } from '../../../src/daemon/poller/locked-rows.ts';
import { createPolls } from '../../../src/daemon/poller/polls.ts';
import { COMPLETED } from '../../../src/domain/deciding/invoice.ts';
import type { InvoiceSeen } from '../../../src/domain/deciding/invoice-seen.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy } from '../../../src/domain/polling/poll-plan.ts';
import type { Observation, Purchase } from '../../../src/domain/purchases/purchase.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { answer, aPurchase, trouble } from '../../support/a-purchase.ts';
import { aLog, NOW } from '../notifier/parts.ts';

interface Differs {
  readonly dueAt?: number;
  readonly digest?: string | null;
  readonly strikes?: number;
  /** The whole site fails, or no failure counts. */
  readonly fails?: boolean;
  readonly excused?: boolean;
  readonly policy?: PollPolicy;
  readonly invoice?: InvoiceSeen | Error;
  /** The site asks for invoices. */
  readonly invoices?: boolean;
  /** How the clock reads the moment at which the request left. */
  readonly at?: number;
  /** Happens while the answer is on its way. */
  readonly meanwhile?: (entry: { gone: boolean }) => void;
  /** The answer cannot be decided. */
  readonly fault?: Error;
  readonly traces?: unknown;
}

/** Polls a purchase once; answers what is to be recorded, and what happened to the purchase in memory instead. */
async function poll(purchase: Purchase, seen: Observation, differs: Differs = {}) {
  const { dueAt = NOW, digest = null, strikes = 0, fails = false, excused = false, invoice, at, meanwhile, fault } = differs;
  const { policy = DEFAULT_POLL_POLICY, invoices = false, traces = null } = differs;
  const recorded: DecidedPoll[] = [];
  const settled: unknown[] = [];
  const begun: number[] = [];
  const ended: unknown[] = [];
  const asked: unknown[][] = [];
  const answers: unknown[][] = [];
  const placed: unknown[][] = [];
  const rereads: unknown[][] = [];
  const calling: string[] = [];
  const inFlight: number[] = [];
  const wakes = { count: 0 };
  const moment = { now: 100 };
  const entry = { purchase, dueAt, slot: 7, epoch: 3, digest, strikes, gone: false };
  const meters = createMeters();
  const { log, logged } = aLog();
  const calls = {
    begin: (isExtra: boolean) => calling.push(`begin ${isExtra}`),
    end: () => calling.push('end'),
    answered: (...given: unknown[]) => {
      answers.push(given);
      if (fault) throw fault;
    },
    ...{ fails: () => fails, excuses: () => excused },
    site: {
      invoices,
      pollStatus: async (...given: unknown[]) => {
        asked.push(given);
        inFlight.push(meters.site('default').inFlight);
        moment.now = 600;
        meanwhile?.(entry);
        return seen;
      },
    },
  };
  const window = {
    place: (...given: unknown[]) => {
      placed.push(given.slice(1));
      return { slot: 9, stays: true };
    },
    settle: (_: unknown, next: unknown) => settled.push(next),
  };
  const polls = createPolls({
    clock: { now: () => NOW, monotonic: () => moment.now, ...(at !== undefined && { at: () => at }) },
    ...{ log, meters, traces },
    ...{ windows: new Map([['default', window]]), recorder: { add: (each: DecidedPoll) => recorded.push(each) } },
    loader: { readAgain: (...given: unknown[]) => rereads.push(given) },
    extraCalls: {
      pollInvoice: async (...given: unknown[]) => {
        asked.push(given.slice(1));
        invoicing.push(polls.invoicing());
        if (invoice instanceof Error) throw invoice;
        return invoice ?? null;
      },
    },
    ...{ policyFor: () => policy, skipped: () => [], spread: () => 0 },
    wake: () => {
      wakes.count += 1;
    },
    ownership: {
      begin: (shard: number) => begun.push(shard),
      end: (...given: unknown[]) => ended.push(given),
    },
  } as unknown as Parameters<typeof createPolls>[0]);
  const invoicing: number[] = [];
  await polls.poll(calls as never, entry as never, false);
  invoicing.push(polls.invoicing());
  inFlight.push(meters.site('default').inFlight);
  return {
    ...{ recorded, settled, begun, ended, asked, answers, placed, rereads, calling, inFlight, invoicing, logged, entry },
    ...{ wakes: wakes.count, meter: meters.site('default') },
  };
}
const seenBefore = { state: 1, sequence: 1, stateSince: NOW - 60_000 } as const;

test('a purchase that another daemon saw by a clock that is ahead by a little changes no earlier than it was seen', async () => {
  const { recorded } = await poll(aPurchase({ ...seenBefore, seenAt: NOW + 40 }), answer(4));
  const { now, outcome } = recorded[0]!.decided;
  expect([now, outcome.purchase.stateSince, outcome.transition?.notAfter]).toEqual([NOW + 40, NOW + 40, NOW + 40]);
});

test('the time of a purchase that is ahead by hours is that of a clock that was set back, and counts for nothing', async () => {
  const { recorded } = await poll(aPurchase({ ...seenBefore, seenAt: NOW + 3_600_000 }), answer(4));
  expect(recorded[0]!.decided.outcome.purchase).toMatchObject({ seenAt: NOW, stateSince: NOW });
});

test('trouble of the site is not recorded: the purchase is polled again soon, and its shard may be given away', async () => {
  const purchase = aPurchase(seenBefore);
  const { recorded, settled, ended, logged } = await poll(purchase, trouble('unreachable'));
  expect([recorded, settled, ended]).toEqual([[], [{ purchase, dueAt: NOW + 1_000, slot: 7 }], [[purchase.shard, 3]]]);
  expect(logged).toMatchObject([
    { level: 'debug', event: 'poll.postponed', site: 'default', purchaseId: 'p-1', reason: 'unreachable' },
  ]);
});

test('a poll is counted from its request to its answer, and its outcome is recorded for the place that the window gives it', async () => {
  const purchase = aPurchase({ ...seenBefore, shard: 5 });
  const polled = await poll(purchase, answer(4), { dueAt: NOW - 300 });
  expect([polled.calling, polled.begun, polled.inFlight]).toEqual([['begin false', 'end'], [5], [1, 0]]);
  expect([polled.meter.polls.seen, polled.meter.took.sum(), polled.meter.takeLag()]).toEqual([1, 0.5, 300]);
  expect(polled.answers).toEqual([[answer(4), { purchase: purchase.id, probe: false, asked: purchase }]]);
  const [{ entry, stays, decided }] = polled.recorded as [DecidedPoll];
  expect([entry === (polled.entry as never), stays, decided]).toMatchObject([true, true, { askedAt: NOW, now: NOW, slot: 9 }]);
  expect(polled.placed).toEqual([[decided.outcome.nextPollAt, NOW]]);
  expect([polled.wakes, polled.ended, polled.settled]).toEqual([1, [], []]);
});

test('the last answer is told to the site, which need not read the same one again, and the new one is known from then on', async () => {
  const { asked, entry } = await poll(aPurchase(seenBefore), answer(4), { digest: 'known' });
  expect([asked, entry.digest]).toEqual([[['p-1', 'known', undefined]], 'a digest']);
  const failed = await poll(aPurchase(seenBefore), trouble('malformed'), { digest: 'known' });
  expect(failed.entry.digest).toBe('known');
});

test('where the amount must be known, every answer is read', async () => {
  const atRisk = { before: 600_000, minimumAmount: { SEK: 100 } };
  const policy = { ...DEFAULT_POLL_POLICY, atRisk };
  const { sessionLength } = policy;
  const stuck = aPurchase({ ...seenBefore, stateSince: NOW - sessionLength + 60_000, watchedSince: NOW - sessionLength });
  const { asked } = await poll(stuck, { kind: 'same' }, { digest: 'known', policy });
  expect(asked).toEqual([['p-1', null, undefined]]);
});

const completed = aPurchase({ ...seenBefore, state: COMPLETED, invoice: 'wanted' });
const REFUSED: InvoiceSeen = { kind: 'refused', reason: 'http_403', detail: 'No.', httpStatus: 403, retryAfter: null };

test('the invoice of a completed purchase is asked for with the same poll', async () => {
  const invoice: InvoiceSeen = { kind: 'not_eligible', detail: 'None.' };
  const { asked, invoicing, recorded } = await poll(completed, { kind: 'same' }, { invoice, invoices: true });
  expect([asked.length, asked[1], invoicing]).toEqual([2, [completed, undefined], [1, 0]]);
  expect(recorded[0]!.decided.outcome.purchase.invoice).not.toBe('wanted');
});

test.each<[string, Purchase, Observation, Differs]>([
  ['that is not wanted', { ...completed, invoice: null }, { kind: 'same' }, {}],
  ['of a purchase that was seen in another state', completed, answer(4), {}],
  [
    'of a purchase that left memory meanwhile',
    completed,
    { kind: 'same' },
    {
      meanwhile: (entry) => {
        entry.gone = true;
      },
    },
  ],
])('no invoice is asked for %s', async (_, purchase, seen, differs) => {
  expect((await poll(purchase, seen, { ...differs, invoices: true })).asked).toHaveLength(1);
});

test.each<[string, Observation, Differs, number]>([
  ['an answer ends the failures in a row', answer(4), { strikes: 3 }, 0],
  ['trouble of the site adds one', trouble('unreachable'), { strikes: 3 }, 4],
  ['none counts while the whole site fails', trouble('unreachable'), { strikes: 3, fails: true }, 0],
  ['excused ones never make the trouble the purchase’s own', trouble('unreachable'), { strikes: 5, excused: true }, 5],
])('failures in a row: %s', async (_, seen, differs, strikes) => {
  expect((await poll(aPurchase(seenBefore), seen, differs)).entry.strikes).toBe(strikes);
});

test('a failure of the call for the invoice counts as the poll’s last', async () => {
  const { entry } = await poll(
    completed,
    { kind: 'same' },
    { invoice: { ...REFUSED, kind: 'unreachable' }, strikes: 3, invoices: true },
  );
  expect(entry.strikes).toBe(4);
});

test('a clock that stepped while the answer was on its way moves the time of the request, too', async () => {
  const { recorded } = await poll(aPurchase(seenBefore), answer(4), { at: NOW + 7_000 });
  expect(recorded[0]!.decided).toMatchObject({ askedAt: NOW + 7_000, now: NOW + 7_000 });
});

test.each<[string, Differs]>([
  ['the answer', { fault: new Error('a bug') }],
  ['the invoice', { invoice: new Error('a bug') }],
])(
  'a purchase that cannot be decided for a bug over %s rests for a minute, and keeps no other from being polled',
  async (_, differs) => {
    const polled = await poll({ ...completed, shard: 5 }, { kind: 'same' }, { ...differs, invoices: true });
    expect(polled.logged).toMatchObject([{ level: 'error', event: 'poll.undecided', site: 'default', purchaseId: 'p-1' }]);
    expect([polled.settled, polled.rereads, polled.ended]).toEqual([[null], [[1, 60_000]], [[5, 3]]]);
    expect([polled.recorded, polled.wakes, polled.invoicing.at(-1)]).toEqual([[], 1, 0]);
  },
);

test('a trace of the poll goes with its calls, and has what was decided', async () => {
  const trace = { id: 'a trace' };
  const told: unknown[][] = [];
  const traces = { beginPoll: () => trace, decided: (...given: unknown[]) => told.push(given) };
  const { asked, recorded, entry } = await poll(completed, { kind: 'same' }, { traces, invoices: true });
  expect(asked).toEqual([
    ['p-1', null, trace],
    [completed, trace],
  ]);
  expect(told).toEqual([[entry, recorded[0]!.decided.outcome, expect.any(Number)]]);
  expect(told[0]![2]).toBeGreaterThan(0);
});
