/**
 * Outcomes of stays in states that have a limit. From these, and nothing else, it is known what is usual in a state and
 * whether a page is broken. Pure.
 */

import { type PollPolicy, policyOf } from '../polling/poll-plan.ts';
import { unaskedTime } from '../polling/stuck.ts';
import type { Purchase } from '../purchases/purchase.ts';
import { checkoutEnd } from '../purchases/states.ts';
import type { Instant, Milliseconds } from '../values/time.ts';

/**
 * `well`: the customer got on, in time. `other`: left in time, by time-out, cancel or error. `overdue`: still there, at the
 * limit. `late`: left at last, after it had been stuck.
 */
export type StayOutcome = 'well' | 'other' | 'overdue' | 'late';

export interface JudgedStay {
  readonly state: number;
  /** Null while it is still there. */
  readonly toState: number | null;
  readonly outcome: StayOutcome;
  /** The first observation of the state: where the clock of the limit began. */
  readonly enteredAt: Instant;
  readonly at: Instant;
  /** How long it lasted, as far as polls show: up to the last one in the state, and up to the first one after it. */
  readonly shortest: Milliseconds;
  readonly longest: Milliseconds;
  /** The stay was stuck for long when a poll found it so, as when a limit was set or shortened: nothing is concluded from it. */
  readonly foundLate: boolean;
}

/** One state of one site, as a key. */
export function placeKey({ site, state }: { readonly site: string; readonly state: number }): string {
  return `${site} ${state}`;
}

/** A poll is made at the limit: later than this part of it, and than a minute, is another reason. */
const FOUND_LATE_SHARE = 0.2;
const FOUND_LATE: Milliseconds = 60_000;

/** Whether leaving for this state shows that the customer got on: an end called `lost` says nothing about whether the page works. */
export function isGoodExit(toState: number): boolean {
  return checkoutEnd(toState) !== 'lost';
}

/** The outcome of a stay that was left for a state; `isLate`: after it had been stuck. */
export function exitOutcome(toState: number, isLate: boolean): 'well' | 'other' | 'late' {
  if (isLate) return 'late';
  return isGoodExit(toState) ? 'well' : 'other';
}

/** The end of a stay, or null where the state has no limit or was not seen before. `policy` is that of the site. */
export function stayThatEnded(
  before: Purchase,
  toState: number,
  { askedAt, now, policy }: { askedAt: Instant; now: Instant; policy: PollPolicy },
): JudgedStay | null {
  const { state, stateSince: enteredAt, seenAt, excused, stuckSince } = before;
  if (state === null || enteredAt === null || seenAt === null) return null;
  const ofState = policyOf(policy, state);
  if (ofState.stuckAfter === null) return null;
  const unasked = unaskedTime(ofState, { since: enteredAt, seenAt, now: askedAt });
  const shortest = Math.max(seenAt - enteredAt - excused, 0);
  const longest = Math.max(now - enteredAt - excused - unasked, shortest);
  // One that was stuck, and is not called so any more since its watch ended, is no good exit either.
  const isLate = stuckSince !== null || shortest >= ofState.stuckAfter;
  const outcome = exitOutcome(toState, isLate);
  return { state, toState, outcome, enteredAt, at: now, shortest, longest, foundLate: false };
}

export function stayThatBecameStuck(
  { state, since, excused, limit }: { state: number; since: Instant; excused: Milliseconds; limit: Milliseconds },
  { askedAt, now }: { askedAt: Instant; now: Instant },
): JudgedStay {
  const shortest = Math.max(askedAt - since - excused, 0);
  const longest = Math.max(now - since - excused, shortest);
  const foundLate = shortest - limit > Math.max(limit * FOUND_LATE_SHARE, FOUND_LATE);
  return { state, toState: null, outcome: 'overdue', enteredAt: since, at: now, shortest, longest, foundLate };
}

/** A stay with where it was and whose. */
export interface SiteStay extends JudgedStay {
  readonly site: string;
  /** The same for all purchases of one order. */
  readonly customer: string;
  /** The purchase's first poll found it in the state, and it came with the first load of its site: the stay proves nothing. */
  readonly firstSight: boolean;
}
