import { expect, test } from 'vitest';
import { allowedFrom, isLastOfTheHour, leavesTogether } from '../../src/core/channel-pace.ts';
import { nextAttempt, SCHEDULE_WITH_PEOPLE } from '../../src/core/delivery-plan.ts';

const NOW = 10_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const HEAD = { madeAt: NOW, attempts: 0, behind: 0 };

test.each([
  ['it is new and alone', {}, false],
  ['two wait behind it', { behind: 2 }, false],
  ['three wait behind it', { behind: 3 }, true],
  ['it is a minute old', { madeAt: NOW - MINUTE }, false],
  ['it is older', { madeAt: NOW - MINUTE - 1 }, true],
  ['it was tried before', { attempts: 1 }, true],
])('when %s', (_when, change, together) => {
  expect(leavesTogether({ ...HEAD, ...change }, NOW)).toBe(together);
});

test('the hour has so many messages, two of them for news of what is critical', () => {
  const sent = (...minutesAgo: number[]) => ({ messages: minutesAgo.map((ago) => NOW - ago * MINUTE), maxPerHour: 5 });
  expect(allowedFrom(sent(1, 2), false)).toBeLessThan(NOW);
  expect(allowedFrom(sent(1, 2, 30), false)).toBe(NOW + 30 * MINUTE);
  expect(allowedFrom(sent(1, 2, 30), true)).toBeLessThan(NOW);
  expect(allowedFrom(sent(1, 2, 30, 40, 50), true)).toBe(NOW + 10 * MINUTE);
  // With the reserve used up as well, more than one message has to grow old.
  expect(allowedFrom(sent(1, 2, 30, 40, 50), false)).toBe(NOW + 30 * MINUTE);
  expect([isLastOfTheHour(sent(1), NOW), isLastOfTheHour(sent(1, 2), NOW), isLastOfTheHour(sent(1, 61), NOW)]).toEqual([
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
