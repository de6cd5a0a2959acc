import { describe, expect, test } from 'vitest';
import { agesOf, edgesOf, hourUntil, showsAges } from '../../../src/domain/flow/flow.ts';

const T = Date.UTC(2026, 10, 20, 14, 27, 18);
const MINUTE = 60_000;

test('the hour begins an hour before the present ten minutes', () => {
  expect(hourUntil(T)).toEqual({ from: Date.UTC(2026, 10, 20, 13, 20), present: Date.UTC(2026, 10, 20, 14, 20), to: T });
  const sharp = Date.UTC(2026, 10, 20, 14, 20);
  expect(hourUntil(sharp)).toEqual({ from: sharp - 60 * MINUTE, present: sharp, to: sharp });
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
});

test('ages are shown where customers wait or a limit holds, never of final states', () => {
  expect(showsAges({ state: 6, final: false, hasLimit: false })).toBe(true);
  expect(showsAges({ state: 17, final: false, hasLimit: false })).toBe(true);
  expect(showsAges({ state: 0, final: false, hasLimit: false })).toBe(false);
  expect(showsAges({ state: 1, final: false, hasLimit: true })).toBe(true);
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

  test('without a limit have no buckets, and a counter that is behind leaves nobody unread', () => {
    const free = Array.from({ length: 61 }, (_, n) => ({ age: n, share: null, stuck: false }));
    expect(agesOf(free, 60)).toMatchObject({ buckets: null, unread: 0, oldest: { length: 60 } });
  });
});
