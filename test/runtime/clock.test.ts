import { uptime } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { realClock } from '../../src/runtime/clock.ts';

// Both of this machine's clocks stand still until a test moves them; rests are real.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 5_000_000 }));
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;

test("until told otherwise, the time is this machine's as of the start, and goes on with the monotonic clock", () => {
  const clock = realClock();
  expect(clock.now()).toBe(5_000_000);
  vi.advanceTimersByTime(1_500);
  expect(clock.now()).toBe(5_001_500);
  vi.setSystemTime(9_000_000);
  expect([clock.now(), clock.wall()]).toEqual([5_001_500, 9_000_000]);
});

test("follows the database's clock from the moment of the reading on", () => {
  const clock = realClock();
  const readAt = clock.monotonic();
  vi.advanceTimersByTime(500);
  clock.follow(1_000_000, readAt, readAt);
  expect(clock.now()).toBe(1_000_500);
  vi.advanceTimersByTime(250);
  expect(clock.now()).toBe(1_000_750);
});

test('a reading that took long moves the time no further than it must', () => {
  const clock = realClock();
  const asked = clock.monotonic();
  clock.follow(1_000_000, asked, asked);
  vi.advanceTimersByTime(10_000);
  // The answer waited ten seconds for a lock, and may show any moment of them.
  clock.follow(1_009_000, asked, asked + 10_000);
  expect(clock.now()).toBe(1_010_000);
  clock.follow(1_012_000, asked, asked + 10_000);
  expect(clock.now()).toBe(1_012_000);
});

test('a later reading that took a moment too long moves the time no further than it must, the first one sets it', () => {
  const clock = realClock();
  const asked = clock.monotonic();
  vi.advanceTimersByTime(300);
  clock.follow(1_000_000, asked, asked + 300);
  expect(clock.now()).toBe(1_000_150);
  clock.follow(1_000_010, asked, asked + 300);
  expect(clock.now()).toBe(1_000_150);
  clock.follow(1_000_200, asked, asked + 300);
  expect(clock.now()).toBe(1_000_200);
  clock.follow(1_000_170, asked + 260, asked + 300);
  expect(clock.now()).toBe(1_000_190);
});

test('instants are whole milliseconds, whatever the database said', () => {
  const clock = realClock();
  clock.follow(1_000_000.623, clock.monotonic(), clock.monotonic());
  expect(clock.now()).toBe(1_000_001);
});

test("time in which this machine ran and the monotonic clock stood still counts as suspended, the monotonic clock's own does not", () => {
  const clock = realClock();
  const reading = () => {
    const from = uptime() * 1_000;
    const suspended = clock.suspended();
    return { from, suspended, to: uptime() * 1_000 };
  };
  const before = reading();
  vi.advanceTimersByTime(3_600_000);
  const after = reading();
  // The machine itself ran on between the readings.
  expect(after.suspended - before.suspended).toBeGreaterThanOrEqual(after.from - before.to - 3_600_000);
  expect(after.suspended - before.suspended).toBeLessThanOrEqual(after.to - before.from - 3_600_000);
});

test('monotonic time does not follow', () => {
  const clock = realClock();
  const before = clock.monotonic();
  clock.follow(0, before, before);
  expect(clock.monotonic()).toBe(before);
});

/** Whether a rest is over, for as long as a test looks at it. */
function watchRest(duration: number, signal: AbortSignal): { isOver: boolean; readonly end: Promise<void> } {
  const rest = { isOver: false, end: Promise.resolve() };
  rest.end = realClock()
    .sleep(duration, signal)
    .then(() => {
      rest.isOver = true;
    });
  return rest;
}

test('a rest ends early, without throwing, when it is called off, and does not begin after that', async () => {
  const calledOff = new AbortController();
  const resting = watchRest(2 ** 30, calledOff.signal);
  await nextTurn();
  expect(resting.isOver).toBe(false);
  calledOff.abort();
  await resting.end;
  const second = watchRest(2 ** 30, calledOff.signal);
  await nextTurn();
  expect([resting.isOver, second.isOver]).toEqual([true, true]);
});

test.each([0, -5])('a rest of %d ms is over at once', async (duration) => {
  const resting = watchRest(duration, never);
  await resting.end;
  expect(resting.isOver).toBe(true);
});

test('a rest longer than timers can count does not end at once', async () => {
  const calledOff = new AbortController();
  const resting = watchRest(2 ** 40, calledOff.signal);
  // A timer that overflows rings after a millisecond, before one that begins later and takes longer.
  await realClock().sleep(10, never);
  expect(resting.isOver).toBe(false);
  calledOff.abort();
  await resting.end;
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
