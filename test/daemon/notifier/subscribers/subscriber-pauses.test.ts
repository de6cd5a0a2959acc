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

function pausing(patience = WITH_SYSTEMS) {
  const { log, logged } = aLog();
  const clock = { now: () => NOW, monotonic: () => 0, sleep: async () => {} };
  const pauses = createSubscriberPauses({ sql: nothingIsAsked, clock, log, replica: 'a', wake: () => {} } as never);
  const subscriber = aSubscriber({ patience });
  subscriber.queue.add(aDelivery(1));
  /** Attempts that ended one after the other. */
  const ended = (result: SendResult, times = 1) =>
    Array.from({ length: times }, (_, at) => pauses.ended(subscriber, { began: NOW + at, at: NOW + at }, result)).at(-1)!;
  return { subscriber, ended, events: () => logged.map(({ event }) => event) };
}

test('one, two and three failures hold it for a moment, and the fourth pauses it: nothing of it stays in memory', () => {
  const { subscriber, ended, events } = pausing();
  expect([1, 2, 3].map(() => ended(FAILED).hold)).toEqual([0, 1_000, 2_000]);
  expect([subscriber.health.current?.pausedUntil, subscriber.queue.size]).toEqual([null, 1]);
  ended(FAILED);
  expect(subscriber.health).toMatchObject({ allowance: 1, current: { failures: 4, pausedUntil: expect.any(Number) } });
  expect([subscriber.queue.size, events()]).toEqual([0, ['subscriber.paused']]);
});

test('a success ends the failures, and one more may be in flight', () => {
  const { subscriber, ended } = pausing();
  ended(FAILED, 2);
  expect(subscriber.health.allowance).toBe(1);
  expect(ended(DELIVERED)).toEqual({ hold: 0, switchOff: null });
  expect(subscriber.health).toMatchObject({ current: null, allowance: 2 });
});

test('one that will never take anything again is switched off, with why', () => {
  expect(pausing().ended({ kind: 'gone', ...REFUSAL, detail: 'It answers 410.' })).toEqual({
    hold: 0,
    switchOff: 'It answers 410.',
  });
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
  const { subscriber, ended, events } = pausing();
  ended({ ...FAILED, fault: 'ours' }, 4);
  expect(subscriber.health).toMatchObject({ current: null, own: { failures: 4 } });
  expect([subscriber.queue.size, events()]).toEqual([1, ['subscriber.unreached']]);
  ended(FAILED);
  expect(subscriber.health).toMatchObject({ current: { failures: 1 }, own: { failures: 0 } });
});
