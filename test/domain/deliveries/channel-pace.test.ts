import { expect, test } from 'vitest';
import {
  allowedFrom,
  isLastOfTheHour,
  isLate,
  restAfter,
  TOGETHER_REASONS,
  togetherBecause,
} from '../../../src/domain/deliveries/channel-pace.ts';
import { nextAttempt, SCHEDULE_WITH_PEOPLE } from '../../../src/domain/deliveries/delivery-plan.ts';

const NOW = 10_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const HEAD = { madeAt: NOW, attempts: 0, refused: 0, behind: 0 };
const FREE = { isHeld: false, isLast: false };

test.each([
  ['it is new and alone', {}, {}, null],
  ['two wait behind it', { behind: 2 }, {}, null],
  ['three wait behind it', { behind: 3 }, {}, 'several'],
  ['it is a minute old', { madeAt: NOW - MINUTE }, {}, null],
  ['it is older', { madeAt: NOW - MINUTE - 1 }, {}, 'late'],
  ['it was refused before', { attempts: 1, refused: 1, madeAt: NOW - HOUR }, {}, 'refused'],
  ['it was not reached before, or is sent again', { attempts: 1 }, {}, 'late'],
  ['the hour allows one more', {}, { isLast: true }, 'last'],
  ['the hour had had enough', { attempts: 1, refused: 1, behind: 9 }, { isHeld: true, isLast: true }, 'capped'],
] as const)('when %s', (_when, change, pace, because) => {
  expect(togetherBecause({ ...HEAD, ...change }, { ...FREE, ...pace }, NOW)).toBe(because);
});

test('a single message says why it comes late, and nothing when it does not', () => {
  expect(TOGETHER_REASONS.filter(isLate)).toEqual(['capped', 'refused', 'late']);
});

test('after a message of somebody else the rest of the spacing is waited, and never more than that', () => {
  const rest = (last: number) => restAfter(last, { spacing: 1_000, now: NOW });
  expect([rest(NOW - 2_000), rest(NOW - 300), rest(NOW), rest(NOW + HOUR)]).toEqual([0, 700, 1_000, 1_000]);
});

test('the hour has so many messages, two of them for news of what is critical', () => {
  const sent = (...minutesAgo: number[]) => ({ messages: minutesAgo.map((ago) => NOW - ago * MINUTE), maxPerHour: 5 });
  expect(allowedFrom(sent(1, 2), false)).toBeLessThan(NOW);
  expect(allowedFrom(sent(1, 2, 30), false)).toBe(NOW + 30 * MINUTE);
  expect(allowedFrom(sent(1, 2, 30), true)).toBeLessThan(NOW);
  expect(allowedFrom(sent(1, 2, 30, 40, 50), true)).toBe(NOW + 10 * MINUTE);
  // With the reserve used up as well, more than one message has to grow old.
  expect(allowedFrom(sent(1, 2, 30, 40, 50), false)).toBe(NOW + 30 * MINUTE);
  expect([isLastOfTheHour(sent(1), NOW), isLastOfTheHour(sent(1, 2), NOW), isLastOfTheHour(sent(1, 60), NOW)]).toEqual([
    false,
    true,
    false,
  ]);
});

test('people are tried within minutes for days, whatever the jitter', () => {
  let at = NOW;
  for (let attempts = 1; attempts <= 280; attempts++) {
    const next = nextAttempt({ schedule: SCHEDULE_WITH_PEOPLE, attempts, now: at, retryAfter: null, spread: 1 })!;
    expect(next - at).toBeLessThanOrEqual(5.5 * MINUTE);
    at = next;
  }
  const whole = SCHEDULE_WITH_PEOPLE.reduce((sum, wait) => sum + wait, 0);
  expect(whole).toBeGreaterThan(3 * 24 * HOUR);
  expect(nextAttempt({ schedule: SCHEDULE_WITH_PEOPLE, attempts: 1, now: NOW, retryAfter: null, spread: 0 })).toBe(NOW + 5_000);
});
