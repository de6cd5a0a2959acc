/** The polls that the plan makes of a purchase that stays in its state. Pure; without jitter, so it is the plan's middle. */

import type { Milliseconds } from '../values/time.ts';
import { nextPoll, plannedInterval, type StatePolicy } from './poll-plan.ts';
import { stuckMoment } from './stuck.ts';

interface Stay {
  readonly policy: StatePolicy;
  readonly giveUpAfter: Milliseconds;
}

/** The poll after the one at `at`; the last one is made at the moment of giving up. */
function pollAfter({ policy, giveUpAfter }: Stay, at: Milliseconds): Milliseconds {
  return Math.min(nextPoll(policy, { now: at, since: 0, stuckAt: stuckMoment(policy, 0, 0), spread: 0 }).at, giveUpAfter);
}

/** The wait that growth ends at. */
function longestWait(policy: StatePolicy): Milliseconds {
  return plannedInterval(policy, Number.MAX_SAFE_INTEGER);
}

/** Whether from this poll on all waits are the same. */
function isSteady(policy: StatePolicy, at: Milliseconds): boolean {
  return plannedInterval(policy, at) >= longestWait(policy) && at >= (policy.stuckAfter ?? 0);
}

/** How many polls happen up to and including a moment of the stay; the observation that began it is not one of them. */
export function pollsUntil(stay: Stay, moment: Milliseconds): number {
  const end = Math.min(moment, stay.giveUpAfter);
  let count = 0;
  let at = 0;
  // Steady waits are counted at once: a short wait over a long stay would be millions of steps.
  while (at < stay.giveUpAfter && !isSteady(stay.policy, at)) {
    at = pollAfter(stay, at);
    if (at > end) return count;
    count += 1;
  }
  const every = longestWait(stay.policy);
  const last = end === stay.giveUpAfter && (end - at) % every > 0 ? 1 : 0;
  return count + Math.max(0, Math.floor((end - at) / every)) + last;
}

/** The polls it takes to see a change that happens at this moment of the stay: up to the first one at or after it. */
export function pollsToSee(stay: Stay, moment: Milliseconds): number {
  const before = pollsUntil(stay, moment - 1);
  return moment > stay.giveUpAfter ? before : before + 1;
}

/**
 * The plan of one stay in a state that is not final: the first polls, as times since the first observation of the state; from when on
 * the waits no longer grow, and how long they are then, null when watching ends before; when a poll confirms that the purchase is
 * stuck, null where that never happens.
 */
export function forecast(stay: Stay, listed: number) {
  const { policy, giveUpAfter } = stay;
  const polls: Milliseconds[] = [];
  for (let at = 0; at < giveUpAfter && polls.length < listed; ) {
    at = pollAfter(stay, at);
    polls.push(at);
  }
  let from = 0;
  while (from < giveUpAfter && !isSteady(policy, from)) from = pollAfter(stay, from);
  return {
    polls,
    steady: from < giveUpAfter ? { from, every: longestWait(policy) } : null,
    stuckAt: policy.stuckAfter !== null && policy.stuckAfter <= giveUpAfter ? policy.stuckAfter : null,
  };
}
