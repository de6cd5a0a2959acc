import { describe, expect, test } from 'vitest';
import {
  agesOf,
  areFewerThanUsual,
  completionsOf,
  edgesOf,
  hourBefore,
  hourUntil,
  showsAges,
  tenMinutesBefore,
} from '../../../src/domain/flow/flow.ts';

const T = Date.UTC(2026, 10, 20, 14, 27, 18);
const MINUTE = 60_000;

test('the hour begins an hour before the present ten minutes', () => {
  expect(hourUntil(T)).toEqual({ from: Date.UTC(2026, 10, 20, 13, 20), present: Date.UTC(2026, 10, 20, 14, 20), to: T });
  const sharp = Date.UTC(2026, 10, 20, 14, 20);
  expect(hourUntil(sharp)).toEqual({ from: sharp - 60 * MINUTE, present: sharp, to: sharp });
});

test('before a moment at which it is noted how purchases stand lie ten minutes, and an hour', () => {
  const at = Date.UTC(2026, 10, 20, 14, 20);
  expect(tenMinutesBefore(at)).toEqual({ from: at - 10 * MINUTE, present: at - 10 * MINUTE, to: at });
  expect(hourBefore(at)).toEqual({ from: at - 60 * MINUTE, present: at - 10 * MINUTE, to: at });
});

describe('edges', () => {
  const counts = [
    { site: 'se', from: null, to: 0, count: 3 },
    { site: 'fi', from: null, to: 0, count: 2 },
    { site: 'se', from: 6, to: 2, count: 38 },
  ];

  test('are those of all sites, the busiest first, without what is usual while that is not known', () => {
    expect(edgesOf(counts, [])).toEqual([
      { from: 6, to: 2, count: 38, usual: null },
      { from: null, to: 0, count: 5, usual: null },
    ]);
  });

  test('have what is usual of the sites that know it, 0 where nobody ever went', () => {
    const known = [
      { site: 'se', days: 5, ways: [{ from: 6, to: 2, mean: 81.333_3 }] },
      { site: 'fi', days: 3, ways: [] },
    ];
    expect(edgesOf(counts, known)).toEqual([
      { from: 6, to: 2, count: 38, usual: 81.33 },
      { from: null, to: 0, count: 5, usual: 0 },
    ]);
  });

  test('on which nobody went are there when somebody usually goes, of all sites together', () => {
    const known = ['se', 'fi'].map((site) => ({
      ...{ site, days: 3 },
      ways: [
        { from: 4, to: 1, mean: 0.5 },
        { from: 4, to: 3, mean: 0.4 },
      ],
    }));
    expect(edgesOf([], known)).toEqual([{ from: 4, to: 1, count: 0, usual: 1 }]);
  });

  test('as busy as others come after those with more usually, then by their states', () => {
    const ways = [
      [6, 2, 5],
      [4, 2, 5],
      [4, 1, 5],
      [null, 6, 5],
      [0, 6, 5],
      [6, 8, 9],
    ] as const;
    const known = [{ site: 'se', days: 3, ways: ways.map(([from, to, mean]) => ({ from, to, mean })) }];
    expect(edgesOf([], known).map(({ from, to }) => [from, to])).toEqual([
      [6, 8],
      [null, 6],
      [0, 6],
      [4, 1],
      [4, 2],
      [6, 2],
    ]);
    const unknown = ways.toReversed().map(([from, to]) => ({ site: 'se', from, to, count: 1 }));
    expect(edgesOf(unknown, []).map(({ from, to }) => [from, to])).toEqual([
      [null, 6],
      [0, 6],
      [4, 1],
      [4, 2],
      [6, 2],
      [6, 8],
    ]);
  });
});

describe('completed purchases', () => {
  const counts = [
    { site: 'se', from: 6, to: 2, count: 3 },
    { site: 'se', from: 4, to: 2, count: 1 },
    { site: 'se', from: 6, to: 8, count: 20 },
  ];

  test('are those of all ways to completion, beside what is usual where that is known', () => {
    const known = [
      {
        site: 'se',
        days: 3,
        ways: [
          { from: 6, to: 2, mean: 8 },
          { from: 4, to: 2, mean: 4 },
          { from: 6, to: 8, mean: 2 },
        ],
      },
    ];
    expect(completionsOf(edgesOf(counts, known), true)).toEqual({ completed: 4, usual: 12 });
    expect(completionsOf(edgesOf(counts, []), false)).toEqual({ completed: 4, usual: null });
    expect(completionsOf(edgesOf(counts, []), true)).toEqual({ completed: 4, usual: 0 });
  });

  test.each([
    [4, 10, true],
    [5, 10, false],
    [0, 9.99, false],
    [0, null, false],
  ])('are %i of usually %s: fewer than usual is %s', (completed, usual, isFewer) => {
    expect(areFewerThanUsual({ completed, usual })).toBe(isFewer);
  });
});

test('ages are shown where customers wait or a limit holds, never of final states', () => {
  expect(showsAges({ state: 6, final: false, hasLimit: false })).toBe(true);
  expect(showsAges({ state: 17, final: false, hasLimit: false })).toBe(true);
  expect(showsAges({ state: 0, final: false, hasLimit: false })).toBe(false);
  expect(showsAges({ state: 1, final: false, hasLimit: true })).toBe(true);
  expect(showsAges({ state: 1, final: false, hasLimit: false })).toBe(false);
  expect(showsAges({ state: 2, final: true, hasLimit: true })).toBe(false);
});

describe('ages', () => {
  const waiting = (share: number) => ({ age: share * 600_000, share, stuck: share > 1 });

  test('of few are shown one by one, the oldest first', () => {
    expect(agesOf([waiting(0.2), waiting(1.4)], 2)).toEqual({
      oldest: [waiting(1.4), waiting(0.2)],
      buckets: null,
      unread: 0,
    });
  });

  test('of more than 60 are in buckets, too, the last of which has no end', () => {
    const shares = [...Array.from({ length: 58 }, () => 0.05), 0.1, 0.999, 1, 1.95, 2, 40];
    const { oldest, buckets, unread } = agesOf(shares.map(waiting), 70);
    expect(oldest).toHaveLength(60);
    expect(oldest[0]).toEqual(waiting(40));
    expect(unread).toBe(6);
    expect(buckets).toEqual([
      { from: 0, below: 0.1, count: 58 },
      { from: 0.1, below: 0.2, count: 1 },
      { from: 0.9, below: 1, count: 1 },
      { from: 1, below: 1.1, count: 1 },
      { from: 1.9, below: 2, count: 1 },
      { from: 2, below: null, count: 2 },
    ]);
  });

  test('of purchases some of which were not read are in buckets, those without a limit left out', () => {
    const free = { age: 1, share: null, stuck: false };
    expect(agesOf([waiting(0.55), free], 3)).toMatchObject({ buckets: [{ from: 0.5, below: 0.6, count: 1 }], unread: 1 });
    const bucketsOf = (length: number) =>
      agesOf(
        Array.from({ length }, () => waiting(1)),
        length,
      ).buckets;
    expect([bucketsOf(60), bucketsOf(61)]).toEqual([null, [{ from: 1, below: 1.1, count: 61 }]]);
  });

  test('without a limit have no buckets, and a counter that is behind leaves nobody unread', () => {
    const free = Array.from({ length: 61 }, (_, n) => ({ age: n, share: null, stuck: false }));
    expect(agesOf(free, 60)).toMatchObject({ buckets: null, unread: 0, oldest: { length: 60 } });
  });
});
