/** What follows from an attempt's end; that it is written, and what other replicas do then, is tested in stories/failing-subscriber. */
import { expect, test } from 'vitest';
import type { SendResult } from '../../../../src/channels/outgoing/channel.ts';
import { createSubscriberPauses } from '../../../../src/daemon/notifier/subscribers/subscriber-pauses.ts';
import { WITH_PEOPLE, WITH_SYSTEMS } from '../../../../src/domain/deliveries/subscriber-health.ts';
import type { Sql } from '../../../../src/postgres/connection/database.ts';
import { aDelivery, aLog, aSubscriber, NOW } from '../parts.ts';

const REFUSAL = { tookMs: 9, excerpt: '', httpStatus: 503, reason: 'http_503', detail: 'The receiver answers 503.' };
const FAILED: SendResult = { kind: 'failed', retryAfter: null, fault: 'receiver', ...REFUSAL };
const DELIVERED: SendResult = { kind: 'delivered', tookMs: 9, excerpt: '', httpStatus: 200 };
const nothingIsAsked = (() => {
  throw new Error('the end of an attempt asks no database');
}) as unknown as Sql;

function pausing(patience = WITH_SYSTEMS, sql = nothingIsAsked) {
  const { log, logged } = aLog();
  const clock = { now: () => NOW, monotonic: () => 0, sleep: async () => {} };
  const pauses = createSubscriberPauses({ sql, clock, log, replica: 'a', wake: () => {} } as never);
  const subscriber = aSubscriber({ patience });
  subscriber.queue.add(aDelivery(1));
  /** Attempts that ended one after the other. */
  const ended = (result: SendResult, times = 1) =>
    Array.from({ length: times }, (_, at) => pauses.ended(subscriber, { began: NOW + at, at: NOW + at }, result)).at(-1)!;
  return { pauses, subscriber, ended, logged, events: () => logged.map(({ event }) => event) };
}

test('one, two and three failures hold it for a moment, and the fourth pauses it: nothing of it stays in memory', () => {
  const { subscriber, ended, events, logged } = pausing();
  expect([1, 2, 3].map(() => ended(FAILED).hold)).toEqual([0, 1_000, 2_000]);
  expect([subscriber.health.current?.pausedUntil, subscriber.queue.size]).toEqual([null, 1]);
  expect(ended(FAILED)).toEqual({ hold: 0, switchOff: null });
  expect(subscriber.health).toMatchObject({ allowance: 1, current: { failures: 4, pausedUntil: NOW + 60_000 } });
  expect(logged).toMatchObject([
    {
      ...{ level: 'warn', subscriber: 'shop', failures: 4, pausedForMs: 60_000, detail: REFUSAL.detail },
      advice: expect.stringContaining('purchase-watch subscribers resume shop'),
    },
  ]);
  expect([subscriber.queue.size, events()]).toEqual([0, ['subscriber.paused']]);
});

test('a success ends the failures, and one more may be in flight', () => {
  const { subscriber, ended, events } = pausing();
  expect(ended(DELIVERED)).toEqual({ hold: 0, switchOff: null });
  ended(FAILED, 2);
  expect(subscriber.health.allowance).toBe(1);
  expect(ended(DELIVERED)).toEqual({ hold: 0, switchOff: null });
  expect(events()).toEqual([]);
  expect(subscriber.health).toMatchObject({ current: null, allowance: 2 });
});

test('one that will never take anything again is switched off, with why', () => {
  const { subscriber, ended } = pausing();
  expect(ended({ kind: 'gone', ...REFUSAL, detail: 'It answers 410.' })).toEqual({ hold: 0, switchOff: 'It answers 410.' });
  // When it is switched on again, it begins without failures, with one delivery.
  expect(subscriber.health).toMatchObject({ current: null, allowance: 1 });
});

test('a system is switched off after forty failures in a row; people are tried for ever', () => {
  const forty = (patience: typeof WITH_SYSTEMS) => {
    const { subscriber, ended } = pausing(patience);
    let last = ended(FAILED);
    // Each is a try after the pause before it.
    for (let at = 1; at < 40; at++) {
      const { current } = subscriber.health;
      if (current?.pausedUntil != null)
        Object.assign(subscriber.health, { current: { ...current, pausedUntil: null, failedAt: 0 } });
      last = ended(FAILED);
    }
    return last.switchOff;
  };
  expect(forty(WITH_SYSTEMS)).toMatch(
    /^40 deliveries in a row failed since 2026-11-20T09:15:00\.000Z, the last so: The receiver answers 503\.$/,
  );
  expect(forty(WITH_PEOPLE)).toBeNull();
});

test('failures of ours are not held against it, and end with the first answer', () => {
  const { subscriber, ended, events, logged } = pausing();
  ended({ ...FAILED, fault: 'ours' }, 4);
  expect(subscriber.health).toMatchObject({ current: null, own: { failures: 4 } });
  expect([subscriber.queue.size, events()]).toEqual([1, ['subscriber.unreached']]);
  expect(logged[0]).toMatchObject({ subscriber: 'shop', failures: 4, detail: REFUSAL.detail });
  ended(FAILED);
  expect(subscriber.health).toMatchObject({ current: { failures: 1 }, own: { failures: 0 } });
});

test('a receiver that asks for a rest gets it, is held for no other time, and nothing is to be mended', () => {
  const { subscriber, ended, logged } = pausing();
  ended(FAILED);
  expect(ended({ ...FAILED, retryAfter: 120_000 })).toEqual({ hold: 0, switchOff: null });
  expect(subscriber.health.current).toMatchObject({ failures: 2, pausedUntil: expect.any(Number) });
  expect(logged).toMatchObject([{ event: 'subscriber.paused', failures: 2, advice: expect.stringMatching(/^nothing: /) }]);
});

test('the try after a pause that began with the first failure is one delivery', () => {
  const { subscriber, ended } = pausing();
  ended({ ...FAILED, retryAfter: 120_000 });
  expect(subscriber.health).toMatchObject({ allowance: 1, current: { failures: 1 } });
});

test('a limit of messages adds no failure to another', () => {
  const { subscriber, ended } = pausing();
  ended(FAILED, 2);
  ended({ ...FAILED, retryAfter: 120_000, isLimit: true });
  expect(subscriber.health.current?.failures).toBe(2);
});

test('attempts that were under way with one that failed say nothing new', () => {
  const { pauses, subscriber, ended, events } = pausing();
  ended(FAILED, 2);
  const before = { began: NOW - 5_000, at: NOW + 9 };
  expect(pauses.ended(subscriber, before, FAILED)).toEqual({ hold: 0, switchOff: null });
  ended(FAILED, 4);
  const { current } = subscriber.health;
  expect(pauses.ended(subscriber, before, FAILED)).toEqual({ hold: 0, switchOff: null });
  // It had been sent before the pause began, which it does not end.
  expect(pauses.ended(subscriber, before, DELIVERED)).toEqual({ hold: 0, switchOff: null });
  expect([subscriber.health.current, subscriber.health.allowance, events()]).toEqual([current, 1, ['subscriber.paused']]);
});

/** Its pause is over, and it takes a delivery; answers which waits of its other deliveries are ended. */
async function recovered(failures: number, failingSince: number | null) {
  const explained: unknown[][] = [];
  const sql = Object.assign(
    (strings: readonly string[], ...values: unknown[]) => {
      if (strings.join('').includes('q.attempts_before) <=')) explained.push(values);
      return Promise.resolve([]);
    },
    { unsafe: () => '' },
  );
  const { pauses, subscriber, ended, logged } = pausing(WITH_SYSTEMS, sql as unknown as Sql);
  const paused = { failures, pauses: 1, failingSince, pausedUntil: NOW, lastError: 'No.' };
  Object.assign(subscriber.health, { current: paused, saved: paused });
  ended(DELIVERED);
  await pauses.save(subscriber);
  await pauses.quiet();
  return { explained, logged };
}

test('after a pause for failures, deliveries whose waits the failures explain are due', async () => {
  const { explained, logged } = await recovered(4, NOW - 60_000);
  expect(logged).toMatchObject([{ event: 'subscriber.recovered', subscriber: 'shop', failures: 4 }]);
  // The schedule has three waits, so four attempts; a wait is explained that is at most eight times as long as the failures lasted.
  expect(explained).toEqual([[4, NOW + 8 * 60_000]]);
  expect((await recovered(4, null)).explained).toEqual([[4, NOW]]);
});

test('after a pause that the receiver asked for, each delivery waits for its own time', async () => {
  const { explained, logged } = await recovered(3, NOW - 60_000);
  expect([explained, logged.map(({ event }) => event)]).toEqual([[], ['subscriber.recovered']]);
});

test.each([
  ['this replica may try', [{}], 'asking', { wait: 0, trying: 'yes' }],
  ['another replica tries', [], 'asking', { wait: 1_000, trying: 'no' }],
  ['another replica got through meanwhile', [], 'no', { wait: 0, trying: 'no' }],
  ['the database fails', new Error('the connection broke'), 'asking', { wait: 1_000, trying: 'no' }],
] as const)('whether this replica tries after a pause: %s', async (_, rows, meanwhile, { wait, trying }) => {
  const asked: unknown[][] = [];
  let during: string | null = null;
  const sql = (_strings: readonly string[], ...values: unknown[]) => {
    asked.push(values);
    during = subscriber.health.trying;
    subscriber.health.trying = meanwhile;
    return rows instanceof Error ? Promise.reject(rows) : Promise.resolve(rows);
  };
  const { pauses, subscriber, logged } = pausing(WITH_SYSTEMS, sql as unknown as Sql);
  expect([await pauses.claimTry(subscriber), subscriber.health.trying, during]).toEqual([wait, trying, 'asking']);
  // A replica that holds the right for longer than an attempt may take has crashed.
  expect(asked).toEqual([[NOW + 10_000 + 5_000, 1, NOW, NOW]]);
  const failed = { level: 'warn', event: 'subscriber.not_tried', subscriber: 'shop', error: expect.anything() };
  expect(logged).toMatchObject(rows instanceof Error ? [failed] : []);
});
