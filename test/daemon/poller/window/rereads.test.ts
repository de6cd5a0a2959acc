import { expect, test } from 'vitest';
import { createRereads } from '../../../../src/daemon/poller/window/rereads.ts';

function rereads() {
  const clock = { at: 1_000 };
  return { clock, all: createRereads({ monotonic: () => clock.at }) };
}

test('a purchase that rests is loaded once its pause is over, until it was', () => {
  const { clock, all } = rereads();
  all.add(7, 500);
  expect([all.has(7), all.takeDue()]).toEqual([true, []]);
  clock.at += 500;
  expect([all.takeDue(), all.takeDue()]).toEqual([[7], [7]]);
  all.done([7]);
  expect([all.has(7), all.takeDue()]).toEqual([false, []]);
});

test('a purchase that leaves memory while a load runs is loaded after it; one that leaves between loads is not', () => {
  const { all } = rereads();
  all.left(1);
  all.begin();
  all.left(2);
  expect([all.hasLeft(1), all.hasLeft(2), all.haveSomeLeft, all.takeDue()]).toEqual([false, true, true, []]);
  all.end();
  all.left(4);
  expect([all.hasLeft(2), all.haveSomeLeft, all.takeDue()]).toEqual([false, false, [2]]);
});

test('one that leaves while it is loaded by id is loaded once more', () => {
  const { all } = rereads();
  all.add(3, 0);
  all.begin();
  expect(all.takeDue()).toEqual([3]);
  all.left(3);
  all.done([3]);
  all.end();
  expect(all.takeDue()).toEqual([3]);
});

test('one that left before it is loaded by id is loaded once', () => {
  const { all } = rereads();
  all.begin();
  all.left(3);
  all.add(3, 0);
  expect(all.takeDue()).toEqual([3]);
  all.done([3]);
  all.end();
  expect(all.takeDue()).toEqual([]);
});
