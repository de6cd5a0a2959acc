/** Reasons for the time of a purchase's next poll. The reason is decided and recorded together with the time. */

import type { Instant } from '../values/time.ts';

/** The words that the database's type `poll_reason` has, in its order. */
export const POLL_REASONS = [
  /** The purchase was registered. */
  'first',
  /** The purchase was registered again. */
  'renewed',
  /** The plan of its state: the time spent there × growth. */
  'growth',
  /** From then on a poll confirms the purchase as stuck. */
  'stuck_moment',
  /** The last look before watching is given up. */
  'give_up',
  /** The wait after failed polls. */
  'failure',
  /** The service asked for a longer wait than that. */
  'retry_after',
  /** The final state is looked at once more. */
  'recheck',
  /** The invoice is asked for with the poll. */
  'invoice',
  /** A person or program asked for a poll. */
  'requested',
  /** The site can be read again. */
  'site_readable',
  /** The row of the purchase was repaired. */
  'repaired',
  /** From then on a poll announces that the purchase is at risk. */
  'risk_moment',
] as const;
export type PollReason = (typeof POLL_REASONS)[number];

export interface PlannedPoll {
  readonly at: Instant;
  readonly reason: PollReason;
}

/** The poll that comes first, each of which may be missing; the first one given when both come at once. */
export function earlierPoll(one: PlannedPoll | null, other: PlannedPoll | null): PlannedPoll | null {
  if (one === null || other === null) return one ?? other;
  return other.at < one.at ? other : one;
}
