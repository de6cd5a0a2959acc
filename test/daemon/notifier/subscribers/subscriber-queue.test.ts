import { expect, test } from 'vitest';
import { createSubscriberQueue, type SubscriberQueue } from '../../../../src/daemon/notifier/subscribers/subscriber-queue.ts';
import type { DueDelivery, Rank } from '../../../../src/postgres/deliveries/deliveries.ts';

function queue(): SubscriberQueue {
  return createSubscriberQueue();
}
function delivery(lane: number, position: number, rank: Rank = 0): DueDelivery {
  const event = { id: `evt_${position}`, type: 'purchase.stuck', body: '{}', createdAt: 0 };
  return {
    id: position,
    mark: null,
    subscriber: 1,
    lane,
    position,
    shard: 0,
    rank,
    dueAt: 0,
    attempts: 0,
    attemptsBefore: 0,
    event,
    behind: null,
  };
}

/** What comes out when each is done at once. */
function rest(of: SubscriberQueue): number[] {
  const positions: number[] = [];
  for (let next = of.next(9); next; next = of.next(9)) {
    positions.push(next.position);
    of.done(next);
  }
  return positions;
}

test('a lane goes in the order of events, however its deliveries come in', () => {
  const of = queue();
  for (const position of [5, 7, 3, 6, 1]) of.add(delivery(1, position));
  expect(rest(of)).toEqual([1, 3, 5, 6, 7]);
});

test('what is being sent is not overtaken by an older one that is sent again', () => {
  const of = queue();
  of.add(delivery(1, 5));
  of.add(delivery(1, 7));
  const sending = of.next(9)!;
  expect(sending.position).toBe(5);
  of.add(delivery(1, 3));
  expect(of.next(9)).toBeNull();
  of.done(sending);
  expect(rest(of)).toEqual([3, 7]);
});

test('lanes do not wait for each other', () => {
  const of = queue();
  of.add(delivery(1, 1));
  of.add(delivery(1, 3));
  of.add(delivery(2, 2));
  expect([of.next(9)!.position, of.next(9)!.position, of.next(9)]).toEqual([1, 2, null]);
});

test('what is new goes first, yet every eighth time what is not', () => {
  const of = queue();
  for (let lane = 1; lane <= 10; lane++) of.add(delivery(lane, lane));
  of.add(delivery(20, 20, 2));
  of.add(delivery(21, 21, 1));
  expect(rest(of)).toEqual([1, 2, 3, 4, 5, 6, 7, 21, 8, 9, 10, 20]);
});

test('without room for it, what is not new waits', () => {
  const of = queue();
  of.add(delivery(1, 1, 1));
  of.add(delivery(2, 2));
  expect([of.next(0)!.position, of.next(0)]).toEqual([2, null]);
  expect(of.isReady).toBe(true);
});

test('within a lane what is replayed comes after all that is not', () => {
  const of = queue();
  of.add(delivery(1, 3, 2));
  of.add(delivery(1, 1, 2));
  of.add(delivery(1, 7));
  of.add(delivery(1, 5));
  expect(rest(of)).toEqual([5, 7, 1, 3]);
});

test('forgetting what waits leaves what is being sent, and its lane can be read again', () => {
  const of = queue();
  for (const position of [1, 2, 3]) of.add(delivery(1, position));
  of.add(delivery(2, 4));
  const sending = of.next(9)!;
  of.dropWaiting();
  expect([of.size, of.isReady]).toEqual([1, false]);
  of.add(delivery(1, 2));
  of.done(sending);
  expect(rest(of)).toEqual([2]);
});

test('what is taken along leaves and ends with the first, and nothing older gets between', () => {
  const of = queue();
  for (const position of [1, 3, 4, 6]) of.add(delivery(0, position));
  const head = of.next(9)!;
  expect(of.behind(head).map(({ position }) => position)).toEqual([3, 4, 6]);
  expect(of.takeAlong(head, 2).map(({ position }) => position)).toEqual([3, 4]);
  of.add(delivery(0, 2));
  of.dropWaiting();
  of.add(delivery(0, 5));
  expect(of.next(9)).toBeNull();
  of.done(head);
  expect([of.size, rest(of)]).toEqual([1, [5]]);
});

test('what was taken along waits again when the first is put back', () => {
  const of = queue();
  for (const position of [1, 2]) of.add(delivery(0, position));
  const head = of.next(9)!;
  of.takeAlong(head, 9);
  of.putBack(head);
  expect(rest(of)).toEqual([1, 2]);
});

test('a lane that ends with all that was taken along is gone, and can begin again', () => {
  const of = queue();
  for (const position of [1, 2]) of.add(delivery(0, position));
  const head = of.next(9)!;
  of.takeAlong(head, 9);
  of.done(head);
  expect([of.size, of.isReady]).toEqual([0, false]);
  of.add(delivery(0, 7));
  expect(rest(of)).toEqual([7]);
});

test('the result of a delivery that the database lost ends nothing of the one that was given its id', () => {
  const of = queue();
  of.add(delivery(1, 1));
  const lost = of.next(9)!;
  of.dropLane(1);
  of.add({ ...lost, event: { ...lost.event, id: 'evt_new' } });
  of.done(lost);
  expect(of.next(9)?.event.id).toBe('evt_new');
});
