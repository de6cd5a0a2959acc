/**
 * Steps of the database's clock. Set back, it leaves what was written before in the future. Set forward, it skips time that may not
 * have passed: what ages by that clock must not age by it. Pure.
 */

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

/** The clock stepped from one instant to another. */
export interface Skip {
  readonly from: Instant;
  readonly until: Instant;
}

/** The oldest first; none overlaps another. */
export type SkippedTime = readonly Skip[];

/** Skips kept at most; a clock that steps more often makes the oldest of them one. */
const MOST_SKIPS = 100;

/** The oldest two become one as long as both, at the end of the younger, while there are too many: nothing ages faster than it should. */
export function withoutOldest(skipped: SkippedTime): SkippedTime {
  const [first, second, ...others] = skipped;
  if (skipped.length <= MOST_SKIPS || first === undefined || second === undefined) return skipped;
  return withoutOldest([{ from: second.from - (first.until - first.from), until: second.until }, ...others]);
}

/** When so much time has passed since an instant. */
export function timeAfter(since: Instant, length: Milliseconds, skipped: SkippedTime): Instant {
  let at = since + length;
  for (const { from, until } of skipped) if (until > since && from < at) at += until - Math.max(from, since);
  return at;
}

/** Since when so much time has passed by now. */
export function timeBefore(now: Instant, length: Milliseconds, skipped: SkippedTime): Instant {
  let at = now - length;
  for (const { from, until } of skipped.toReversed()) if (until > at && from < now) at -= Math.min(until, now) - from;
  return at;
}
