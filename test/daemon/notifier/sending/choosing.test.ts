import { expect, test, vi } from 'vitest';
import { choose, RENEWAL_REST, timeFor } from '../../../../src/daemon/notifier/sending/choosing.ts';
import { createSlots } from '../../../../src/daemon/notifier/sending/slots.ts';
import { setHealth } from '../../../../src/daemon/notifier/subscribers/health-in-memory.ts';
import { begin, holdBack, restUntil } from '../../../../src/daemon/notifier/subscribers/pace.ts';
import type { Subscriber } from '../../../../src/daemon/notifier/subscribers/subscriber.ts';
import { REPLAYED } from '../../../../src/postgres/deliveries/deliveries.ts';
import { aDelivery, aSubscriber, NOW } from '../parts.ts';

type Context = Parameters<typeof choose>[1];

function context({ epoch = 7 as number | null, owned = [0], mayBegin = true, isActive = true, slots = 8 } = {}): Context {
  const ownership = { epochOf: () => epoch, owned: () => owned, mayBegin: () => mayBegin };
  const clock = { now: () => NOW, monotonic: () => 1_000 };
  return {
    clock,
    ownership,
    knownSubscribers: { isActive: () => isActive },
    slots: createSlots(slots, () => 1),
  } as unknown as Context;
}
/** With one delivery, unless others are given. */
function withDeliveries(...deliveries: ReturnType<typeof aDelivery>[]): Subscriber {
  const subscriber = aSubscriber();
  for (const each of deliveries.length === 0 ? [aDelivery(1)] : deliveries) subscriber.queue.add(each);
  return subscriber;
}
const paused = { failures: 4, pauses: 1, failingSince: NOW - 60_000, pausedUntil: NOW + 1, lastError: null };

test('the next delivery leaves, under the epoch of its shard', () => {
  expect(choose(withDeliveries(), context())).toMatchObject({ kind: 'send', delivery: { id: 1 }, epoch: 7 });
});

const ended = { ...paused, pausedUntil: NOW };

test.each<[string, (subscriber: Subscriber) => void, Parameters<typeof context>[0], object]>([
  ['it is off', () => undefined, { isActive: false }, { kind: 'none' }],
  ['it had its messages of this hour', ({ pace }) => holdBack(pace, NOW + 1_000), {}, { kind: 'none' }],
  ['it rests', ({ pace }) => restUntil(pace, 1_400), {}, { kind: 'rest', wait: 400 }],
  // The end of what is in flight is the next start.
  [
    'it rests with something in flight',
    ({ pace }) => void Object.assign(pace, { notBefore: 1_400, inFlight: 1 }),
    {},
    { kind: 'none' },
  ],
  ['it is paused', ({ health }) => setHealth(health, paused), {}, { kind: 'none' }],
  ['its pause is over', ({ health }) => setHealth(health, ended), {}, { kind: 'claim' }],
  ['a try is asked for', ({ health }) => void Object.assign(health, { current: ended, trying: 'asking' }), {}, { kind: 'none' }],
])('nothing leaves while %s', (_, change, differs, expected) => {
  const subscriber = withDeliveries();
  change(subscriber);
  expect(choose(subscriber, context(differs))).toEqual(expected);
});

test('the next delivery leaves at the end of a rest', () => {
  const subscriber = withDeliveries();
  restUntil(subscriber.pace, 1_000);
  expect(choose(subscriber, context()).kind).toBe('send');
});

test('a subscriber that has its own slot, and the one that can be borrowed, waits', () => {
  const [subscriber, few] = [withDeliveries(aDelivery(1), aDelivery(2), aDelivery(3)), context({ slots: 1 })];
  expect([1, 2, 3].map(() => choose(subscriber, few).kind)).toEqual(['send', 'send', 'full']);
});

test('while the lease is too short the delivery stays, and is chosen once the lease is longer', () => {
  const subscriber = withDeliveries();
  const short = context({ mayBegin: false, slots: 1 });
  // It takes no slot.
  for (let time = 0; time < 3; time++) expect(choose(subscriber, short)).toEqual({ kind: 'rest', wait: RENEWAL_REST });
  expect(choose(subscriber, context()).kind).toBe('send');
});

test('a delivery of a shard that was lost leaves memory with its lane', () => {
  const subscriber = withDeliveries(aDelivery(1, { lane: 5 }), aDelivery(2, { lane: 5 }), aDelivery(3));
  const restart = vi.spyOn(subscriber.reading, 'restart');
  expect(choose(subscriber, context({ epoch: null })).kind).toBe('dropped');
  // Another shard's deliveries may have been read over.
  expect(restart).toHaveBeenCalledOnce();
  expect([...subscriber.queue.ids()]).toEqual([3]);
  expect(choose(withDeliveries(), context({ mayBegin: false, owned: [] })).kind).toBe('dropped');
});

test('retries and replays take half of what may be in flight, and one at least', () => {
  const late = (id: number) => aDelivery(id, { rank: REPLAYED });
  const subscriber = withDeliveries(late(1), late(2), late(3));
  const kinds = [1, 2, 3].map(() => {
    const choice = choose(subscriber, context());
    if (choice.kind === 'send') begin(subscriber.pace, true);
    return choice.kind;
  });
  expect(kinds).toEqual(['send', 'send', 'none']);
});

test('retries and replays take half of the few that a subscriber gets that has just failed', () => {
  const subscriber = withDeliveries(aDelivery(1, { rank: REPLAYED }), aDelivery(2, { rank: REPLAYED }));
  Object.assign(subscriber.health, { allowance: 3 });
  expect(choose(subscriber, context()).kind).toBe('send');
  begin(subscriber.pace, true);
  expect(choose(subscriber, context()).kind).toBe('none');
});

test('an attempt may take its time-out and the time to write its result', () => {
  expect(timeFor(aSubscriber({ timeout: 10_000 }).recipient)).toBe(12_000);
});
