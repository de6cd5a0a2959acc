/** What an attempt leaves behind, and that it is written: with a real database in settling.test.ts and in stories/locked-rows and database-trouble. */
import { expect, test } from 'vitest';
import type { SendResult } from '../../../src/channels/outgoing/channel.ts';
import { report, settlementOf, settleSurely } from '../../../src/daemon/notifier/delivery-results.ts';
import type { AttemptResult } from '../../../src/daemon/notifier/locked-results.ts';
import { REPLAYED } from '../../../src/postgres/deliveries/deliveries.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { aDelivery, aLog, aSubscriber, NOW } from './parts.ts';

const ATTEMPT = { tookMs: 9, excerpt: 'no', httpStatus: 503 };
const DELIVERED: SendResult = { kind: 'delivered', ...ATTEMPT, httpStatus: 200 };
const REFUSAL = { ...ATTEMPT, reason: 'http_503', detail: 'The receiver answers 503.' };
const FAILED: SendResult = { kind: 'failed', retryAfter: null, fault: 'receiver', ...REFUSAL };
const settled = (
  result: SendResult,
  differs: Parameters<typeof aDelivery>[1] = {},
  { isReplaced = false, since = null as number | null } = {},
) =>
  settlementOf({ recipient: { schedule: [5_000, 60_000] }, health: { own: { since } } }, aDelivery(1, differs), result, {
    ...{ now: NOW, spread: 0, isReplaced },
  });

test('a delivery that was taken is delivered, at whatever attempt', () => {
  expect(settled(DELIVERED, { attempts: 2 })).toMatchObject({
    status: 'delivered',
    number: 3,
    fault: null,
    error: null,
    outcome: 'delivered',
    excerpt: 'no',
  });
  expect(settled({ ...DELIVERED, excerpt: '' }).excerpt).toBeNull();
});

test('the whole answer to an attempt that failed is kept, where there is one', () => {
  expect([settled({ ...FAILED, answer: 'HTTP/1.1 503' }).answer, settled(FAILED).answer]).toEqual(['HTTP/1.1 503', null]);
});

test.each([
  ['the first', 0, { status: 'pending', dueAt: NOW + 5_000, rank: 0 }],
  ['the second', 1, { status: 'pending', dueAt: NOW + 60_000, rank: 1 }],
  ['the last', 2, { status: 'exhausted', dueAt: NOW, rank: 1 }],
])('after %s failure by the receiver', (_, attempts, expected) => {
  expect(settled(FAILED, { attempts })).toMatchObject({
    ...expected,
    number: attempts + 1,
    fault: 'receiver',
    outcome: 'http_503',
  });
});

test('attempts from before it was sent again do not count, and a replay stays one', () => {
  expect(settled(FAILED, { attempts: 2, attemptsBefore: 2, rank: REPLAYED })).toMatchObject({
    ...{ status: 'pending', number: 3, dueAt: NOW + 5_000, rank: REPLAYED },
  });
});

test('a failure of ours waits half as long as we have failed, and never exhausts', () => {
  const ours: SendResult = { ...FAILED, fault: 'ours' };
  expect(settled(ours, { attempts: 9 })).toMatchObject({ status: 'pending', fault: 'ours', dueAt: NOW + 5_000 });
  expect(settled(ours, {}, { since: NOW - 60_000 })).toMatchObject({ dueAt: NOW + 30_000 });
});

test('a receiver that asks for fewer messages gets it later, and the schedule does not count it', () => {
  const limit: SendResult = { ...FAILED, isLimit: true, retryAfter: 20_000 };
  const { dueAt, ...rest } = settled(limit, { attempts: 2 });
  expect(rest).toMatchObject({ status: 'pending', isUncounted: true, fault: 'receiver' });
  expect(dueAt).toBeGreaterThanOrEqual(NOW + 20_000);
  expect(dueAt).toBeLessThan(NOW + 21_000);
});

test.each<[string, Partial<SendResult>, number]>([
  ['is asked for fewer messages without a time', { isLimit: true }, NOW + 5_000],
  ['is told when to come again for another reason', { retryAfter: 20_000 }, NOW + 20_100],
])('the schedule counts an attempt that %s', (_, differs, dueAt) => {
  const settlement = settled({ ...FAILED, ...differs } as SendResult);
  expect([settlement.dueAt, settlement.isUncounted]).toEqual([dueAt, undefined]);
});

test('an address that was replaced, or takes nothing any more, is not held against the delivery', () => {
  expect(settled(FAILED, { attempts: 9 }, { isReplaced: true })).toMatchObject({ status: 'pending', dueAt: NOW });
  expect(settled({ kind: 'gone', ...REFUSAL }, { attempts: 9 })).toMatchObject({
    status: 'pending',
    dueAt: NOW,
    fault: 'receiver',
  });
});

test.each<[string, Parameters<typeof settled>, { reason: string } | null, object]>([
  ['delivered', [DELIVERED], null, { level: 'debug', event: 'delivery.delivered', httpStatus: 200, sinceEventMs: 0 }],
  ['a failure', [FAILED], null, { level: 'warn', event: 'delivery.failed', reason: 'http_503', retryInMs: 5_000 }],
  ['the last failure', [FAILED, { attempts: 2 }], null, { level: 'error', event: 'delivery.exhausted', retryInMs: null }],
  [
    'switched off',
    [FAILED],
    { reason: 'It answered 410.' },
    { level: 'error', event: 'subscriber.switched_off', detail: 'It answered 410.' },
  ],
])('is logged: %s', (_, given, off, expected) => {
  const { log, logged } = aLog();
  report(log, aSubscriber(), aDelivery(1), settled(...given), off as Parameters<typeof report>[4]);
  expect(logged).toEqual([expect.objectContaining({ subscriber: 'shop', eventId: 'evt_1', ...expected })]);
});

test('where not every line is wanted, failures are logged and successes are not', () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream;
  const log = createLogger({ level: 'info', destination });
  for (const result of [DELIVERED, FAILED]) report(log, aSubscriber(), aDelivery(1), settled(result), null);
  expect(lines.map((line) => JSON.parse(line).event)).toEqual(['delivery.failed']);
});

const BROKEN = new Error('the connection broke');

/** Results of first attempts that delivered are written to a database that refuses some, or whose rows another session has locked. */
function writing({
  refused = [],
  locked = [],
  lost = [],
  errors = [],
}: {
  refused?: number[];
  locked?: number[];
  /** Another replica holds their shards by now. */
  lost?: number[];
  errors?: unknown[];
} = {}) {
  const { log, logged } = aLog();
  const rests: number[] = [];
  const failing = new Set<string>();
  const reasons: string[] = [];
  const stopping = new AbortController();
  const counts = { troubles: 0 };
  const write = (ids: readonly number[]): number[] => {
    if (errors.length > 0) throw errors.shift();
    if (ids.some((id) => refused.includes(id))) throw Object.assign(new Error('refused'), { code: '23514' });
    if (ids.some((id) => locked.includes(id))) throw Object.assign(new Error('locked'), { code: '55P03' });
    return ids.filter((id) => !lost.includes(id));
  };
  const sql = async (strings: readonly string[], ...values: unknown[]) => {
    const text = strings.join('');
    if (text.includes('unlocked as')) return locked.map((id) => ({ id }));
    if (!text.includes('string_agg')) return [];
    const [batch] = values.filter((value): value is number[] => Array.isArray(value));
    return [{ ids: write(batch!).join() || null }];
  };
  const sleep = async (rest: number): Promise<void> => {
    if (rests.push(rest) > 20) throw new Error('it is tried without end');
  };
  const context = {
    sql: Object.assign(
      (strings: readonly string[], ...values: unknown[]) =>
        // The rows of a statement are a part of it, with their ids first.
        strings.join('').includes('unnest(') && !strings.join('').includes('with ')
          ? String(values[0]).slice(1, -1).split(',').map(Number)
          : sql(strings, ...values),
      { unsafe: (text: string) => text },
    ),
    ...{ log, clock: { sleep }, ownership: { replica: 'me' } },
    subscriberPauses: { save: async () => undefined },
    writes: {
      failed: (kind: string, error: Error) => {
        failing.add(kind);
        reasons.push(error.message);
      },
      done: (kind: string) => void failing.delete(kind),
    },
    ...{ stopped: stopping.signal, pauseEnd: () => stopping.signal, onTrouble: () => (counts.troubles += 1) },
  } as unknown as Parameters<typeof settleSurely>[1];
  const subscriber = aSubscriber();
  const resultOf = (id: number): AttemptResult => ({
    ...{ subscriber, delivery: aDelivery(id), along: [], epoch: 3, off: null },
    settlement: { ...settled(DELIVERED), delivery: aDelivery(id) },
  });
  return {
    ...{ logged, rests, failing, reasons, counts },
    stop: () => stopping.abort(),
    settle: async (...ids: number[]) => {
      const result = await settleSurely(ids.map(resultOf), context);
      return {
        ...{ written: [...result.written], unwritable: [...result.unwritable] },
        locked: result.locked.map(({ delivery }) => delivery.id),
      };
    },
  };
}

test('results are written again until they are, at growing intervals of at most 15 s', async () => {
  const { settle, rests, reasons, failing, counts, logged } = writing({ errors: Array.from({ length: 7 }, () => BROKEN) });
  expect(await settle(1, 2)).toEqual({ written: [1, 2], unwritable: [], locked: [] });
  expect(rests).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
  expect([counts.troubles, reasons.length, [...failing]]).toEqual([7, 7, []]);
  expect(logged[1]).toMatchObject({ level: 'error', event: 'delivery.not_settled', deliveries: 2, retryInMs: 1_000 });
});

test('while results cannot be written, the replica is in trouble', async () => {
  const { settle, failing, stop } = writing({ errors: [BROKEN] });
  stop();
  expect(await settle(1, 2)).toEqual({ written: [], unwritable: [1, 2], locked: [] });
  expect([...failing]).toEqual(['results']);
});

test.each([
  ['one locked row is no trouble of the replica', [1], [], [1]],
  ['neither are several, while others are written', [1, 2, 3], [3], [1, 2]],
])('%s', async (_, ids, written, locked) => {
  const { settle, failing } = writing({ locked: [1, 2] });
  expect(await settle(...ids)).toEqual({ written, unwritable: [], locked });
  expect([...failing]).toEqual([]);
});

test('several locked rows are a trouble as long as no result is written', async () => {
  const locked = [1, 2];
  const { settle, failing, reasons } = writing({ locked });
  await settle(1, 2);
  expect([...failing]).toEqual(['results']);
  expect(reasons).toEqual(['2 deliveries are not settled, because other sessions have locked their rows (55P03)']);
  // A single one says nothing of the others.
  await settle(1);
  expect([...failing]).toEqual(['results']);
  await settle(1, 3);
  expect([...failing]).toEqual([]);
  await settle(1, 2);
  locked.length = 0;
  await settle(1);
  expect([...failing]).toEqual([]);
});

test('a statement that had nothing to write, because another replica holds the shards by now, ends the trouble', async () => {
  const { settle, failing } = writing({ locked: [1, 2], lost: [3] });
  await settle(1, 2);
  expect([...failing]).toEqual(['results']);
  expect(await settle(3)).toEqual({ written: [], unwritable: [], locked: [] });
  expect([...failing]).toEqual([]);
});

test('a daemon that stops does not wait for rows that are locked', async () => {
  const { settle, stop } = writing({ locked: [1] });
  stop();
  expect(await settle(1, 2)).toEqual({ written: [2], unwritable: [1], locked: [] });
});

test('a result that the database refuses keeps no other from being written, and people can read which', async () => {
  const { settle, logged, counts, rests } = writing({ refused: [2], locked: [4] });
  expect(await settle(1, 2, 3, 4, 5)).toEqual({ written: [1, 3, 5], unwritable: [2], locked: [4] });
  expect(logged).toMatchObject([
    { level: 'error', event: 'delivery.unsettleable', subscriber: 'shop', eventId: 'evt_2', advice: expect.any(String) },
  ]);
  expect([counts.troubles, rests]).toEqual([0, []]);
});
