import { beforeEach, expect, test } from 'vitest';
import {
  inStatements,
  nextReads,
  setPressures,
  type WindowRead,
  type Windows,
} from '../../../../src/daemon/poller/window/due-reads.ts';
import { createWindow, type Window } from '../../../../src/daemon/poller/window/window.ts';
import { LAST_SLOT } from '../../../../src/postgres/polling/queue.ts';

const SLOT = 10_000;
const NOW = 9 * SLOT + 1;
const END = Number.MAX_SAFE_INTEGER;
let window: Window;
let windows: Windows;
beforeEach(() => {
  window = createWindow({ capacity: 1_000, epochOf: () => 1, now: () => NOW });
  window.gain([0, 1]);
  windows = new Map([['se', window]]);
});
/** Takes the queues as read up to here. */
function readThrough(slot: number): void {
  for (const [queue, through] of [
    [window, slot],
    [window.bulk, LAST_SLOT],
  ] as const) {
    const behind = queue.behind(through);
    queue.moved(
      behind,
      behind.map(({ shard }) => ({ shard, slot: through, id: END })),
    );
  }
}
const through = () => nextReads(windows, NOW).map((read) => read.through);

test('what is due already is read first, then this slot, then the next one, and the queue of bulk registrations beside', () => {
  expect(through()).toEqual([8, LAST_SLOT]);
  readThrough(8);
  expect(through()).toEqual([9]);
  readThrough(9);
  expect(through()).toEqual([10]);
  readThrough(10);
  expect([through(), setPressures(windows, NOW)]).toEqual([[], false]);
});

test('a read names all shards, and divides the room among them', () => {
  const [due, bulk] = nextReads(windows, NOW);
  expect(due).toMatchObject({ site: 'se', cursors: [{ shard: 0 }, { shard: 1 }], limit: 300 });
  expect(bulk).toMatchObject({ limit: 50 });
  expect(setPressures(windows, NOW)).toBe(true);
});

test('reads share statements as far as their ranges and rows allow, in order', () => {
  const read = (site: string, shards: number, limit: number) =>
    ({
      site,
      limit,
      cursors: Array.from({ length: shards }, (_, shard) => ({ shard, slot: 0, id: 0 })),
    }) as unknown as WindowRead;
  const statements = (...reads: WindowRead[]) => inStatements(reads).map((each) => each.map(({ site }) => site));
  expect(statements()).toEqual([]);
  expect(statements(read('a', 64, 150), read('b', 64, 150))).toEqual([['a', 'b']]);
  expect(statements(read('a', 64, 300), read('b', 64, 300), read('c', 1, 1))).toEqual([['a'], ['b', 'c']]);
  const many = Array.from({ length: 65 }, (_, at) => read(`${at}`, 64, 1));
  expect(statements(...many).map(({ length }) => length)).toEqual([64, 1]);
});
