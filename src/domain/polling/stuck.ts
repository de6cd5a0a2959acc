/** Whether a purchase is stuck, and from when on. Pure; the caller brings the time. */

import type { Instant, Milliseconds } from '../values/time.ts';
import { JITTER, plannedInterval, type StatePolicy } from './poll-plan.ts';

/** A poll may be this late before the lateness counts as time in which no poll could be made. */
const GRACE: Milliseconds = 5_000;

/** The moment from which a poll confirms the purchase as stuck, or null when this state has no limit. */
export function stuckMoment(policy: StatePolicy, since: Instant, excused: Milliseconds): Instant | null {
  return policy.stuckAfter === null ? null : since + policy.stuckAfter + excused;
}

/**
 * How much of the gap between two good polls was time in which the purchase could not be asked: an outage of the site,
 * of this daemon, or a backlog. The plan says how long the gap should have been; what is longer is excused.
 */
export function unaskedTime(
  policy: StatePolicy,
  { since, seenAt, now }: { since: Instant; seenAt: Instant; now: Instant },
): Milliseconds {
  const planned = plannedInterval(policy, seenAt - since) * (1 + JITTER) + GRACE;
  return Math.max(0, Math.round(now - seenAt - planned));
}
