import { describe, expect, test } from 'vitest';
import {
  isNewer,
  longestTurn,
  type NamingReplica,
  nextTurn,
  partOf,
  type SettingsNames,
  sizeOf,
  turnsAmong,
  turnsText,
  widest,
} from '../../../src/domain/replicas/named.ts';

const ALL = Array.from({ length: 64 }, (_, shard) => shard);
const all = { types: null, sites: null, states: null, address: null };

/** A replica that names these sites, one subscriber, and perhaps a channel for people at an address. */
function replica(
  id: string,
  sites: readonly string[],
  { address, startedAt = 0 }: { address?: string; startedAt?: number } = {},
) {
  const people = address === undefined ? {} : { '@slack': { ...all, address } };
  const named: SettingsNames = {
    sites: Object.fromEntries(sites.map((name) => [name, []])),
    subscribers: { shop: all, ...people },
  };
  return { id, startedAt, named } satisfies NamingReplica;
}
const part = (own: NamingReplica, others: readonly NamingReplica[], now = 0) => partOf({ own, others, now });

describe('the part of the shards that a replica takes', () => {
  test('is an even share beside replicas that name the same, and beside one of an older version', () => {
    const { isOutdone, parties, includes } = part(replica('a', ['se', 'no']), [
      replica('b', ['no', 'se']),
      { id: 'c', startedAt: 0, named: null },
    ]);
    expect([isOutdone, parties, ALL.every(includes)]).toEqual([false, 3, true]);
  });

  test('is an even share of all for one of an older version, which names nothing', () => {
    const old = { id: 'a', startedAt: 0, named: null };
    for (const [own, others] of [
      [old, [replica('b', ['se']), replica('c', ['no'])]],
      [replica('b', ['se']), [old, { ...old, id: 'c' }]],
    ] as const) {
      expect(part(own, others)).toMatchObject({ isOutdone: false, parties: 3 });
      expect(ALL.map(part(own, others).includes)).toEqual(ALL.map(() => true));
    }
  });

  test('is nothing beside a replica that names more, which takes all', () => {
    const [less, more] = [replica('a', ['se']), replica('b', ['no', 'se'])];
    expect(part(less, [more])).toMatchObject({ isOutdone: true });
    expect([sizeOf(part(less, [more])), part(less, [more]).includes(0)]).toEqual([0, false]);
    expect(part(more, [less])).toMatchObject({ isOutdone: false, parties: 1 });
    expect(sizeOf(part(more, [less]))).toBe(64);
  });

  test('goes by turns where each names what the other one does not, so that each shard is with one after the other', () => {
    const replicas = [replica('a', ['se']), replica('b', ['no']), replica('c', ['no'])];
    const [a, b, c] = replicas as [NamingReplica, NamingReplica, NamingReplica];
    const [ofA, ofB, ofC] = [part(a, [b, c]), part(b, [a, c]), part(c, [a, b])];
    expect([ofA.parties, ofB.parties, ofC.parties]).toEqual([1, 2, 2]);
    for (const shard of ALL)
      expect([ofA.includes(shard), ofC.includes(shard)]).toEqual([!ofB.includes(shard), ofB.includes(shard)]);
    const later = part(a, [b, c], 20_000);
    for (const shard of ALL) expect(later.includes(shard)).toBe(!ofA.includes(shard));
    // One that knows both sites does everything, and no turns are needed.
    expect(sizeOf(part(replica('d', ['se', 'no']), replicas))).toBe(64);
  });

  test('is with the replica started last where a channel for people has another address there', () => {
    const [old, young] = [replica('a', ['se'], { address: 'x' }), replica('b', ['se'], { address: 'y', startedAt: 5 })];
    expect(part(old, [young]).isOutdone).toBe(true);
    expect(part(young, [old]).isOutdone).toBe(false);
  });
});

describe('the turns that replicas take', () => {
  test('are said as they are taken: a shard comes to the replicas that know a site at the moment that is named', () => {
    const replicas = [replica('a', ['se', 'dk']), replica('b', ['no', 'dk']), replica('c', ['no', 'dk'])];
    const turns = turnsAmong(replicas)!;
    expect(turns).toMatchObject({
      count: 2,
      waiting: [
        { what: 'site no', replicas: ['b', 'c'] },
        { what: 'site se', replicas: ['a'] },
      ],
    });
    expect([longestTurn(turns), turnsText(turns)]).toEqual([
      20_000,
      expect.stringMatching(/^site no is in the settings of b and c alone, site se is in the settings of a alone; each shard/),
    ]);
    const others = replicas.slice(1);
    for (const shard of ALL) {
      for (const now of [5_000, 21_000]) {
        const at = nextTurn(turns, { site: 'se', shard, now });
        const isWithA = part(replicas[0]!, others, now).includes(shard);
        expect(at === null).toBe(isWithA);
        if (at !== null)
          expect([at % 20_000, at - now <= 20_000, part(replicas[0]!, others, at).includes(shard)]).toEqual([0, true, true]);
        expect(nextTurn(turns, { site: 'dk', shard, now })).toBeNull();
      }
    }
  });

  test('leave out a replica that knows less than another one, which has no turn', () => {
    const turns = turnsAmong([replica('a', ['se', 'dk']), replica('b', ['no']), replica('c', ['se'])])!;
    expect(turns.waiting.map(({ what, replicas, places }) => [what, replicas, places.length])).toEqual([
      ['site dk', ['a'], 1],
      ['site no', ['b'], 1],
      ['site se', ['a'], 1],
    ]);
  });

  test('are said of five sites and subscribers, with the number of the others', () => {
    const text = turnsText(turnsAmong([replica('a', ['1', '2', '3', '4']), replica('b', ['5', '6', '7'])])!);
    expect(text).toMatch(/^site 1 is .*, site 5 is in the settings of b alone, and 2 more; each shard/);
  });

  test('are none where one replica knows everything, and where all know the same', () => {
    expect(turnsAmong([replica('a', ['se']), replica('b', ['se', 'no'])])).toBeNull();
    expect(turnsAmong([replica('a', ['se']), replica('b', ['se']), { id: 'c', startedAt: 0, named: null }])).toBeNull();
  });
});

test('of two replicas that were started at the same moment, the one with the later id is the newer', () => {
  const newer = (id: string, startedAt: number) => isNewer({ id, startedAt }, { id: 'b', startedAt: 5 });
  expect([newer('a', 5), newer('b', 5), newer('c', 5)]).toEqual([false, false, true]);
  expect([newer('a', 6), newer('c', 4)]).toEqual([true, false]);
});

test('while filters differ, a subscriber gets what any of them lets through', () => {
  const narrow = { types: ['purchase.changed'], sites: ['se'], states: [5] };
  expect(widest([narrow])).toBe(narrow);
  expect(widest([narrow, { types: ['purchase.stuck', 'purchase.changed'], sites: null, states: [6] }])).toEqual({
    types: ['purchase.changed', 'purchase.stuck'],
    sites: null,
    states: [5, 6],
  });
});
