/** A clock in the test's hand. Rests end when the test moves the clock, or at once when nothing is to be waited for. */
import { parseDuration } from '../../src/domain/values/duration.ts';
import type { Clock } from '../../src/runtime/clock.ts';

export interface TestClock extends Clock {
  /** Moves on, by `1m`, `250ms` and so on. */
  advance(duration: string): void;
}

/**
 * Starts at the machine's time, so that what the database's own clock stamps is in its past. With `isWhole` a move is one of
 * the monotonic clock, too: rests, pauses and leases of a daemon that runs pass with it.
 */
export function testClock({ isWhole = false } = {}): TestClock {
  let now = Date.now() + 1_000;
  let moved = 0;
  return {
    now: () => now,
    monotonic: () => performance.now() + (isWhole ? moved : 0),
    sleep: async (duration) => {
      await new Promise((resolve) => setTimeout(resolve, Math.min(duration, 50)));
    },
    advance: (duration) => {
      const length = parseDuration(duration) ?? Number.NaN;
      now += length;
      moved += length;
    },
  };
}
