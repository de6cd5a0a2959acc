import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBudget } from '../../../../src/daemon/poller/sites/budget.ts';

/** Asks at each of the moments; answers when calls left. */
function leaving(rate: number, moments: readonly number[]): number[] {
  let now = 0;
  const budget = createBudget(() => now);
  const left: number[] = [];
  for (const moment of moments) {
    now = moment;
    if (budget.take(rate) === 0) left.push(now);
  }
  return left;
}

/** Always asks again when it was told to, `late` after that; answers when calls left within the time. */
function eager(rate: number, { until, late = () => 0 }: { until: number; late?: () => number }): number[] {
  let now = 0;
  const budget = createBudget(() => now);
  const left: number[] = [];
  while (now < until) {
    const wait = budget.take(rate);
    if (wait === 0) left.push(now);
    else now += wait + late();
  }
  return left;
}

/** The most calls that left within any second. */
function mostInASecond(left: readonly number[]): number {
  let first = 0;
  let most = 0;
  left.forEach((at, index) => {
    // Moments are fractions: a nanosecond does not make it the same second.
    while (left[first]! <= at - 1_000 + 1e-6) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
}

const rates = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 50, max: 5_000 }));

test('no second holds more calls than allowed, whenever they are asked for', () => {
  const pauses = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 0, max: 40, noNaN: true }), fc.nat(3_000)), {
    maxLength: 1_000,
  });
  fc.assert(
    fc.property(rates, pauses, (rate, waits) => {
      let at = 0;
      const moments = waits.map((wait) => {
        at += wait;
        return at;
      });
      expect(mostInASecond(leaving(rate, moments))).toBeLessThanOrEqual(rate);
    }),
  );
});

test('no second holds more calls than allowed when everything is asked for at once, and again after a pause', () => {
  fc.assert(
    fc.property(rates, fc.nat(2_500), (rate, pause) => {
      const burst = (from: number): number[] =>
        Array.from({ length: 400 }, (_, index) => from + (index % 8) * 5).sort((a, b) => a - b);
      expect(
        mostInASecond(
          leaving(
            rate,
            [...burst(0), ...burst(pause), ...burst(pause + 990)].sort((a, b) => a - b),
          ),
        ),
      ).toBeLessThanOrEqual(rate);
    }),
  );
});

test.each([1, 3, 10, 50, 200, 2_000])('of %i calls a second, nearly all are used by one who always asks', (rate) => {
  const left = eager(rate, { until: 10_000 });
  expect(mostInASecond(left)).toBeLessThanOrEqual(rate);
  expect(left.length).toBeGreaterThanOrEqual(rate * 10 * 0.94);
});

test('timers that ring ten milliseconds late cost nothing where bursts are allowed', () => {
  const left = eager(200, { until: 10_000, late: () => 10 });
  expect(left.length).toBeGreaterThanOrEqual(200 * 10 * 0.94);
  expect(mostInASecond(left)).toBeLessThanOrEqual(200);
});

test('calls of a slow site are spaced evenly', () => {
  expect(eager(4, { until: 1_001 })).toEqual([0, 250, 500, 750, 1_000]);
});

test('the wait it answers is the wait it takes', () => {
  fc.assert(
    fc.property(rates, fc.nat(50), (rate, burst) => {
      let now = 0;
      const budget = createBudget(() => now);
      for (let call = 0; call < burst; call++) budget.take(rate);
      const wait = budget.take(rate);
      now += wait;
      // A hair more than the wait: the moment itself is not a whole number.
      now += 1e-6;
      if (wait > 0) expect(budget.take(rate)).toBe(0);
    }),
  );
});

test('with no share of the ceiling, nothing leaves and it is asked again after a while', () => {
  expect(createBudget(() => 0).take(0)).toBe(1_000);
});
