import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  dueAfter,
  isAhead,
  LEAST_STEP,
  type SkippedTime,
  timeAfter,
  timeBefore,
  withoutOldest,
} from '../../../src/domain/values/clock-steps.ts';

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;

test('an instant is ahead of the clock from ten seconds on', () => {
  expect([NOW, NOW + LEAST_STEP, NOW + LEAST_STEP + 1].map((at) => isAhead(at, NOW))).toEqual([false, false, true]);
});

test('a wait that began ahead of the clock is over', () => {
  expect(dueAfter(NOW - 1_000, 2_000, NOW)).toBe(NOW + 1_000);
  expect(dueAfter(NOW + HOUR, 2_000, NOW)).toBe(NOW);
});

test('what the clock skipped is a bounded number of skips; older ones then count for at least as long', () => {
  let skipped: SkippedTime = [];
  for (let step = 1; step <= 300; step++) skipped = withoutOldest([...skipped, { from: step * 100 - 10, until: step * 100 }]);
  expect(skipped).toHaveLength(100);
  expect([timeAfter(0, 1, skipped), timeAfter(30_000, 1, skipped)]).toEqual([1, 30_001]);
  expect([timeAfter(0, 27_000, skipped), timeAfter(0, 27_001, skipped)]).toEqual([29_990, 30_001]);
  expect(timeAfter(29_900, 89, skipped)).toBe(29_989);
  expect(timeAfter(29_900, 90, skipped)).toBe(29_990);
  expect(timeAfter(29_900, 91, skipped)).toBe(30_001);
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
    const steps = fc.array(fc.record({ rest: fc.nat(100_000), by: fc.integer({ min: 1, max: 50_000 }) }), { maxLength: 20 });
    fc.assert(
      fc.property(steps, fc.nat(2_000_000), fc.nat(2_000_000), (all, ago, length) => {
        let [skipped, now]: [SkippedTime, number] = [[], 0];
        for (const { rest, by } of all) {
          now += rest + by;
          skipped = withoutOldest([...skipped, { from: now - by, until: now }]);
        }
        const since = now - ago;
        expect(timeAfter(since, length, skipped) <= now).toBe(since <= timeBefore(now, length, skipped));
      }),
    );
  });
});
