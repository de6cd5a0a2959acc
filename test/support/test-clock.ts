/** A clock in the test's hand. Rests end when the test moves the clock, or at once when nothing is to be waited for. */
import { parseDuration } from '../../src/domain/values/duration.ts';
import type { Clock } from '../../src/runtime/clock.ts';

export interface TestClock extends Clock {
  /** Moves on, by `1m`, `250ms` and so on. */
  advance(duration: string): void;
  /** Moves on to the machine's time, where it is later: what the database's own clock has made due is due then, however slow the test was. */
  catchUp(): void;
}

/** Milliseconds: longer than a test takes on a busy machine, and short of what a receiver grants a signature (five minutes). */
const AHEAD = 60_000;

/**
 * Starts so far after the machine's time that what the database's own clock stamps during a test is in its past. With `isWhole`
 * a move is one of the monotonic clock, too: rests, pauses and leases of a daemon that runs pass with it.
 */
export function testClock({ isWhole = false } = {}): TestClock {
  let now = Date.now() + AHEAD;
  let moved = 0;
  const moveBy = (length: number): void => {
    now += length;
    moved += length;
  };
  return {
    now: () => now,
    monotonic: () => performance.now() + (isWhole ? moved : 0),
    sleep: async (duration) => {
      await new Promise((resolve) => setTimeout(resolve, Math.min(duration, 50)));
    },
    advance: (duration) => moveBy(parseDuration(duration) ?? Number.NaN),
    catchUp: () => moveBy(Math.max(Date.now() + 1 - now, 0)),
  };
}
