/**
 * One observation in, everything that must follow out. No I/O, no clock, no randomness: the poller brings the time and
 * the jitter, the recorder writes what this returns.
 */

import { STRIKES_UNTIL_OWN_TROUBLE } from '../polling/poll-plan.ts';
import { blame, type Observation, type Purchase } from '../purchases/purchase.ts';
import { decideOwnTrouble, postpone } from './failed.ts';
import type { DecideContext, PollOutcome } from './outcome.ts';
import { decideSeen } from './seen.ts';

/** Decides what follows from a poll. */
export function decide(purchase: Purchase, seen: Observation, context: DecideContext): PollOutcome {
  if (seen.kind === 'seen') return decideSeen(purchase, seen.state, seen, context);
  // Only a caller that has seen the purchase before knows a digest, so there is a state.
  if (seen.kind === 'same') return decideSeen(purchase, purchase.state ?? 0, null, context);
  const isOwn = blame(seen) === 'purchase' || context.strikes >= STRIKES_UNTIL_OWN_TROUBLE;
  return isOwn && context.excused !== true ? decideOwnTrouble(purchase, seen, context) : postpone(purchase, seen, context);
}
