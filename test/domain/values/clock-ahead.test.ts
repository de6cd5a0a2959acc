import { expect, test } from 'vitest';
import { dueAfter, isAhead, LEAST_STEP } from '../../../src/domain/values/clock-ahead.ts';

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;

test('an instant is ahead of the clock from ten seconds on', () => {
  expect([NOW, NOW + LEAST_STEP, NOW + LEAST_STEP + 1].map((at) => isAhead(at, NOW))).toEqual([false, false, true]);
});

test('a wait that began ahead of the clock is over', () => {
  expect(dueAfter(NOW - 1_000, 2_000, NOW)).toBe(NOW + 1_000);
  expect(dueAfter(NOW + HOUR, 2_000, NOW)).toBe(NOW);
});
