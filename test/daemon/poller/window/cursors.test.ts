import { expect, test } from 'vitest';
import { createCursors } from '../../../../src/daemon/poller/window/cursors.ts';

const END = Number.MAX_SAFE_INTEGER;
function reading(...shards: number[]) {
  const cursors = createCursors();
  cursors.gain(shards);
  const readTo = (slot: number, id = END) => {
    const behind = cursors.behind(slot);
    cursors.moved(
      behind,
      behind.map(({ shard }) => ({ shard, slot, id })),
    );
  };
  return { cursors, readTo };
}

test('a shard that was gained is read from its first slot, and one that was dropped is not read', () => {
  const { cursors, readTo } = reading(1, 2);
  expect(cursors.behind(0)).toEqual([1, 2].map((shard) => ({ shard, slot: -1, id: 0 })));
  readTo(5);
  expect([cursors.behind(5), cursors.behind(6).length]).toEqual([[], 2]);
  cursors.drop([1]);
  cursors.gain([3]);
  expect(cursors.behind(5)).toEqual([{ shard: 3, slot: -1, id: 0 }]);
});

test('a slot that is read in part is read on', () => {
  const { cursors, readTo } = reading(1);
  readTo(5, 70);
  expect(cursors.behind(5)).toEqual([{ shard: 1, slot: 5, id: 70 }]);
  expect(cursors.behind(4)).toEqual([]);
  expect([69, 70, 71].map((id) => cursors.hasPassed(1, 5, id))).toEqual([true, true, false]);
  expect([cursors.hasPassed(1, 4, 999), cursors.hasPassed(1, 6, 1), cursors.hasPassed(2, 0, 0)]).toEqual([true, false, false]);
});

test('a cursor moves back to a place that it has passed, and a read under way does not move it on', () => {
  const { cursors, readTo } = reading(1);
  readTo(5);
  const underWay = cursors.behind(9);
  cursors.rewind(1, 3, 12);
  cursors.moved(underWay, [{ shard: 1, slot: 9, id: END }]);
  expect(cursors.behind(5)).toEqual([{ shard: 1, slot: 3, id: 11 }]);
  cursors.rewind(1, 7, 1);
  expect(cursors.behind(5)).toEqual([{ shard: 1, slot: 3, id: 11 }]);
});

test('a queue that begins later has no earlier slots', () => {
  const cursors = createCursors(100);
  cursors.gain([1]);
  expect(cursors.behind(101)).toEqual([{ shard: 1, slot: 100, id: 0 }]);
  expect(cursors.behind(99)).toEqual([]);
});
