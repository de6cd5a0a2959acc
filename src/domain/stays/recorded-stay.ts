/**
 * The outcome of a recorded stay, had other limits held: when it would have been stuck, and how it would have counted.
 * Pure.
 */

import type { StatePolicy } from '../polling/poll-plan.ts';
import { unaskedTime } from '../polling/stuck.ts';
import type { Instant, Milliseconds } from '../values/time.ts';
import { exitOutcome, type SiteStay } from './stay.ts';

/** A stay between two transitions. */
export interface RecordedStay {
  readonly site: string;
  readonly state: number;
  /** The same for all purchases of one order. */
  readonly customer: string;
  /** The first observation of the state. */
  readonly enteredAt: Instant;
  /** The last observation of the state. */
  readonly seenAt: Instant;
  /** The first observation of the state after it; null: it has not been left. */
  readonly leftAt: Instant | null;
  readonly toState: number | null;
  /** When it was watched no longer, without having been left. */
  readonly unwatchedAt: Instant | null;
  /** When its order was paid by another purchase, as far as is known: looked up only for long stays. */
  readonly paidAt: Instant | null;
  /** The purchase's first poll found it in the state, and it came with the first load of its site. */
  readonly firstSight: boolean;
  /** When the purchase was registered; this and the fields that follow only of long stays, and where they were asked for. */
  readonly registeredAt?: Instant | null;
  /** The stored Price and CurrencyCode. */
  readonly amount?: number | null;
  readonly currency?: string | null;
  /** How the purchase ended; null: it has not, or its order was paid by another purchase. */
  readonly end?: 'paid' | 'lost' | null;
}

/** A time in which a site could not be asked. */
export interface RecordedOutage {
  readonly site: string;
  /** Of the incident: whether the site gave no answer, or no daemon named it. */
  readonly severity: number;
  readonly since: Instant;
  readonly noticedAt: Instant;
  /** Null: it still cannot. */
  readonly until: Instant | null;
}

/** A stay as it would have gone. */
export interface RehearsedStay {
  readonly recorded: RecordedStay;
  readonly limit: Milliseconds;
  /** When a poll would have confirmed that it is stuck; null: never. */
  readonly stuckAt: Instant | null;
  /** How long it lasted at least and at most, without time in which no poll could be made. */
  readonly shortest: Milliseconds;
  readonly longest: Milliseconds;
}

/** Time of the outages that lies between two moments. The outages are of one site, in order. */
function outOfReach(outages: readonly RecordedOutage[], from: Instant, to: Instant): Milliseconds {
  let [sum, counted] = [0, from];
  for (const { since, until } of outages) {
    const begin = Math.max(since, counted);
    const end = Math.min(until ?? to, to);
    if (end <= begin) continue;
    sum += end - begin;
    counted = end;
  }
  return sum;
}

/** The moment at which a customer who came at `from` has been there for `length`, outages not counted. */
function whenReached(outages: readonly RecordedOutage[], from: Instant, length: Milliseconds): Instant {
  let at = from + length;
  let counted = from;
  for (const { since, until } of outages) {
    const begin = Math.max(since, counted);
    if (begin >= at) break;
    const end = until ?? Number.POSITIVE_INFINITY;
    if (end <= begin) continue;
    at += end - begin;
    counted = end;
  }
  return at;
}

/**
 * Goes through a stay again. Between the last poll in the state and the first one after it it is not known when it was left;
 * half-way is assumed. With the limits that held then this gives what was flagged then, for a poll was made at the limit.
 */
export function rehearseStay(
  recorded: RecordedStay,
  { limit, policy, outages }: { limit: Milliseconds; policy: StatePolicy; outages: readonly RecordedOutage[] },
): RehearsedStay {
  const { enteredAt, seenAt, leftAt } = recorded;
  const shortest = Math.max(seenAt - enteredAt - outOfReach(outages, enteredAt, seenAt), 0);
  const stuckAt = whenReached(outages, enteredAt, limit);
  const reaches = (length: Milliseconds): Instant | null => (length >= limit && Number.isFinite(stuckAt) ? stuckAt : null);
  // Still there when it was seen last: that much is certain, and no more.
  if (leftAt === null) return { recorded, limit, shortest, longest: shortest, stuckAt: reaches(shortest) };
  const planned = unaskedTime(policy, { since: enteredAt, seenAt, now: leftAt });
  const unasked = Math.max(planned, outOfReach(outages, seenAt, leftAt));
  const longest = Math.max(shortest + leftAt - seenAt - unasked, shortest);
  return { recorded, limit, shortest, longest, stuckAt: reaches((shortest + longest) / 2) };
}

/** A stay as it counts when it becomes stuck. */
export function asStuck({ recorded, limit, stuckAt }: RehearsedStay): SiteStay {
  const { site, state, customer, enteredAt, firstSight } = recorded;
  const at = stuckAt ?? enteredAt + limit;
  const is = { toState: null, outcome: 'overdue', shortest: limit, longest: limit, foundLate: false } as const;
  return { site, state, customer, firstSight, enteredAt, at, ...is };
}

/** A stay as it counts when it is left; null when it is not. */
export function asLeft({ recorded, stuckAt, shortest, longest }: RehearsedStay): SiteStay | null {
  const { site, state, customer, enteredAt, firstSight, leftAt, toState } = recorded;
  if (leftAt === null || toState === null) return null;
  const outcome = exitOutcome(toState, stuckAt !== null);
  return { site, state, customer, firstSight, enteredAt, at: leftAt, toState, outcome, shortest, longest, foundLate: false };
}
