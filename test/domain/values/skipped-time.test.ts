import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { afterStep, type SkippedTime, setBackSince, timeAfter, timeBefore } from '../../../src/domain/values/skipped-time.ts';

describe('what the clock skipped', () => {
  test('grows with each step forward, and a step back takes the newest away first', () => {
    const first = afterStep([], { by: 1_000_000, now: 1_100_000 });
    expect(first).toEqual([{ from: 100_000, until: 1_100_000 }]);
    const both = afterStep(first, { by: 300_000, now: 1_500_000 });
    expect(both).toEqual([...first, { from: 1_200_000, until: 1_500_000 }]);
    expect(afterStep(both, { by: -100_000, now: 1_450_000 })).toEqual([...first, { from: 1_200_000, until: 1_400_000 }]);
    expect(afterStep(both, { by: -500_000, now: 1_050_000 })).toEqual([{ from: 100_000, until: 900_000 }]);
    expect(afterStep(both, { by: -299_995, now: 1_250_000 })).toEqual(first);
    expect(afterStep(both, { by: -1_300_000, now: 250_000 })).toEqual([]);
    expect(afterStep(both, { by: -9_000_000, now: -7_450_000 })).toEqual([]);
  });

  test('shows that the clock was set back while nobody looked', () => {
    const skipped = [{ from: 100, until: 1_100 }];
    expect([setBackSince(skipped, 1_100), setBackSince(skipped, 400), setBackSince([], 0)]).toEqual([0, 700, 0]);
  });

  test('is a bounded number of skips; older ones then count for at least as long', () => {
    let skipped: SkippedTime = [];
    for (let step = 1; step <= 300; step++) skipped = afterStep(skipped, { by: 10, now: step * 100 });
    expect(skipped).toHaveLength(100);
    expect([timeAfter(0, 1, skipped), timeAfter(30_000, 1, skipped)]).toEqual([1, 30_001]);
    expect([timeAfter(0, 27_000, skipped), timeAfter(0, 27_001, skipped)]).toEqual([29_990, 30_001]);
    expect(timeAfter(29_900, 89, skipped)).toBe(29_989);
    expect(timeAfter(29_900, 90, skipped)).toBe(29_990);
    expect(timeAfter(29_900, 91, skipped)).toBe(30_001);
  });
});

describe('a length of time', () => {
  const skipped = [
    { from: 100, until: 200 },
    { from: 300, until: 350 },
  ];

  test.each([
    [0, 50, 50],
    [0, 100, 100],
    [0, 101, 201],
    [0, 250, 400],
    [150, 10, 210],
    [200, 10, 210],
    [400, 10, 410],
  ])('from %i on, %i long, is over at %i', (since, length, end) => {
    expect(timeAfter(since, length, skipped)).toBe(end);
  });

  test.each([
    [400, 50, 350],
    [400, 51, 299],
    [400, 200, 50],
    [150, 10, 90],
    [90, 10, 80],
  ])('that is over at %i, %i long, began at %i', (now, length, start) => {
    expect(timeBefore(now, length, skipped)).toBe(start);
  });

  test('for ever is for ever', () => {
    expect(timeBefore(400, Number.POSITIVE_INFINITY, skipped)).toBe(Number.NEGATIVE_INFINITY);
  });

  test('has passed by the one way of counting exactly when it has by the other', () => {
    const steps = fc.array(fc.record({ rest: fc.nat(100_000), by: fc.integer({ min: -50_000, max: 50_000 }) }), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(steps, fc.nat(2_000_000), fc.nat(2_000_000), (all, ago, length) => {
        let [skipped, now]: [SkippedTime, number] = [[], 0];
        for (const { rest, by } of all) {
          now += rest + by;
          skipped = afterStep(skipped, { by, now });
        }
        // Skips lie in the past, in order, and apart.
        expect(skipped.every(({ from, until }, index) => from < until && until <= (skipped[index + 1]?.from ?? now))).toBe(true);
        const since = now - ago;
        expect(timeAfter(since, length, skipped) <= now).toBe(since <= timeBefore(now, length, skipped));
      }),
    );
  });
});
