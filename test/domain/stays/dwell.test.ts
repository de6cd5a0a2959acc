import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  autoLimit,
  boundsOf,
  bucketOf,
  configuredLimit,
  type Dwell,
  type DwellCount,
  dwellBody,
  dwellOf,
  ENOUGH_EXITS,
  mostLimit,
  SHORTEST_SESSION,
  type StuckLimit,
  shownLimit,
  workingText,
} from '../../../src/domain/stays/dwell.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 86_400_000;

describe('a bucket', () => {
  test('below a second is the first one, and each further one ends 19 % later', () => {
    expect([0, 1, 999].map(bucketOf)).toEqual([0, 0, 0]);
    expect([1_000, 1_189, 1_190, 2_000, 4_000, 8_000].map(bucketOf)).toEqual([1, 1, 2, 5, 9, 13]);
    expect(boundsOf(0)).toEqual({ from: 0, below: 1_000 });
    expect(boundsOf(5).below / boundsOf(5).from).toBeCloseTo(2 ** 0.25, 10);
  });

  test('holds the times within its bounds, and bounds leave no gap', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 * DAY }), (dwell) => {
        const bucket = bucketOf(dwell);
        const { from, below } = boundsOf(bucket);
        expect(dwell).toBeGreaterThanOrEqual(from);
        expect(dwell).toBeLessThan(below);
        expect(boundsOf(bucket + 1).from).toBe(below);
      }),
    );
  });

  test('of the bound itself is the one that begins there', () => {
    for (let bucket = 1; bucket <= bucketOf(40 * DAY); bucket++) {
      const { from } = boundsOf(bucket);
      expect(bucketOf(from), `bucket ${bucket}`).toBe(bucket);
      expect(bucketOf(from - 0.001), `below bucket ${bucket}`).toBe(bucket - 1);
    }
  });

  test('for longer than forty days is the one of forty days, so that a row stays small', () => {
    const last = bucketOf(40 * DAY);
    expect(bucketOf(400 * DAY)).toBe(last);
    expect(last).toBeLessThan(100);
  });
});

/** Counts of times that polls left open between these bounds. */
function countsOf(dwells: readonly { shortest: number; longest: number }[]): DwellCount[] {
  const counts = new Map<number, { bucket: number; shortest: number; longest: number }>();
  const at = (dwell: number) => {
    const bucket = bucketOf(dwell);
    const count = counts.get(bucket) ?? { bucket, shortest: 0, longest: 0 };
    counts.set(bucket, count);
    return count;
  };
  for (const { shortest, longest } of dwells) {
    at(shortest).shortest += 1;
    at(longest).longest += 1;
  }
  return [...counts.values()];
}

describe('what is known of dwell times', () => {
  test('is nothing without an exit', () => {
    expect(dwellOf([])).toBeNull();
    // Counts may lack one side where the days of the other count no more.
    expect(dwellOf([{ bucket: 3, shortest: 0, longest: 2 }])).toBeNull();
    expect(dwellOf([{ bucket: 3, shortest: 2, longest: 0 }])).toBeNull();
  });

  test('of less than a second is half a second', () => {
    expect(dwellOf(countsOf([{ shortest: 100, longest: 200 }]))).toEqual({ usual: 500, p95: 1_000, purchases: 1 });
  });

  test('is the median between the shortest and the longest times, and what 95 % stayed under', () => {
    const quick = Array.from({ length: 94 }, () => ({ shortest: 30_000, longest: 45_000 }));
    const slow = Array.from({ length: 6 }, () => ({ shortest: 90_000, longest: 119_000 }));
    // 30 s lies in 26.9 to 32 s, 45 s in 45.3 less a bucket: 38.1 to 45.3 s; 119 s in 107.6 to 128 s.
    expect(dwellOf(countsOf([...quick, ...slow]))).toEqual({ usual: 35_000, p95: 128_000, purchases: 100 });
  });

  test('does not call the slowest five in a hundred usual', () => {
    const quick = Array.from({ length: 95 }, () => ({ shortest: 30_000, longest: 45_000 }));
    const slow = Array.from({ length: 5 }, () => ({ shortest: DAY, longest: DAY }));
    expect(dwellOf(countsOf([...quick, ...slow]))!.p95).toBe(46_000);
  });

  const exits = fc.array(
    fc
      .record({ shortest: fc.integer({ min: 0, max: DAY }), unknown: fc.integer({ min: 0, max: 300_000 }) })
      .map(({ shortest, unknown }) => ({ shortest, longest: shortest + unknown })),
    { minLength: 1, maxLength: 200 },
  );
  const p95Of = (sorted: readonly number[]) => sorted[Math.ceil(sorted.length * 0.95) - 1]!;
  const ordered = (values: readonly number[]) => values.toSorted((a, b) => a - b);

  test('is never too short: 95 % of the longest times lie below, and it is at most a bucket too long', () => {
    fc.assert(
      fc.property(exits, (dwells) => {
        const { p95, purchases } = dwellOf(countsOf(dwells))!;
        const exact = p95Of(ordered(dwells.map(({ longest }) => longest)));
        expect(purchases).toBe(dwells.length);
        expect(dwells.filter(({ longest }) => longest < p95).length).toBeGreaterThanOrEqual(dwells.length * 0.95);
        expect(p95).toBeLessThanOrEqual(Math.max(exact, 1_000) * 2 ** 0.25 + SECOND);
      }),
    );
  });

  test('has its median between those of the shortest and the longest times, but for a bucket', () => {
    fc.assert(
      fc.property(exits, (dwells) => {
        const { usual } = dwellOf(countsOf(dwells))!;
        const middle = Math.ceil(dwells.length / 2) - 1;
        const low = ordered(dwells.map(({ shortest }) => shortest))[middle]!;
        const high = ordered(dwells.map(({ longest }) => longest))[middle]!;
        expect(usual).toBeGreaterThanOrEqual(low / 2 ** 0.25 - SECOND);
        expect(usual).toBeLessThanOrEqual(Math.max(high, 1_000) * 2 ** 0.25 + SECOND);
      }),
    );
  });

  test('is the same in whatever order and pieces days and sites bring it', () => {
    fc.assert(
      fc.property(exits, exits, (one, other) => {
        const whole = dwellOf(countsOf([...one, ...other]));
        expect(dwellOf([...countsOf(one), ...countsOf(other)])).toEqual(whole);
        expect(dwellOf([...countsOf(other), ...countsOf(one)].reverse())).toEqual(whole);
      }),
    );
  });
});

const aDwell = (differs: Partial<Dwell> = {}): Dwell => ({ usual: 38_000, p95: 130_000, purchases: 412, ...differs });

describe('an automatic limit', () => {
  const limit = (differs: Partial<Parameters<typeof autoLimit>[0]>) =>
    autoLimit({ own: null, pooled: null, fallback: 10 * MINUTE, most: 25 * MINUTE, ...differs });

  test.each<[string, Parameters<typeof limit>[0], number, StuckLimit['source']]>([
    ['three times what 95 % of the site need', { own: aDwell(), pooled: aDwell({ p95: 60_000 }) }, 390_000, 'learned'],
    ['learned from fifty exits on', { own: aDwell({ purchases: 50 }) }, 390_000, 'learned'],
    [
      'that of all sites, while there are fewer',
      { own: aDwell({ purchases: 49 }), pooled: aDwell({ p95: 200_000 }) },
      600_000,
      'pooled',
    ],
    ['the default, while all sites have fewer', { own: null, pooled: aDwell({ purchases: 49 }) }, 10 * MINUTE, 'default'],
    ['five minutes at least', { own: aDwell({ p95: 12_000 }) }, 5 * MINUTE, 'learned'],
    ['what a session leaves room for at most', { own: aDwell({ p95: 20 * MINUTE }) }, 25 * MINUTE, 'learned'],
    ['within the same bounds by default', { fallback: 15 * MINUTE, most: 12 * MINUTE }, 12 * MINUTE, 'default'],
  ])('is %s', (_, given, ms, source) => {
    expect(limit(given)).toMatchObject({ ms, source });
  });

  test('lies within its bounds whatever is known', () => {
    const dwell = fc.option(
      fc.record({ usual: fc.nat(), p95: fc.integer({ min: 1, max: 40 * DAY }), purchases: fc.nat({ max: 100 }) }),
    );
    const length = fc.integer({ min: 1, max: 2 * DAY });
    fc.assert(
      fc.property(dwell, dwell, length, length, (own, pooled, fallback, sessionLength) => {
        const most = mostLimit(sessionLength);
        const { ms, source } = autoLimit({ own, pooled, fallback, most });
        expect(ms).toBeGreaterThanOrEqual(5 * MINUTE);
        expect(ms).toBeLessThanOrEqual(Math.max(sessionLength - 5 * MINUTE, 5 * MINUTE));
        expect(source === 'learned').toBe((own?.purchases ?? 0) >= ENOUGH_EXITS);
      }),
    );
  });
});

/** WaitingForCardPayments, which has 15 min by default. */
const CARD = 6;

describe('the working', () => {
  const text = (limit: StuckLimit, spent: number | null = 11 * MINUTE) => workingText(limit, spent);
  test.each<[string, StuckLimit, string]>([
    [
      'a learned limit',
      { ms: 390_000, source: 'learned', dwell: aDwell() },
      '11 min here; usual 38 s, 95 % under 2 min 10 s, limit 6 min 30 s, from 412 purchases',
    ],
    [
      'one of all sites',
      { ms: 390_000, source: 'pooled', dwell: aDwell() },
      '11 min here; usual 38 s, 95 % under 2 min 10 s, limit 6 min 30 s, from 412 purchases of all sites',
    ],
    [
      'the shortest one',
      { ms: 300_000, source: 'learned', dwell: aDwell({ p95: 60_000 }) },
      '11 min here; usual 38 s, 95 % under 1 min, limit 5 min (the shortest), from 412 purchases',
    ],
    [
      'the longest one',
      { ms: 1_500_000, source: 'learned', dwell: aDwell({ p95: 600_000 }) },
      '11 min here; usual 38 s, 95 % under 10 min, limit 25 min (the longest that the session leaves room for), from 412 purchases',
    ],
    [
      'the longest one that is the shortest too',
      { ms: 300_000, source: 'learned', dwell: aDwell({ p95: 600_000 }) },
      '11 min here; usual 38 s, 95 % under 10 min, limit 5 min (the longest that the session leaves room for), from 412 purchases',
    ],
    [
      'a configured limit beside what is known',
      configuredLimit(600_000, aDwell(), CARD),
      '11 min here; usual 38 s, 95 % under 2 min 10 s, from 412 purchases; limit 10 min as configured',
    ],
    [
      'the default of the state beside what is known',
      configuredLimit(900_000, aDwell(), CARD),
      '11 min here; usual 38 s, 95 % under 2 min 10 s, from 412 purchases; limit 15 min, the default',
    ],
    ['the default of the state alone', configuredLimit(900_000, null, CARD), '11 min here; limit 15 min, the default'],
    [
      'a limit of a state that has none by default',
      configuredLimit(900_000, null, 17),
      '11 min here; limit 15 min as configured',
    ],
    [
      'a configured limit alone',
      configuredLimit(600_000, aDwell({ purchases: 49 }), CARD),
      '11 min here; limit 10 min as configured',
    ],
    [
      'a default',
      { ms: 900_000, source: 'default', dwell: aDwell({ purchases: 12 }) },
      '11 min here; limit 15 min, the default, as too little is known yet (12 of 50 purchases)',
    ],
    [
      'a default without any exit',
      { ms: 900_000, source: 'default', dwell: null },
      '11 min here; limit 15 min, the default, as too little is known yet (0 of 50 purchases)',
    ],
    ['no limit', configuredLimit(null, null, CARD), '11 min here; no limit'],
  ])('of %s', (_, limit, working) => expect(text(limit)).toBe(working));

  test('without a purchase is that of the state', () => {
    expect(text({ ms: 390_000, source: 'learned', dwell: aDwell() }, null)).toBe(
      'usual 38 s, 95 % under 2 min 10 s, limit 6 min 30 s, from 412 purchases',
    );
  });

  test('leaves the least limit in the shortest session', () => {
    expect([mostLimit(SHORTEST_SESSION), mostLimit(SHORTEST_SESSION + 1)]).toEqual([5 * MINUTE, 5 * MINUTE + 1]);
  });

  test('is shown to programs in numbers, and not where there is no limit', () => {
    expect(shownLimit({ ms: 390_000, source: 'pooled', dwell: aDwell() }, 660_000)).toEqual({
      limitMs: 390_000,
      source: 'pooled',
      usualMs: 38_000,
      p95Ms: 130_000,
      purchases: 412,
      text: '11 min here; usual 38 s, 95 % under 2 min 10 s, limit 6 min 30 s, from 412 purchases of all sites',
    });
    expect([dwellBody(aDwell()), dwellBody(null)]).toEqual([{ usualMs: 38_000, p95Ms: 130_000, purchases: 412 }, null]);
    expect(shownLimit(configuredLimit(600_000, null, CARD), 0)).toMatchObject({ usualMs: null, p95Ms: null, purchases: null });
    expect(shownLimit(configuredLimit(null, aDwell(), CARD), 660_000)).toBeNull();
  });
});
