import { beforeEach, expect, test } from 'vitest';
import {
  hasRoomAgain,
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
  expect(due).toMatchObject({ site: 'se', cursors: [{ shard: 0 }, { shard: 1 }], limit: 10 });
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
  expect(statements(read('a', 50, 200), read('b', 50, 200), read('c', 1, 1))).toEqual([['a', 'b'], ['c']]);
});

interface Situation {
  /** Cursors that have not read through slot 8, which is due, 9, which is the present one, and 10. */
  readonly behind?: readonly [number, number, number];
  /** Room for what is due, after all that is due later has left. */
  readonly room?: number;
  readonly roomAhead?: number;
  readonly nextDue?: number | null;
  readonly bulk?: { readonly room: number; readonly behind: number };
  readonly hadNoRoom?: boolean;
  readonly isEmpty?: boolean;
}
const cursorsOf = (length: number) => Array.from({ length }, (_, shard) => ({ shard, slot: 0, id: 0 }));
/** A window of a site, and what is done with it. */
function windowIn({ behind = [0, 0, 0], room = 0, roomAhead = 0, nextDue = null, ...rest }: Situation) {
  const { bulk = { room: 0, behind: 0 }, hadNoRoom = false, isEmpty = false } = rest;
  const done: string[] = [];
  const made = {
    behind: (slot: number) => cursorsOf(behind[slot - 8]!),
    makeRoom: (wanted: number, slot: number) => {
      done.push(`room for ${wanted} of slot ${slot}`);
      return room;
    },
    ...{ roomAhead: () => roomAhead, nextDue: () => nextDue, roomForBulk: () => bulk.room, hasRoomAgain: () => hadNoRoom },
    isEmpty: () => isEmpty,
    bulk: { behind: () => cursorsOf(bulk.behind) },
    setPressure: (is: boolean) => done.push(is ? 'pressure' : 'no pressure'),
  } as unknown as Window;
  return { done, windows: new Map([['se', made]]) };
}

test.each<[string, Situation, string | null, string[]]>([
  ['evicts what is due later', { behind: [1, 1, 1], room: 90 }, '1 shard through 8, 90 rows', ['room for 64 of slot 8']],
  [
    'makes room for a row of each shard',
    { behind: [99, 0, 0], room: 99 },
    '99 shards through 8, 1 row',
    ['room for 99 of slot 8'],
  ],
  ['does so in this slot, too', { behind: [0, 3, 3], room: 90 }, '3 shards through 9, 30 rows', ['room for 64 of slot 9']],
  ['evicts nothing for what is due soon', { behind: [0, 0, 2], roomAhead: 90, room: 7 }, '2 shards through 10, 45 rows', []],
  ['needs room', { behind: [2, 2, 2], room: 0, nextDue: NOW + 1 }, null, ['room for 64 of slot 8']],
  [
    'is not worth it for few rows while a poll is due',
    { behind: [1, 0, 0], room: 63, nextDue: NOW },
    null,
    ['room for 64 of slot 8'],
  ],
  [
    'is worth it for more',
    { behind: [1, 0, 0], room: 64, nextDue: NOW },
    '1 shard through 8, 64 rows',
    ['room for 64 of slot 8'],
  ],
  [
    'reads few rows while no poll is due',
    { behind: [1, 0, 0], room: 63, nextDue: NOW + 1 },
    '1 shard through 8, 63 rows',
    ['room for 64 of slot 8'],
  ],
  [
    'reads few rows while memory holds no purchase',
    { behind: [1, 0, 0], room: 9 },
    '1 shard through 8, 9 rows',
    ['room for 64 of slot 8'],
  ],
  [
    'takes few rows of each shard into an empty window, so that polls begin soon',
    { behind: [2, 0, 0], room: 900, isEmpty: true },
    '2 shards through 8, 10 rows',
    ['room for 64 of slot 8'],
  ],
  [
    'takes many rows of each shard into any other',
    { behind: [2, 0, 0], room: 900 },
    '2 shards through 8, 300 rows',
    ['room for 64 of slot 8'],
  ],
])('a read of what is due %s', (_, situation, read, doing) => {
  const { done, windows: one } = windowIn(situation);
  const [found] = nextReads(one, NOW);
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;
  const told = found && `${count(found.cursors.length, 'shard')} through ${found.through}, ${count(found.limit, 'row')}`;
  expect([told ?? null, done]).toEqual([read, doing]);
});

test('first polls of a bulk registration share their room among the shards', () => {
  const [found] = nextReads(windowIn({ bulk: { room: 64, behind: 2 } }).windows, NOW);
  expect(found).toMatchObject({ cursors: [{ shard: 0 }, { shard: 1 }], limit: 32, through: LAST_SLOT });
});

test('with room for fewer rows than shards, those that are furthest behind are read', () => {
  const places = [
    { shard: 0, slot: 5, id: 9 },
    { shard: 1, slot: 4, id: 30 },
    { shard: 2, slot: 5, id: 1 },
  ];
  const behind = (through: number) => (through === 8 ? places : []);
  const narrow = {
    behind,
    makeRoom: () => 2,
    nextDue: () => null,
    roomForBulk: () => 0,
    isEmpty: () => false,
  } as unknown as Window;
  expect(nextReads(new Map([['se', narrow]]), NOW)).toMatchObject([{ cursors: [places[1], places[2]], limit: 1 }]);
});

test.each<[string, Situation, boolean, string]>([
  ['has room', { behind: [1, 1, 1], room: 90 }, true, 'no pressure'],
  ['has none', { behind: [1, 1, 1] }, false, 'pressure'],
  ['has none in this slot', { behind: [0, 1, 1] }, false, 'pressure'],
  ['is due in the next slot and has none', { behind: [0, 0, 1] }, false, 'no pressure'],
  ['is a first poll of a bulk registration', { bulk: { room: 64, behind: 1 } }, true, 'no pressure'],
])('pressure, and more to read at once, when what is due %s', (_, situation, isMore, pressure) => {
  const { done, windows: one } = windowIn(situation);
  expect([setPressures(one, NOW), done.at(-1)]).toEqual([isMore, pressure]);
});

test('one site whose polls have made room is enough to read again', () => {
  const sites = (...hadNoRoom: boolean[]) =>
    new Map(hadNoRoom.map((each, at) => [`${at}`, windowIn({ hadNoRoom: each }).windows.get('se')!]));
  expect([hasRoomAgain(sites(false, true)), hasRoomAgain(sites(false, false))]).toEqual([true, false]);
});
