import { expect, test } from 'vitest';
import { realClock } from '../../src/runtime/clock.ts';

const never = new AbortController().signal;

test("until told otherwise, the time is this machine's", () => {
  // Between two readings, since this process may be held up at any point. Both are rounded.
  const before = Date.now();
  const now = realClock().now();
  expect(now).toBeGreaterThanOrEqual(before - 2);
  expect(now).toBeLessThanOrEqual(Date.now() + 2);
});

test("follows the database's clock from the moment of the reading on", () => {
  const clock = realClock();
  const readAt = clock.monotonic() - 500;
  clock.follow(1_000_000, readAt, readAt);
  const now = clock.now();
  expect(now).toBeGreaterThanOrEqual(1_000_500);
  expect(now).toBeLessThanOrEqual(1_000_000 + clock.monotonic() - readAt + 1);
});

test('a reading that took long moves the time no further than it must', () => {
  const clock = realClock();
  const asked = clock.monotonic();
  clock.follow(1_000_000, asked, asked);
  // The answer waited ten seconds for a lock, and may show any moment of them.
  clock.follow(1_009_000, asked, asked + 10_000);
  expect(clock.now() - 1_000_000).toBeLessThan(clock.monotonic() - asked + 1);
  clock.follow(1_012_000, asked, asked + 10_000);
  expect(clock.now() - 1_002_000).toBeGreaterThanOrEqual(0);
});

test('instants are whole milliseconds, whatever the database said', () => {
  const clock = realClock();
  clock.follow(1_000_000.123, clock.monotonic(), clock.monotonic());
  expect(Number.isInteger(clock.now())).toBe(true);
});

test('this process was not suspended while it ran', () => {
  const clock = realClock();
  const before = clock.suspended();
  expect(Number.isFinite(before)).toBe(true);
  for (const end = performance.now() + 50; performance.now() < end; );
  // Both clocks are read one after the other, and one of them in hundredths of a second.
  expect(Math.abs(clock.suspended() - before)).toBeLessThan(5_000);
});

test('monotonic time does not follow', () => {
  const clock = realClock();
  const before = clock.monotonic();
  clock.follow(0, before, before);
  expect(clock.monotonic() - before).toBeLessThan(60_000);
  expect(clock.monotonic()).toBeGreaterThanOrEqual(before);
});

test('a rest ends early, without throwing, when it is called off, and does not begin after that', async () => {
  const clock = realClock();
  const calledOff = new AbortController();
  const resting = clock.sleep(60_000, calledOff.signal);
  calledOff.abort();
  await resting;
  await clock.sleep(60_000, calledOff.signal);
});

test('no rest, or less than none, is over at once', async () => {
  await realClock().sleep(0, never);
  await realClock().sleep(-5, never);
});

test('a rest longer than timers can count does not end at once', async () => {
  const calledOff = new AbortController();
  let over = false;
  const resting = realClock()
    .sleep(2 ** 40, calledOff.signal)
    .then(() => {
      over = true;
    });
  // A timer that overflows rings after a millisecond.
  await realClock().sleep(10, never);
  expect(over).toBe(false);
  calledOff.abort();
  await resting;
});

test('a step of the followed clock is answered once, and neither drift nor a slow answer is one', () => {
  const clock = realClock();
  const at = clock.monotonic();
  expect(clock.follow(50_000_000, at, at)).toBe(0);
  expect(clock.follow(50_002_500, at + 2_000, at + 2_000)).toBe(0);
  expect(clock.follow(50_009_000, at + 2_000, at + 32_000)).toBe(0);
  expect(clock.follow(68_000_000, at + 4_000, at + 4_000)).toBeCloseTo(17_995_500, 3);
  expect(clock.follow(68_002_000, at + 6_000, at + 6_000)).toBe(0);
  expect(clock.follow(50_008_000, at + 8_000, at + 8_000)).toBeCloseTo(-17_996_000, 3);
});
