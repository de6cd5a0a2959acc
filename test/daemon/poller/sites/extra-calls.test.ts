import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { InvoiceAnswer } from '../../../../src/checkout/invoice-details.ts';
import { createExtraCalls, type ExtraCalls } from '../../../../src/daemon/poller/sites/extra-calls.ts';
import { createSiteCalls, type SiteCalls } from '../../../../src/daemon/poller/sites/site-calls.ts';
import type { Observation } from '../../../../src/domain/purchases/purchase.ts';
import { createLogger } from '../../../../src/runtime/logger.ts';
import { answer, trouble } from '../../../support/a-purchase.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const NOTHING: InvoiceAnswer = { kind: 'not_eligible', state: 2, detail: 'None.' };

let elapsed: number;
let calls: SiteCalls;
let extraCalls: ExtraCalls;
let lease: { share: number; outlasts: boolean; mayBegin: boolean };
/** What was asked, in order. */
let asked: string[];
const pollInvoice = vi.fn();
const wake = vi.fn();
let invoice: InvoiceAnswer;
let status: Observation;
const quiet = new AbortController().signal;
const purchase = { id: 1, site: 'se', purchaseId: 'p-1', shard: 0 };

beforeEach(() => {
  elapsed = 0;
  asked = [];
  vi.clearAllMocks();
  lease = { share: 1, outlasts: true, mayBegin: true };
  invoice = NOTHING;
  status = answer(2);
  const ask = async <T>(what: string, answer: T): Promise<T> => {
    asked.push(what);
    return answer;
  };
  const site = {
    name: 'se',
    maxRps: 1,
    concurrency: 4,
    timeout: MINUTE,
    invoices: true,
    pollStatus: () => ask('status', status),
    pollInvoice: (...args: unknown[]) => {
      pollInvoice(...args);
      return ask('invoice', NOTHING as { kind: 'not_eligible'; detail: string });
    },
    invoice: () => ask('invoice', invoice),
    token: () => null,
  };
  calls = createSiteCalls(site, {
    // Nothing here reports: that needs several failures in a row, or a good answer after some.
    sql: (async () => []) as never,
    clock: { now: () => elapsed, monotonic: () => elapsed, sleep: async () => {} },
    log: createLogger({ level: 'silent' }),
    replica: 'rep_1',
    spread: () => 0,
    onReported: () => {},
  });
  extraCalls = createExtraCalls({
    siteCalls: new Map([['se', calls]]),
    ownership: { share: () => lease.share, outlasts: () => lease.outlasts, mayBegin: () => lease.mayBegin } as never,
    wake,
  });
});
const invoiceOf = (differs: { site?: string; signal?: AbortSignal } = {}) =>
  extraCalls.invoiceOf({ ...purchase, signal: quiet, ...differs });
/** What the poller's pump does: gives turns for as long as there may be some. */
const pumped = (): number => {
  while (calls.turns.waiting > 0) {
    const wait = extraCalls.giveTurn(calls);
    if (wait > 0) return wait;
  }
  return 0;
};
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a call beside the queue', () => {
  test('waits for its place among the calls of the site, and is one of those in flight', async () => {
    expect(calls.take(1).wait).toBe(0);
    const answered = invoiceOf();
    expect([pumped(), asked, extraCalls.busy(), wake.mock.calls.length]).toEqual([SECOND, [], 1, 1]);
    elapsed = SECOND;
    expect([pumped(), calls.inFlight, calls.wasExtra]).toEqual([0, 1, true]);
    expect([await answered, wake.mock.calls.length]).toEqual([NOTHING, 2]);
    expect([asked, calls.inFlight, extraCalls.busy()]).toEqual([['invoice'], 0, 0]);
    expect(calls.take(1).wait).toBe(SECOND);
  });

  test('waits as long as a call of the site may take', async () => {
    calls.take(1);
    void invoiceOf();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(calls.turns.waiting).toBe(1);
    calls.turns.dismiss();
  });

  test.each<[string, Observation, object]>([
    ['fails', trouble('malformed'), { kind: 'malformed' }],
    ['says nothing new', { kind: 'same' }, { kind: 'busy' }],
  ])('about a purchase without an invoice whose status %s says so', async (_, seen, reply) => {
    invoice = trouble('unknown') as InvoiceAnswer;
    status = seen;
    const answered = invoiceOf();
    pumped();
    await settled();
    elapsed = SECOND;
    pumped();
    expect(await answered).toMatchObject(reply);
  });

  test('takes no second place when the caller no longer waits', async () => {
    invoice = trouble('unknown') as InvoiceAnswer;
    const controller = new AbortController();
    const answered = invoiceOf({ signal: controller.signal });
    pumped();
    await settled();
    controller.abort();
    expect([await answered, asked]).toEqual([{ kind: 'busy', retryAfter: SECOND }, ['invoice']]);
  });

  test('takes a second place to find out why there is no invoice', async () => {
    invoice = trouble('unknown') as InvoiceAnswer;
    status = answer(6);
    const answered = invoiceOf();
    pumped();
    await settled();
    expect([asked, pumped()]).toEqual([['invoice'], SECOND]);
    elapsed = SECOND;
    pumped();
    expect(await answered).toMatchObject({ kind: 'not_completed', state: 6 });
    expect(asked).toEqual(['invoice', 'status']);
  });

  test('is not made while the site is left alone, neither at once nor by whoever waits', async () => {
    calls.take(1);
    const waiting = invoiceOf();
    calls.answered(trouble('throttled', { retryAfter: 9 * SECOND }), { purchase: 2, probe: false });
    expect(pumped()).toBe(0);
    expect(await waiting).toEqual({ kind: 'resting', retryAfter: 9 * SECOND });
    expect(await invoiceOf()).toEqual({ kind: 'resting', retryAfter: 9 * SECOND });
    expect(await extraCalls.pollInvoice(calls, purchase)).toBeNull();
    expect(asked).toEqual([]);
  });

  test('teaches the breaker what it learns of the site', async () => {
    const learn = vi.spyOn(calls, 'answered');
    const good = invoiceOf();
    pumped();
    await good;
    expect(learn).toHaveBeenLastCalledWith({ kind: 'same' }, { purchase: 1, probe: false });
    elapsed = SECOND;
    invoice = trouble('throttled') as InvoiceAnswer;
    const answered = invoiceOf();
    pumped();
    expect(await answered).toMatchObject({ kind: 'throttled' });
    expect(calls.restsFor()).toBeGreaterThan(0);
  });

  test('is not made while the lease is too short, nor without a share of the calls', async () => {
    lease.outlasts = false;
    const controller = new AbortController();
    const waiting = invoiceOf({ signal: controller.signal });
    expect(pumped()).toBeGreaterThan(0);
    controller.abort();
    expect(await waiting).toMatchObject({ kind: 'busy' });
    lease.share = 0;
    expect(await invoiceOf()).toEqual({ kind: 'busy', retryAfter: SECOND });
    expect(asked).toEqual([]);
  });

  test('about a site that is not configured is none', async () => {
    expect(await invoiceOf({ site: 'no' })).toMatchObject({ kind: 'unconfigured' });
  });

  test('that a poll makes is answered with what may be kept, while the lease is long enough for it', async () => {
    const trace = {} as never;
    const mayBegin = vi.fn(() => true);
    const withLease = createExtraCalls({
      siteCalls: new Map(),
      ownership: { outlasts: () => true, share: () => 1, mayBegin } as never,
      wake,
    });
    const polled = withLease.pollInvoice(calls, { ...purchase, shard: 3 }, trace);
    withLease.giveTurn(calls);
    expect([await polled, mayBegin.mock.calls, pollInvoice.mock.calls]).toEqual([
      NOTHING,
      [[3, 2 * MINUTE + 2 * SECOND]],
      [['p-1', trace]],
    ]);
  });

  test('that a poll makes is given up when the shard was lost while it waited', async () => {
    const polled = extraCalls.pollInvoice(calls, purchase);
    lease.mayBegin = false;
    pumped();
    expect([await polled, asked, calls.inFlight]).toEqual([null, [], 0]);
  });

  test('is not waited for when the poller stops, and none is made after that', async () => {
    calls.take(1);
    const waiting = [invoiceOf(), extraCalls.pollInvoice(calls, purchase)];
    extraCalls.stop();
    expect(await Promise.all(waiting)).toEqual([{ kind: 'busy', retryAfter: SECOND }, null]);
    expect(await extraCalls.pollInvoice(calls, purchase)).toBeNull();
    expect([asked, extraCalls.busy()]).toEqual([[], 0]);
  });
});
