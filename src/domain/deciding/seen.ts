/** The outcome of a good answer: the stay it belongs to, the events, when the next poll is due. */

import { type PurchaseDraft, stateOrNull } from '../events/make-event.ts';
import { expectedEnd, isAnnounced, isWorthAnnouncing, type RiskWindow, riskWindow } from '../polling/at-risk.ts';
import { giveUpMoment, nextPoll, nextRecheck, policyOf, type StatePolicy } from '../polling/poll-plan.ts';
import { earlierPoll, type PlannedPoll } from '../polling/poll-reason.ts';
import { stuckMoment, unaskedTime } from '../polling/stuck.ts';
import type { Details, Purchase } from '../purchases/purchase.ts';
import { isKnownState, namedState } from '../purchases/states.ts';
import { type JudgedStay, stayThatBecameStuck, stayThatEnded } from '../stays/stay.ts';
import { type Instant, isoTime, isoTimeOrNull, type Milliseconds } from '../values/time.ts';
import { decideInvoice } from './invoice.ts';
import { announce, type DecideContext, expire, type Kept, type PollOutcome, type StateTransition } from './outcome.ts';

/** The answer's content; null when the answer is the same as last time: what was recorded of it still stands. */
type Answer = { readonly details: Details; readonly detailsDigest: string } | null;

/** The stay in a state, as a good poll leaves it. */
interface CurrentStay {
  readonly state: number;
  readonly policy: StatePolicy;
  /** Whether it begins with this poll. */
  readonly moved: boolean;
  readonly since: Instant;
  readonly excused: Milliseconds;
  readonly status: Purchase['status'];
  /** When a poll would confirm it as stuck; null where that never happens. */
  readonly stuckAt: Instant | null;
  readonly stuckSince: Instant | null;
  /** Whether this poll is the one that confirms it. */
  readonly becomesStuck: boolean;
  /** When the purchase is announced as at risk; null: never, or the stay was announced. */
  readonly risk: RiskWindow | null;
}

/** Decides what follows from a good answer that shows `state`. */
export function decideSeen(before: Purchase, state: number, answer: Answer, context: DecideContext): PollOutcome {
  const { now } = context;
  const current = currentStay(before, state, context);
  const fetched = decideInvoice(before, state, context);
  const events: PurchaseDraft[] = [];
  if (before.status === 'unreadable')
    announce(events, before, now, 'purchase.readable', before.state, { state: stateOrNull(before.state) });
  const transition = current.moved ? announceMove(events, before, current, now) : null;
  if (current.becomesStuck) announceStuck(events, before, current, now);
  const atRiskSince = announceRisk(events, before, current, answer, context);
  if (fetched !== null && fetched.ready !== null)
    announce(events, before, now, 'purchase.invoice_ready', state, { invoice: fetched.ready });

  const { since, excused, status, stuckSince, moved } = current;
  const after: Purchase = {
    ...before,
    polls: before.polls + 1,
    status,
    state,
    stateSince: since,
    excused,
    stuckSince,
    atRiskSince,
    seenAt: now,
    failures: fetched?.failures ?? 0,
    unknowns: 0,
    invoice: fetched?.invoice ?? before.invoice,
    sequence: before.sequence + events.length,
    detailsDigest: digestAfter(before, answer),
  };
  const kept: Kept = {
    purchase: after,
    lastError: fetched?.lastError ?? null,
    transition,
    stay: recordedStay(before, current, context),
    details: answer?.details ?? null,
    detailsChanged: after.detailsDigest !== before.detailsDigest,
    unknownState: moved && !isKnownState(state) ? state : null,
  };
  const planned = whenNext(after, current, context);
  if (planned === 'expired') return expire(kept, events, context);
  const again = fetched?.again ?? null;
  const next = status === 'stopped' || again === null ? planned : earlierPoll(planned, { at: again, reason: 'invoice' });
  return {
    ...kept,
    kind: fetched !== null || differs(before, after) ? 'changed' : 'unchanged',
    reason: reasonOf(before, after),
    nextPollAt: next?.at ?? null,
    nextPollReason: next?.reason ?? null,
    events,
  };
}

function currentStay(before: Purchase, state: number, { askedAt, now, policy: all }: DecideContext): CurrentStay {
  const policy = policyOf(all, state);
  const moved = before.state !== state;
  const since = moved ? now : (before.stateSince ?? now);
  const excused = moved ? 0 : excusedTime(before, policy, since, askedAt);
  const stuckAt = stuckMoment(policy, since, excused);
  const status = statusAfter(before, policy, moved);
  // The settings may have given the state another meaning since the purchase became stuck.
  const wasStuckSince = moved || stuckAt === null || status === 'settled' ? null : before.stuckSince;
  // A limit is confirmed by an answer whose request left at or after it.
  const becomesStuck = wasStuckSince === null && status === 'watching' && stuckAt !== null && askedAt >= stuckAt;
  const stuckSince = becomesStuck ? now : wasStuckSince;
  const isRisky = stuckSince !== null && status === 'watching' && !isAnnounced(before);
  const risk = isRisky ? riskWindow(all, { state, since, watchedSince: before.watchedSince }) : null;
  return { state, policy, moved, since, excused, status, stuckAt, stuckSince, becomesStuck, risk };
}

/** The stay in a state with a limit that is stuck from now on, or the one that ended with this poll; null without one. */
function recordedStay(before: Purchase, current: CurrentStay, { askedAt, now, policy }: DecideContext): JudgedStay | null {
  const { state, since, excused, moved, becomesStuck } = current;
  const limit = current.policy.stuckAfter ?? 0;
  if (becomesStuck) return stayThatBecameStuck({ state, since, excused, limit }, { askedAt, now });
  return moved ? stayThatEnded(before, state, { askedAt, now, policy }) : null;
}

function announceMove(events: PurchaseDraft[], before: Purchase, { state, policy }: CurrentStay, now: Instant): StateTransition {
  const [from, to] = [stateOrNull(before.state), namedState(state)];
  const times = { notBefore: isoTimeOrNull(before.seenAt), notAfter: isoTime(now) };
  announce(events, before, now, 'purchase.state_changed', state, { from, to, ...times, final: policy.final });
  const sequence = before.sequence + events.length;
  if (before.stuckSince !== null && from !== null) {
    const stuck = { stateSince: isoTimeOrNull(before.stateSince), stuckSince: isoTime(before.stuckSince) };
    announce(events, before, now, 'purchase.recovered', before.state, { from, to, ...stuck });
  }
  return { sequence, from: before.state, to: state, notBefore: before.seenAt, notAfter: now };
}

function announceStuck(events: PurchaseDraft[], before: Purchase, { state, since }: CurrentStay, now: Instant): void {
  const data = { state: namedState(state), stateSince: isoTime(since), stuckSince: isoTime(now) };
  announce(events, before, now, 'purchase.stuck', state, data);
}

/** Announces that the purchase is at risk while there is time left and the amount is worth it; answers when that was announced last. */
function announceRisk(
  events: PurchaseDraft[],
  before: Purchase,
  { state, since, stuckSince, risk }: CurrentStay,
  answer: Answer,
  { askedAt, now, policy: { atRisk } }: DecideContext,
): Instant | null {
  const isTime = risk !== null && askedAt >= risk.at && now < risk.latestEnd;
  if (!isTime || !isWorthAnnouncing(atRisk!, answer?.details ?? null)) return before.atRiskSince;
  const times = { stateSince: isoTime(since), stuckSince: isoTime(stuckSince!), sessionEndsAt: isoTime(expectedEnd(risk, now)) };
  announce(events, before, now, 'purchase.at_risk', state, { state: namedState(state), ...times });
  return now;
}

/** How much of the stay in this state does not count, because no poll could be made. */
function excusedTime(before: Purchase, policy: StatePolicy, since: Instant, askedAt: Instant): Milliseconds {
  if (before.seenAt === null) return 0;
  return before.excused + unaskedTime(policy, { since, seenAt: before.seenAt, now: askedAt });
}

/** The text from before where both are equal: memory keeps it for long, and need not keep two. */
function digestAfter({ detailsDigest }: Purchase, answer: Answer): string | null {
  return answer === null || answer.detailsDigest === detailsDigest ? detailsDigest : answer.detailsDigest;
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

function statusAfter(before: Purchase, policy: StatePolicy, moved: boolean): Purchase['status'] {
  if (before.status === 'stopped') return 'stopped';
  if (policy.final) return 'settled';
  // Asked for by hand after it expired: a look alone does not renew the watch, a sign of life does.
  return before.status === 'expired' && !moved ? 'expired' : 'watching';
}

function whenNext(
  after: Purchase,
  { policy, stuckAt: limit, stuckSince, risk }: CurrentStay,
  { askedAt, now, spread, skipped, policy: all }: DecideContext,
): PlannedPoll | null | 'expired' {
  const since = after.stateSince ?? now;
  const stuckAt = stuckSince === null ? limit : null;
  if (after.status === 'stopped' || after.status === 'expired') return null;
  if (after.status === 'settled') return nextRecheck(policy, { now, since, skipped });
  const giveUpAt = giveUpMoment(after, all, skipped);
  if (now >= giveUpAt) return 'expired';
  // The limit passed while the answer was on its way: only a poll that begins after it may confirm it.
  if (stuckAt !== null && stuckAt <= now) return { at: now, reason: 'stuck_moment' };
  const planned = earlierPoll({ at: giveUpAt, reason: 'give_up' }, nextPoll(policy, { now, since, stuckAt, spread }));
  // Likewise when the session is about to end.
  const isAhead = risk !== null && askedAt < risk.at;
  return isAhead ? earlierPoll({ at: Math.max(risk.at, now), reason: 'risk_moment' }, planned) : planned;
}
