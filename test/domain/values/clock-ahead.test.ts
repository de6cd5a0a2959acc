import { describe, expect, test } from 'vitest';
import { notAhead } from '../../../src/domain/purchases/clock-back.ts';
import { dueAfter, isAhead, isWaiting, LEAST_STEP } from '../../../src/domain/values/clock-ahead.ts';
import { aPurchase } from '../../support/a-purchase.ts';

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;

test('an instant is ahead of the clock from ten seconds on', () => {
  expect([NOW, NOW + LEAST_STEP, NOW + LEAST_STEP + 1].map((at) => isAhead(at, NOW))).toEqual([false, false, true]);
});

test('a wait that began ahead of the clock is over', () => {
  expect(isWaiting(NOW - 1_000, 2_000, NOW)).toBe(true);
  expect(isWaiting(NOW - 2_000, 2_000, NOW)).toBe(false);
  expect(isWaiting(NOW + HOUR, 2_000, NOW)).toBe(false);
  expect(dueAfter(NOW - 1_000, 2_000, NOW)).toBe(NOW + 1_000);
  expect(dueAfter(NOW + HOUR, 2_000, NOW)).toBe(NOW);
});

describe('a purchase', () => {
  test('that was seen before the clock was set back keeps how long it has been in its state', () => {
    const ahead = aPurchase({
      seenAt: NOW + 2 * HOUR,
      stateSince: NOW + HOUR,
      stuckSince: NOW + HOUR + 5,
      watchedSince: NOW - HOUR,
    });
    expect(notAhead(ahead, NOW)).toEqual({
      ...ahead,
      ...{ seenAt: NOW, stateSince: NOW - HOUR, stuckSince: NOW - HOUR + 5, watchedSince: NOW - HOUR },
    });
  });

  test('keeps times from before the clock was ahead, and is excused for its step forward no more', () => {
    const before = aPurchase({ stateSince: NOW - HOUR, stuckSince: NOW - 5, watchedSince: NOW - 2 * HOUR, excused: 1_000 });
    const ahead = { ...before, seenAt: NOW + 100 * HOUR, excused: before.excused + 100 * HOUR };
    expect(notAhead(ahead, NOW)).toEqual({ ...before, seenAt: NOW });
    expect(notAhead({ ...ahead, excused: HOUR }, NOW).excused).toBe(0);
  });

  test('that was seen by a clock that another replica reads a little earlier stays as it is', () => {
    const purchase = aPurchase({ seenAt: NOW + 500 });
    expect(notAhead(purchase, NOW)).toBe(purchase);
    expect(notAhead(aPurchase({ seenAt: null }), NOW).seenAt).toBeNull();
  });
});
