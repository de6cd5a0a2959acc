/** What was written before the database's clock was set back lies in the future. Pure. */
import type { Instant, Milliseconds } from './time.ts';

/** Two readings of the database's clock differ by less; by more only after the clock stepped. */
export const LEAST_STEP: Milliseconds = 10_000;

/** Whether an instant was written before the clock was set back. */
export function isAhead(at: Instant, now: Instant): boolean {
  return at > now + LEAST_STEP;
}

/** When a wait from a past instant on is over: at once when the instant is ahead of the clock. */
export function dueAfter(from: Instant, length: Milliseconds, now: Instant): Instant {
  return isAhead(from, now) ? now : from + length;
}
