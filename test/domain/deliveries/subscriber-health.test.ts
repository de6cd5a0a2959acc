import { describe, expect, test } from 'vitest';
import {
  type AttemptEnd,
  healthAfter as after,
  holdAfter,
  isUntried,
  pauseAfter,
  type SubscriberHealth,
  WITH_PEOPLE,
  WITH_SYSTEMS,
} from '../../../src/domain/deliveries/subscriber-health.ts';
import { isAskedFor } from '../../../src/domain/deliveries/subscriber-state.ts';

const MINUTE = 60_000;
/** What is added to a rest that was asked for. */
const CLOCKS_DIFFER = 100;
const T = Date.UTC(2026, 10, 20, 9, 15);
const failure = (at: number, { began = at, retryAfter = null as number | null } = {}) => ({
  at,
  began,
  error: 'The receiver answered 503.',
  retryAfter,
});
const healthAfter = (before: SubscriberHealth | null, attempts: readonly AttemptEnd[]) => after(before, attempts, WITH_SYSTEMS);
const success = (at: number) => ({ at, began: at, error: null, retryAfter: null });

test('fewer than four failures in a row pause nothing', () => {
  const health = healthAfter(null, [failure(T), failure(T + 1), failure(T + 2)]);
  expect(health).toMatchObject({ failures: 3, pausedUntil: null, failingSince: T });
  expect(healthAfter(health, [success(T + 3), failure(T + 4)])).toMatchObject({ failures: 1, failingSince: T + 4 });
});

test('the fourth pauses for a minute', () => {
  const health = healthAfter(null, [failure(T), failure(T + 1), failure(T + 2), failure(T + 5)]);
  expect(health).toMatchObject({
    failures: 4,
    pauses: 1,
    failingSince: T,
    pausedUntil: T + 5 + MINUTE,
    lastError: 'The receiver answered 503.',
  });
});

test('each further one doubles the pause up to a day, and one success ends it all', () => {
  let health: SubscriberHealth | null = healthAfter(null, [failure(T), failure(T), failure(T), failure(T)]);
  const pauses: number[] = [];
  for (let now = health!.pausedUntil!; pauses.length < 13; now = health!.pausedUntil!) {
    health = healthAfter(health, [failure(now)]);
    pauses.push((health!.pausedUntil! - now) / MINUTE);
  }
  expect(pauses).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440, 1_440, 1_440]);
  expect(healthAfter(health, [success(health!.pausedUntil!)])).toBeNull();
});

test('many that fail at once are one failure', () => {
  const together = Array.from({ length: 64 }, (_, index) => failure(T + index, { began: T - 1_000 }));
  expect(healthAfter(null, together)).toMatchObject({ failures: 1, pausedUntil: null });
  expect(healthAfter(null, [...together, failure(T + 100)])).toMatchObject({ failures: 2 });
});

test('a rest asked for by one of many at once is the reason for the pause', () => {
  const asking = { ...failure(T + 1, { began: T - 1_000, retryAfter: 60 * MINUTE }), error: 'The receiver answered 429.' };
  const health = healthAfter(null, [failure(T, { began: T - 1_000 }), asking]);
  expect(health).toMatchObject({
    failures: 1,
    pausedUntil: T + 1 + 60 * MINUTE + CLOCKS_DIFFER,
    lastError: 'The receiver answered 429.',
  });
  expect([
    isAskedFor(health!),
    isAskedFor({ failures: 1, pausedUntil: null }),
    isAskedFor({ failures: 4, pausedUntil: T }),
  ]).toEqual([true, false, false]);
});

test('the second and third failure in a row hold for a second or two, the first does not', () => {
  expect([0, 1, 2, 3, 4, 40].map(holdAfter)).toEqual([0, 0, 1_000, 2_000, 0, 0]);
});

test('what began before the pause was over tells nothing new', () => {
  const paused = healthAfter(null, [failure(T), failure(T), failure(T), failure(T)])!;
  const late = Array.from({ length: 60 }, () => failure(T + 15_000, { began: T - 1 }));
  expect(healthAfter(paused, late)).toEqual(paused);
});

test('a success that began before the pause does not end it, one that began later does', () => {
  const paused = healthAfter(null, [failure(T), failure(T), failure(T), failure(T)])!;
  expect(healthAfter(paused, [{ ...success(T + 1), began: T - 1 }])).toEqual(paused);
  for (const at of [T, T + 1]) expect(healthAfter(paused, [success(at)])).toBeNull();
  // One that is not paused is tried with more than one delivery: any that it takes shows that it is well.
  expect(healthAfter(healthAfter(null, [failure(T)]), [{ ...success(T + 1), began: T - 1 }])).toBeNull();
});

test('a request for fewer messages rests as long as it asks, and is one failure however often it comes', () => {
  const limit = (at: number) => ({ ...failure(at, { retryAfter: 2_000 }), isLimit: true });
  const often = Array.from({ length: 10 }, (_, index) => limit(T + index * 2_000));
  const health = healthAfter(null, often)!;
  expect(health).toMatchObject({ failures: 1, pauses: 0, failingSince: T, pausedUntil: T + 20_000 + CLOCKS_DIFFER });
  expect(isAskedFor(health)).toBe(true);
  expect(healthAfter(health, [failure(T + 20_000 + CLOCKS_DIFFER)])).toMatchObject({ failures: 2, pausedUntil: null });
  const paused = healthAfter(null, [failure(T), failure(T), failure(T), failure(T)])!;
  expect(healthAfter(paused, [limit(T + MINUTE)])).toMatchObject({
    failures: 4,
    pauses: 1,
    pausedUntil: T + MINUTE + 2_000 + CLOCKS_DIFFER,
  });
});

describe('Retry-After', () => {
  test('pauses at the first failure, for what was asked', () => {
    const health = healthAfter(null, [failure(T, { retryAfter: 2 * MINUTE })]);
    expect(health).toMatchObject({ failures: 1, pauses: 0, pausedUntil: T + 2 * MINUTE + CLOCKS_DIFFER });
  });

  test('never shortens a pause, and lengthens one that is under way', () => {
    const paused = healthAfter(null, [failure(T), failure(T), failure(T), failure(T, { retryAfter: 1_000 })])!;
    expect(paused.pausedUntil).toBe(T + MINUTE);
    expect(healthAfter(paused, [failure(T + 5, { began: T - 1, retryAfter: 1_000 })])).toEqual(paused);
    const longer = healthAfter(paused, [failure(T + 5, { began: T - 1, retryAfter: 5 * MINUTE })])!;
    expect(longer).toMatchObject({ failures: 4, pausedUntil: T + 5 + 5 * MINUTE + CLOCKS_DIFFER });
  });

  test('is granted for a day at most', () => {
    const health = healthAfter(null, [failure(T, { retryAfter: 400 * 24 * 60 * MINUTE })]);
    expect(health!.pausedUntil).toBe(T + 24 * 60 * MINUTE + CLOCKS_DIFFER);
  });
});

test('forty failures in a row take nearly a month', () => {
  let health: SubscriberHealth | null = null;
  let now = T;
  while ((health?.failures ?? 0) < WITH_SYSTEMS.failuresToSwitchOff!) {
    health = healthAfter(health, [failure(now)]);
    now = health!.pausedUntil ?? now;
  }
  const days = (now - T) / (24 * 60 * MINUTE);
  expect(days).toBeGreaterThan(25);
  expect(days).toBeLessThan(32);
  expect(pauseAfter(1_000, WITH_SYSTEMS)).toBe(24 * 60 * MINUTE);
});

test('people are tried every five minutes, for ever', () => {
  expect([0, 1, 2, 3, 1_000].map((pauses) => pauseAfter(pauses, WITH_PEOPLE) / MINUTE)).toEqual([1, 2, 4, 5, 5]);
  expect(WITH_PEOPLE.failuresToSwitchOff).toBeNull();
});

test('a subscriber that is not even tried has no failures, and one that is reached is tried', () => {
  expect([{ failures: 0 }, { failures: 4 }, null].map(isUntried)).toEqual([true, false, false]);
});

test('the word for the last failure is kept, and null where it is not known', () => {
  const known = healthAfter(null, [{ ...failure(T), cause: 'http_503' }])!;
  expect([known.cause, known.failedAt]).toEqual(['http_503', T]);
  expect(healthAfter(known, [failure(T + 1)])!.cause).toBeNull();
});
