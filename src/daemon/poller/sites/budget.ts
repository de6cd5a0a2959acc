/**
 * The part of a site's calls a second that this replica has, as a leaky bucket: calls are spaced evenly and a pause buys only a
 * small burst, so that in no second more calls leave than allowed.
 */
import type { Milliseconds } from '../../../domain/values/time.ts';

/** A burst makes up for timers that wake late: this much time's worth of calls. */
const BURST: Milliseconds = 20;

export function createBudget(monotonic: () => Milliseconds) {
  /** When the next call is due if calls left as evenly as possible. */
  let due = Number.NEGATIVE_INFINITY;
  return {
    /** Takes one call; answers 0 when the call may leave now, otherwise how long to wait. */
    take: (rate: number): Milliseconds => {
      if (rate <= 0) return 1_000;
      const ahead = Math.max(0, (rate * BURST) / 1_000 - 1);
      // Calls of a burst count among the second's calls, not on top of them.
      const spacing = 1_000 / (rate - ahead);
      const now = monotonic();
      // After the rate was raised, the wait of the lower rate must not last on.
      due = Math.min(due, now + (ahead + 1) * spacing);
      const earliest = due - ahead * spacing;
      if (now < earliest) return earliest - now;
      due = Math.max(due, now) + spacing;
      return 0;
    },
  };
}
