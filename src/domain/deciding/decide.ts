/**
 * One observation in, everything that must follow out. No I/O, no clock, no randomness: the poller brings the time and
 * the jitter, the recorder writes what this returns.
 */

import { type EventDraft, purchaseHead, stateOrNull } from '../events/events.ts';
import {
  failureBackoff,
  giveUpMoment,
  nextPoll,
  nextRecheck,
  type PollPolicy,
  policyOf,
  postponement,
  STRIKES_UNTIL_OWN_TROUBLE,
  withJitter,
} from '../polling/poll-plan.ts';
import { stuckMoment, unaskedTime } from '../polling/stuck.ts';
import { blame, type Details, type Observation, type Purchase, type Trouble } from '../purchases/purchase.ts';
import { isKnownState, type StatePolicy } from '../purchases/states.ts';
import { type Stay, stayThatBecameOverdue, stayThatEnded } from '../stays/stay.ts';
import type { JsonValue } from '../values/exact-json.ts';
import type { SkippedTime } from '../values/skipped-time.ts';
import { type Instant, isoTime, isoTimeOrNull, type Milliseconds } from '../values/time.ts';
import { decideInvoice, type InvoiceSeen, MOST_INVOICE_FAILURES } from './invoice.ts';

/** A change between two observations: the state moved after `notBefore` (null at first) and no later than `notAfter`. */
export interface Transition {
  readonly sequence: number;
  readonly from: number | null;
  readonly to: number;
  readonly notBefore: Instant | null;
  readonly notAfter: Instant;
}

export interface PollOutcome {
  /**
   * `postponed`: the site's trouble, nothing is recorded and the purchase stays due. The others are recorded:
   * `unchanged` only moves times and counters, `failed` is the purchase's own trouble, `changed` brings events.
   */
  readonly kind: 'postponed' | 'unchanged' | 'failed' | 'changed';
  /** For logs and `why`: a stable word. */
  readonly reason: string;
  /** The purchase as it is from now on. */
  readonly purchase: Purchase;
  readonly nextPollAt: Instant | null;
  readonly lastError: string | null;
  readonly transition: Transition | null;
  /** What became of a stay in a state with a limit: it ended, or is overdue from now on. */
  readonly stay: Stay | null;
  /** Without what the merchant attached and the stored fields: `completedEvents` adds them when they are written. */
  readonly events: readonly EventDraft[];
  /** The fields of the answer that `store.fields` names; null when the poll brought none, and the stored ones hold. */
  readonly details: Details | null;
  /** Whether the stored fields differ from those recorded last. */
  readonly detailsChanged: boolean;
  /** A number the specification does not list, seen in this purchase's answer. */
  readonly unknownState: number | null;
}

export interface DecideContext {
  /** When the request left; the state held at some moment between this and `now`. */
  readonly askedAt: Instant;
  /** When the answer was complete. */
  readonly now: Instant;
  readonly policy: PollPolicy;
  /** Time that the clock skipped: no watch expires by it. */
  readonly skipped?: SkippedTime;
  /** Jitter in [-1, 1]. */
  readonly spread: number;
  /** Failed polls of this purchase in a row that looked like the site's trouble, this one included. */
  readonly strikes: number;
  /** Whether no purchase of the site can be read: then no failure is this purchase's own. */
  readonly excused?: boolean;
  /** Whether the site asks for the invoice of what completes. */
  readonly invoices?: boolean;
  /** What asking for the invoice showed, when this poll did that too. */
  readonly invoice?: InvoiceSeen | null;
}

/** Decides what follows from a poll. */
export function decide(purchase: Purchase, seen: Observation, context: DecideContext): PollOutcome {
  if (seen.kind === 'seen') return decideSeen(purchase, seen.state, seen, context);
  // Only a caller that has seen the purchase before knows a digest, so there is a state.
  if (seen.kind === 'same') return decideSeen(purchase, purchase.state ?? 0, null, context);
  const isOwn = blame(seen) === 'purchase' || context.strikes >= STRIKES_UNTIL_OWN_TROUBLE;
  return isOwn && context.excused !== true ? decideOwnTrouble(purchase, seen, context) : postpone(purchase, seen, context);
}

/** `seen` is null when the answer is the same as last time: what was recorded of it still stands. */
function decideSeen(
  before: Purchase,
  state: number,
  seen: { readonly details: Details; readonly detailsDigest: string } | null,
  context: DecideContext,
): PollOutcome {
  const { askedAt, now, policy } = context;
  const statePolicy = policyOf(policy, state);
  const moved = before.state !== state;
  const events: EventDraft[] = [];
  if (before.status === 'unreadable')
    announce(events, before, now, 'purchase.readable', before.state, { state: stateOrNull(before.state) });
  const transition = moved ? announceMove(events, before, state, statePolicy, now) : null;
  let stay = moved ? stayThatEnded(before, state, { askedAt, now, policy }) : null;

  const since = moved ? now : (before.stateSince ?? now);
  const excused = moved ? 0 : excusedTime(before, statePolicy, since, askedAt);
  const stuckAt = stuckMoment(statePolicy, since, excused);
  const status = statusAfter(before, statePolicy, moved);
  let stuckSince = moved || !canBeStuck(stuckAt, status) ? null : before.stuckSince;
  if (stuckSince === null && status === 'watching' && isConfirmed(stuckAt, askedAt)) {
    stuckSince = now;
    stay = stayThatBecameOverdue({ state, since, excused, limit: statePolicy.stuckAfter ?? 0, askedAt, now });
    const data = { state: stateOrNull(state), stateSince: isoTime(since), stuckSince: isoTime(now) };
    announce(events, before, now, 'purchase.stuck', state, data);
  }

  const fetched = decideInvoice(before, state, context);
  if (fetched !== null && fetched.ready !== null)
    announce(events, before, now, 'purchase.invoice_ready', state, { invoice: fetched.ready });

  const after: Purchase = {
    ...before,
    polls: before.polls + 1,
    status,
    state,
    stateSince: since,
    excused,
    stuckSince,
    seenAt: now,
    failures: fetched?.failures ?? 0,
    unknowns: 0,
    invoice: fetched?.invoice ?? before.invoice,
    sequence: before.sequence + events.length,
    detailsDigest: seen?.detailsDigest ?? before.detailsDigest,
  };
  const kept = {
    purchase: after,
    lastError: fetched?.lastError ?? null,
    transition,
    stay,
    details: seen?.details ?? null,
    detailsChanged: after.detailsDigest !== before.detailsDigest,
    unknownState: moved ? unlisted(state) : null,
  };
  const planned = whenNext(after, statePolicy, stuckSince === null ? stuckAt : null, context);
  if (planned === 'expired') return expire(kept, events, context);
  return {
    ...kept,
    kind: fetched !== null || differs(before, after) ? 'changed' : 'unchanged',
    reason: reasonOf(before, after),
    nextPollAt: status === 'stopped' ? planned : earlierOf(planned, fetched?.again ?? null),
    events,
  };
}

/** Adds the next event of a purchase; those of one poll are numbered on from the last one. */
function announce(
  events: EventDraft[],
  before: Purchase,
  at: Instant,
  type: EventDraft['type'],
  state: number | null,
  data: Record<string, JsonValue>,
): void {
  const sequence = before.sequence + events.length + 1;
  events.push({ type, sequence, at, state, data: { ...purchaseHead(before, sequence), ...data } });
}

function announceMove(events: EventDraft[], before: Purchase, state: number, { final }: StatePolicy, now: Instant): Transition {
  const states = { from: stateOrNull(before.state), to: stateOrNull(state) };
  const times = { notBefore: isoTimeOrNull(before.seenAt), notAfter: isoTime(now) };
  announce(events, before, now, 'purchase.state_changed', state, { ...states, ...times, final });
  const sequence = before.sequence + events.length;
  if (before.stuckSince !== null) {
    const stuck = { stateSince: isoTimeOrNull(before.stateSince), stuckSince: isoTime(before.stuckSince) };
    announce(events, before, now, 'purchase.recovered', before.state, { ...states, ...stuck });
  }
  return { sequence, from: before.state, to: state, notBefore: before.seenAt, notAfter: now };
}

/** How much of the stay in this state does not count, for nobody could ask. */
function excusedTime(before: Purchase, policy: StatePolicy, since: Instant, askedAt: Instant): Milliseconds {
  if (before.seenAt === null) return 0;
  return before.excused + unaskedTime(policy, { since, seenAt: before.seenAt, now: askedAt });
}

/** The settings may have given the state another meaning since the purchase became stuck. */
function canBeStuck(stuckAt: Instant | null, status: Purchase['status']): boolean {
  return stuckAt !== null && status !== 'settled';
}

/** A limit is confirmed by an answer whose request left at or after it. */
function isConfirmed(stuckAt: Instant | null, askedAt: Instant): boolean {
  return stuckAt !== null && askedAt >= stuckAt;
}

function unlisted(state: number): number | null {
  return isKnownState(state) ? null : state;
}

/** Whether more than times and counters is another. */
function differs(before: Purchase, after: Purchase): boolean {
  if (after.sequence !== before.sequence || after.detailsDigest !== before.detailsDigest) return true;
  return after.status !== before.status || after.stuckSince !== before.stuckSince;
}

function reasonOf(before: Purchase, after: Purchase): string {
  if (before.state !== after.state) return before.state === null ? 'first' : 'moved';
  return after.stuckSince !== before.stuckSince ? 'stuck' : 'same';
}

/** The earlier of two moments, each of which may be missing. */
function earlierOf(one: Instant | null, other: Instant | null): Instant | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

function statusAfter(before: Purchase, policy: StatePolicy, moved: boolean): Purchase['status'] {
  if (before.status === 'stopped') return 'stopped';
  if (policy.final) return 'settled';
  // Asked for by hand after it expired: a look alone does not renew the watch, a sign of life does.
  return before.status === 'expired' && !moved ? 'expired' : 'watching';
}

function whenNext(
  after: Purchase,
  policy: StatePolicy,
  stuckAt: Instant | null,
  { now, spread, skipped, policy: all }: DecideContext,
): Instant | null | 'expired' {
  const since = after.stateSince ?? now;
  if (after.status === 'stopped' || after.status === 'expired') return null;
  if (after.status === 'settled') return nextRecheck(policy, { now, since, skipped });
  const giveUpAt = giveUpMoment(after, all, skipped);
  if (now >= giveUpAt) return 'expired';
  // The limit passed while the answer was on its way: only a poll that begins after it may confirm it.
  if (stuckAt !== null && stuckAt <= now) return now;
  return Math.min(nextPoll(policy, { now, since, stuckAt, spread }), giveUpAt);
}

/** What a poll without a good answer leaves as it was. */
const NOTHING_SEEN = { transition: null, stay: null, details: null, detailsChanged: false, unknownState: null } as const;

type Kept = Pick<PollOutcome, 'purchase' | 'lastError' | 'transition' | 'stay' | 'details' | 'detailsChanged' | 'unknownState'>;

function expire(kept: Kept, events: readonly EventDraft[], { now }: DecideContext): PollOutcome {
  const sequence = kept.purchase.sequence + 1;
  const purchase: Purchase = { ...kept.purchase, status: 'expired', stuckSince: null, sequence };
  const data = {
    ...purchaseHead(purchase, sequence),
    state: stateOrNull(purchase.state),
    stateSince: isoTimeOrNull(purchase.stateSince),
    watchedSince: isoTime(purchase.watchedSince),
  };
  return {
    ...kept,
    kind: 'changed',
    reason: 'expired',
    purchase,
    nextPollAt: null,
    events: [...events, { type: 'purchase.expired', sequence, at: now, state: purchase.state, data }],
  };
}

function decideOwnTrouble(before: Purchase, trouble: Trouble & { kind: string }, context: DecideContext): PollOutcome {
  const { now, policy, spread } = context;
  const unknown = trouble.kind === 'unknown';
  const failures = before.failures + 1;
  const unknowns = unknown ? before.unknowns + 1 : before.unknowns;
  const events: EventDraft[] = [];
  let { status, sequence } = before;
  if (unknown && status === 'watching' && unknowns >= policy.unreadableAfter) {
    status = 'unreadable';
    sequence += 1;
    events.push({
      type: 'purchase.unreadable',
      sequence,
      at: now,
      state: before.state,
      data: {
        ...purchaseHead(before, sequence),
        state: stateOrNull(before.state),
        tries: unknowns,
        reason: trouble.reason,
      },
    });
  }
  // Without a good status nobody asks for the invoice; that must not keep a settled purchase due for good.
  const wanted = before.invoice === 'wanted' && failures < MOST_INVOICE_FAILURES;
  const invoice = before.invoice === 'wanted' && !wanted ? 'none' : before.invoice;
  const purchase: Purchase = { ...before, polls: before.polls + 1, status, failures, unknowns, invoice, sequence };
  const kept = { ...NOTHING_SEEN, purchase, lastError: trouble.detail };
  const polled = status === 'watching' || status === 'unreadable';
  const giveUpAt = giveUpMoment(purchase, policy, context.skipped);
  if (polled && now >= giveUpAt) return expire(kept, events, context);

  const statePolicy = policyOf(policy, before.state ?? 0);
  const again = Math.max(now + failureBackoff(statePolicy, failures, spread), now + (trouble.retryAfter ?? 0));
  const asksForInvoice = wanted && status !== 'stopped';
  const rechecked = status === 'settled' ? afterFailedRecheck(purchase, statePolicy, { unknown, again, ...context }) : null;
  const nextPollAt = polled ? Math.min(again, giveUpAt) : asksForInvoice ? again : rechecked;
  const changed = events.length > 0 || invoice !== before.invoice;
  return { ...kept, kind: changed ? 'changed' : 'failed', reason: trouble.reason, nextPollAt, events };
}

/** So many failures in a row of a recheck: about two hours with the usual plan. */
const MOST_RECHECK_FAILURES = 8;

/**
 * When to poll a settled purchase after a recheck that failed. A service that does not know the purchase has forgotten it, so
 * only the planned rechecks follow. Any other failure is tried again, but not for ever: retention waits for the last recheck.
 */
function afterFailedRecheck(
  { stateSince, failures }: Purchase,
  policy: StatePolicy,
  { unknown, again, now, skipped }: { unknown: boolean; again: Instant } & Pick<DecideContext, 'now' | 'skipped'>,
): Instant | null {
  const planned = nextRecheck(policy, { now, since: stateSince ?? now, skipped });
  const isTriedAgain = policy.recheck.length > 0 && !unknown && failures < MOST_RECHECK_FAILURES;
  return isTriedAgain ? earlierOf(planned, again) : planned;
}

function postpone(before: Purchase, trouble: Trouble, { now, spread, strikes }: DecideContext): PollOutcome {
  return {
    kind: 'postponed',
    reason: trouble.reason,
    purchase: before,
    nextPollAt: now + withJitter(postponement(strikes), spread),
    lastError: trouble.detail,
    events: [],
    ...NOTHING_SEEN,
  };
}
