import { expect, test } from 'vitest';
import { createReadyLanes, type Lane } from '../../../../src/daemon/notifier/subscribers/ready-lanes.ts';
import type { Rank } from '../../../../src/postgres/deliveries/deliveries.ts';
import { aDelivery } from '../parts.ts';

const lane = (id: number, rank: Rank): Lane => ({ id, waiting: [aDelivery(id, { rank })], sending: 0, readyAt: null });
function lanes(...all: Lane[]) {
  const ready = createReadyLanes();
  for (const each of all) ready.add(each);
  return ready;
}
const order = (ready: ReturnType<typeof lanes>, count: number, late = 9) =>
  Array.from({ length: count }, () => ready.next(late)?.id ?? null);

test('lanes come by rank, and within a rank first come, first served', () => {
  expect(order(lanes(lane(1, 2), lane(2, 0), lane(3, 1), lane(4, 0)), 5)).toEqual([2, 4, 3, 1, null]);
});

test('every eighth is a retry, if one waits', () => {
  const all = lanes(...Array.from({ length: 9 }, (_, id) => lane(id, 0)), lane(20, 1), lane(30, 2));
  expect(order(all, 11)).toEqual([0, 1, 2, 3, 4, 5, 6, 20, 7, 8, 30]);
});

test('while no retry may start, only new ones come', () => {
  const all = lanes(lane(1, 1), lane(2, 0));
  expect(order(all, 2, 0)).toEqual([2, null]);
  expect([all.isEmpty, ...order(all, 1)]).toEqual([false, 1]);
});

test('a lane stands in one list, moves with the rank of its first delivery, and may be put in front', () => {
  const [one, other] = [lane(1, 0), lane(2, 0)];
  const all = lanes(one, one, other);
  one.waiting.unshift(aDelivery(9, { rank: 1 }));
  all.add(one);
  const third = lane(3, 0);
  all.add(third, true);
  expect(order(all, 4)).toEqual([3, 2, 1, null]);
  expect(all.isEmpty).toBe(true);
});

test('a lane that is added twice takes one turn', () => {
  const [one, other] = [lane(1, 0), lane(2, 0)];
  const all = lanes(one, one, other);
  expect(order(all, 1)).toEqual([1]);
  all.add(one);
  expect(order(all, 3)).toEqual([2, 1, null]);
});

test('a lane that was removed does not come', () => {
  const [one, other] = [lane(1, 0), lane(2, 0)];
  const all = lanes(one, other);
  all.remove(one);
  all.remove(one);
  expect(order(all, 2)).toEqual([2, null]);
  expect(all.isEmpty).toBe(true);
});
