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
  of.add(delivery(1, 4, 2));
  expect(rest(of)).toEqual([5, 7, 1, 3, 4]);
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

test('what is in memory is known by its id', () => {
  const of = queue();
  const [one, other] = [delivery(1, 1), delivery(2, 2)];
  for (const each of [one, other]) of.add(each);
  expect([of.get(1), of.get(2), of.get(3), [...of.ids()]]).toEqual([one, other, undefined, [1, 2]]);
});

test('a delivery that is put back goes before those that wait longer', () => {
  const of = queue();
  of.add(delivery(1, 1));
  of.add(delivery(2, 2));
  of.putBack(of.next(9)!);
  expect(rest(of)).toEqual([1, 2]);
});

test('a lane that is given up leaves memory, and so does one that is dropped by its number', () => {
  const of = queue();
  for (const lane of [1, 2, 3]) of.add(delivery(lane, lane));
  of.giveUp(of.next(9)!);
  of.dropLane(2);
  // It is in memory no more.
  of.dropLane(2);
  expect([of.size, of.get(1), of.get(2)]).toEqual([1, undefined, undefined]);
  expect(rest(of)).toEqual([3]);
});

test('with a shard its lanes leave memory, also those that are being sent', () => {
  const of = queue();
  of.add({ ...delivery(1, 1), shard: 7 });
  of.add({ ...delivery(2, 2), shard: 8 });
  of.add({ ...delivery(3, 3), shard: 7 });
  const sent = of.next(9)!;
  of.dropShards(new Set([7]));
  expect(of.size).toBe(1);
  of.done(sent);
  expect(rest(of)).toEqual([2]);
  of.dropShards(new Set([8]));
  expect([of.size, of.isReady]).toEqual([0, false]);
});

/** A delivery that was being sent when its lane left memory. */
function dropped(of: SubscriberQueue): DueDelivery {
  of.add(delivery(1, 1));
  const sent = of.next(9)!;
  of.dropLane(1);
  return sent;
}

test('the end of a delivery whose lane left memory changes nothing', () => {
  const of = queue();
  const sent = dropped(of);
  of.done(sent);
  of.putBack(sent);
  of.giveUp(sent);
  expect([of.behind(sent), of.takeAlong(sent, 9), of.size, of.isReady]).toEqual([[], [], 0, false]);
});

test('nothing but its success changes a lane that was loaded again meanwhile', () => {
  const of = queue();
  const sent = dropped(of);
  of.add(delivery(1, 1));
  of.add(delivery(1, 3));
  of.giveUp(sent);
  expect([of.behind(sent), of.takeAlong(sent, 9), of.size]).toEqual([[], [], 2]);
  // It was sent, and is not sent again.
  of.done(sent);
  expect(rest(of)).toEqual([3]);
});

test('a lane that was loaded again and ends with the delivery that was being sent is gone', () => {
  const of = queue();
  const sent = dropped(of);
  of.add(delivery(1, 1));
  of.done(sent);
  expect([of.size, of.isReady, of.next(9)]).toEqual([0, false, null]);
});
