import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { afterLimit, afterOurFailure, nextAttempt, SCHEDULE_WITH_PEOPLE } from '../../../src/domain/deliveries/delivery-plan.ts';
import { DEFAULT_DELIVERY_SCHEDULE } from '../../support/delivery-schedule.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const now = Date.UTC(2026, 10, 20, 9, 15);
/** What is added to a rest that was asked for. */
const CLOCKS_DIFFER = 100;
const schedule = DEFAULT_DELIVERY_SCHEDULE;

test('the waits are those of the contract', () => {
  const waits = schedule.map(
    (_, index) => nextAttempt({ schedule, attempts: index + 1, now, retryAfter: null, spread: 0 })! - now,
  );
  expect(waits).toEqual([5_000, 300_000, 1_800_000, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, DAY]);
});

test('people are tried after seconds first, and every five minutes for three days', () => {
  const [rests, every] = [SCHEDULE_WITH_PEOPLE.slice(0, 3), SCHEDULE_WITH_PEOPLE.slice(3)];
  expect(rests).toEqual([5_000, 30_000, 120_000]);
  expect(new Set(every)).toEqual(new Set([300_000]));
  expect(every.length * 300_000).toBe(3 * DAY);
});

test('after the attempt that follows the last wait it is given up, whatever the receiver asks for', () => {
  expect(nextAttempt({ schedule, attempts: 10, now, retryAfter: 60_000, spread: 0 })).toBeNull();
  expect(nextAttempt({ schedule: [], attempts: 1, now, retryAfter: null, spread: 0 })).toBeNull();
});

test('Retry-After delays, and never makes an attempt come sooner', () => {
  expect(nextAttempt({ schedule, attempts: 1, now, retryAfter: 90_000, spread: 0 })).toBe(now + 90_000 + CLOCKS_DIFFER);
  expect(nextAttempt({ schedule, attempts: 2, now, retryAfter: 90_000, spread: 0 })).toBe(now + 300_000);
  expect(nextAttempt({ schedule, attempts: 2, now, retryAfter: 0, spread: 0 })).toBe(now + 300_000);
});

test('a receiver that asks for fewer messages is tried again when it asked for it, within a day', () => {
  expect(afterLimit({ now, retryAfter: 2_000 })).toBe(now + 2_000 + CLOCKS_DIFFER);
  expect(afterLimit({ now, retryAfter: 30 * DAY })).toBe(now + DAY + CLOCKS_DIFFER);
});

test('Retry-After is granted up to a day', () => {
  expect(nextAttempt({ schedule, attempts: 1, now, retryAfter: 30 * DAY, spread: 0 })).toBe(now + DAY + CLOCKS_DIFFER);
  expect(nextAttempt({ schedule, attempts: 1, now, retryAfter: Number.POSITIVE_INFINITY, spread: 0 })).toBe(
    now + DAY + CLOCKS_DIFFER,
  );
});

test('half of the jitter is a twentieth of the wait', () => {
  expect(nextAttempt({ schedule, attempts: 2, now, retryAfter: null, spread: 0.5 })).toBe(now + 315_000);
  expect(afterOurFailure({ now, since: now - 60_000, spread: 0.5 })).toBe(now + 31_500);
});

test('jitter only ever adds, up to a tenth of the planned wait, and nothing to one that was asked for', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.option(fc.nat(40 * DAY), { nil: null }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempts, retryAfter, spread) => {
        const planned = schedule[attempts - 1]!;
        const asked = Math.min(retryAfter ?? 0, DAY);
        const wait = nextAttempt({ schedule, attempts, now, retryAfter, spread })! - now;
        expect(wait).toBeGreaterThanOrEqual(Math.max(planned, asked));
        expect(wait).toBeLessThanOrEqual(Math.max(Math.ceil(planned * 1.1), asked + CLOCKS_DIFFER));
      },
    ),
  );
});

describe('after a failure of ours', () => {
  const waits = (since: number) => afterOurFailure({ now: 10_000_000, since: 10_000_000 - since, spread: 0 }) - 10_000_000;

  test.each([
    [0, 5_000],
    [8_000, 5_000],
    [60_000, 30_000],
    [3_600_000, 300_000],
    [3 * 86_400_000, 300_000],
  ])('%i ms after the first in a row the next try comes in %i ms, whatever the age of the event', (since, wait) => {
    expect(waits(since)).toBe(wait);
  });
});
