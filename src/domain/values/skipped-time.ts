/**
 * Time that the database's clock skipped. When the clock steps forward, the time in between may not have passed: what ages by
 * that clock must not age by it. Pure.
 */

import { LEAST_STEP } from './clock-ahead.ts';
import type { Instant, Milliseconds } from './time.ts';

/** The clock stepped from one instant to another. */
export interface Skip {
  readonly from: Instant;
  readonly until: Instant;
}

/** The oldest first; none overlaps another. */
export type SkippedTime = readonly Skip[];

/** Skips kept at most; a clock that steps more often makes the oldest of them one. */
const MOST_SKIPS = 100;

/** What is skipped after a step that ended at `now`: a step forward adds time, a step back takes the newest away again. */
export function afterStep(skipped: SkippedTime, { by, now }: { by: Milliseconds; now: Instant }): SkippedTime {
  if (by > 0) return joined([...skipped, { from: now - by, until: now }]);
  const left = [...skipped];
  for (let undone = -by; undone > 0; ) {
    const last = left.pop();
    if (last === undefined) break;
    const { from, until } = last;
    // Replicas measure a step within milliseconds of each other.
    if (until - from - undone >= LEAST_STEP) left.push({ from, until: until - undone });
    undone -= until - from;
  }
  return left;
}

/** The oldest two become one as long as both, at the end of the younger: nothing ages faster than it should. */
function joined(skipped: SkippedTime): SkippedTime {
  const [first, second, ...others] = skipped;
  if (skipped.length <= MOST_SKIPS || first === undefined || second === undefined) return skipped;
  return [{ from: second.from - (first.until - first.from), until: second.until }, ...others];
}

/** By how much the clock was set back since the skips were noted, for all that is known; 0 unless the last one ends in the future. */
export function setBackSince(skipped: SkippedTime, now: Instant): Milliseconds {
  return Math.max((skipped.at(-1)?.until ?? now) - now, 0);
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
