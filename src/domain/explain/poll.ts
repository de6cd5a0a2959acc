/** Why a purchase is polled next when it is: the plan, read backwards from the row. */

import { failureBackoff, giveUpMoment, JITTER, type PollPolicy, plannedInterval, policyOf } from '../polling/poll-plan.ts';
import { stuckMoment, unaskedTime } from '../polling/stuck.ts';
import { type StatePolicy, stateName } from '../purchases/states.ts';
import { humanDuration } from '../values/duration.ts';
import { type SkippedTime, timeAfter } from '../values/skipped-time.ts';
import type { Instant, Milliseconds } from '../values/time.ts';
import type { Facts, PurchaseFacts } from './facts.ts';

/** What made the next poll be when it is. */
export type PollReason =
  | 'never'
  | 'first'
  | 'renewed'
  | 'growth'
  | 'stuck_moment'
  | 'give_up'
  | 'failure'
  | 'recheck'
  | 'invoice'
  | 'requested'
  | 'other_settings';

/** Polls that are late by less than this are merely on their way. */
const LATE: Milliseconds = 5_000;
/** Times are kept in microseconds and planned in milliseconds. */
const ROUNDING: Milliseconds = 2;

const near = (a: Instant, b: Instant): boolean => Math.abs(a - b) <= ROUNDING;
const withinJitter = (interval: Milliseconds, planned: Milliseconds): boolean =>
  interval >= planned * (1 - JITTER) - ROUNDING && interval <= planned * (1 + JITTER) + ROUNDING;

/** What the plan is read from. */
type PollFacts = Pick<Facts, 'purchase' | 'now' | 'skipped'>;

/** Why the next poll is when it is, as a stable word and in words. */
export function whyThen(facts: PollFacts, policy: PollPolicy): { reason: PollReason; text: string } {
  const { purchase } = facts;
  const planned = byPlan(facts, policy);
  const isPlan = planned.reason !== 'requested' && planned.reason !== 'other_settings' && purchase.failures === 0;
  if (purchase.invoice !== 'wanted' || isPlan || purchase.nextPollAt === null) return planned;
  const tries = purchase.failures === 0 ? '' : `, after ${failuresText(purchase.failures)}`;
  return { reason: 'invoice', text: `its invoice details are asked for with it${tries}` };
}

function byPlan({ purchase, now, skipped }: PollFacts, policy: PollPolicy): { reason: PollReason; text: string } {
  const { status, nextPollAt: at, lastPolledAt, failures } = purchase;
  const statePolicy = policyOf(policy, purchase.state ?? 0);
  if (at === null) return { reason: 'never', text: whyNever(purchase, statePolicy) };
  if (status === 'stopped' || status === 'expired') return requested('although watching has ended');
  if (lastPolledAt === null)
    return { reason: 'first', text: 'the first one: a purchase is asked for as soon as it is registered' };
  if (near(at, purchase.watchedSince) && at > lastPolledAt)
    return { reason: 'renewed', text: 'at once, because it was registered again' };
  if (near(at, giveUpMoment(purchase, policy, skipped)) && status !== 'settled')
    return { reason: 'give_up', text: 'the last look before watching is given up' };
  const recheck = status === 'settled' ? recheckAt(purchase, statePolicy, { at, skipped }) : null;
  if (recheck !== null) return recheck;
  if (failures > 0) return afterFailures(purchase, statePolicy, { at, lastPolledAt, now });
  return status === 'settled' ? unplanned(at, now) : afterGoodPoll(purchase, statePolicy, { at, lastPolledAt, now });
}

function whyNever({ status, state }: PurchaseFacts, policy: StatePolicy): string {
  if (status === 'stopped') return 'not polled any more: watching was stopped';
  if (status === 'expired') return 'not polled any more: watching was given up';
  const name = state === null ? 'its state' : stateName(state);
  return policy.recheck.length === 0
    ? `not polled any more: ${name} is final`
    : `not polled any more: ${name} is final, and the last recheck has been made`;
}

function requested(more = ''): { reason: PollReason; text: string } {
  return { reason: 'requested', text: `somebody asked for it by hand${more === '' ? '' : `, ${more}`}` };
}

/** A time that the plan does not give. By hand means now, so what lies ahead was planned under other settings. */
function unplanned(at: Instant, now: Instant): { reason: PollReason; text: string } {
  if (at <= now) return requested();
  return {
    reason: 'other_settings',
    text: 'planned under other settings than these, or before its limit was learned again; the poll after it follows these',
  };
}

const failuresText = (count: number): string => (count === 1 ? 'one failed poll' : `${count} failed polls in a row`);

/** Whether the last poll got a good answer; failures beside it are of asking for the invoice. */
export function answeredWell({ failures, seenAt, lastPolledAt }: PurchaseFacts): boolean {
  return failures === 0 || (seenAt !== null && lastPolledAt !== null && near(seenAt, lastPolledAt));
}

function afterFailures(
  { failures }: PurchaseFacts,
  policy: StatePolicy,
  { at, lastPolledAt, now }: { at: Instant; lastPolledAt: Instant; now: Instant },
): { reason: PollReason; text: string } {
  const planned = failureBackoff(policy, failures, 0);
  const interval = at - lastPolledAt;
  if (interval < planned * (1 - JITTER) - ROUNDING) return unplanned(at, now);
  const asked = withinJitter(interval, planned) ? '' : '; the service itself asked for more time than that';
  const text = `after ${failuresText(failures)} the wait is ${humanDuration(planned)}, and doubles with each${asked}`;
  return { reason: 'failure', text };
}

function recheckAt(
  { stateSince, state }: PurchaseFacts,
  policy: StatePolicy,
  { at, skipped }: { at: Instant; skipped: SkippedTime },
): { reason: PollReason; text: string } | null {
  const index = policy.recheck.findIndex((after) => near(at, timeAfter(stateSince ?? 0, after, skipped)));
  if (index < 0) return null;
  const which = policy.recheck.length === 1 ? 'the recheck' : `recheck ${index + 1} of ${policy.recheck.length}`;
  const text = `${which}: ${stateName(state ?? 0)} is final, and looked at once more ${humanDuration(policy.recheck[index]!)} later`;
  return { reason: 'recheck', text };
}

function afterGoodPoll(
  { stateSince, stuckSince, excused, state }: PurchaseFacts,
  policy: StatePolicy,
  { at, lastPolledAt, now }: { at: Instant; lastPolledAt: Instant; now: Instant },
): { reason: PollReason; text: string } {
  const since = stateSince ?? lastPolledAt;
  const stuckAt = stuckSince === null ? stuckMoment(policy, since, excused) : null;
  const name = stateName(state ?? 0);
  if (stuckAt !== null && (near(at, stuckAt) || (stuckAt <= lastPolledAt && near(at, lastPolledAt)))) {
    return { reason: 'stuck_moment', text: `the moment from which a poll in ${name} confirms it as stuck` };
  }
  const spent = Math.max(0, lastPolledAt - since);
  const planned = plannedInterval(policy, spent);
  if (!withinJitter(at - lastPolledAt, planned)) return unplanned(at, now);
  const { first, most, growth } = policy.poll;
  const share = `${Number((growth * 100).toFixed(2))} % of the time spent in ${name}`;
  const text =
    planned === first
      ? `the shortest wait in ${name}, ${humanDuration(first)}, give or take 10 %`
      : planned === most
        ? `the longest wait in ${name}, ${humanDuration(most)}, give or take 10 %`
        : `${share} (${humanDuration(spent)} then), give or take 10 %`;
  return { reason: 'growth', text };
}

/** For how long the next poll is late, or null while it is not, or only on its way. */
export function lateness({ purchase, now }: Facts): Milliseconds | null {
  const late = purchase.nextPollAt === null ? 0 : now - purchase.nextPollAt;
  return late > LATE ? late : null;
}

/** Why a poll that is late has not been made. */
export function whyLate({ site, owner, purchase }: Facts): string {
  if (!site.configured) return `site ${purchase.site} is not in the configuration any more`;
  if (owner.daemons === 0)
    return owner.silence.takesWrites ? 'no daemon is running on this database' : 'the database takes no writes';
  if (site.failingSince !== null) return `site ${purchase.site} does not answer`;
  if (owner.leaseUntil === null) return 'its shard has no owner at this moment; a running daemon takes it over within seconds';
  if (owner.othersDue > 0) {
    return `it waits for its turn: ${owner.othersDue >= MOST_OTHERS ? 'a hundred or' : owner.othersDue} more of its shard are due, and the site's ceiling (maxRps) spaces calls`;
  }
  // Those of other shards share the site's ceiling, and what was postponed is noted nowhere.
  return "it waits for its turn among the site's calls (maxRps), its last tries got no usable answer, or it is on its way (the daemon's log says more with LOG_LEVEL=debug)";
}

/** So many others that are due are counted. */
export const MOST_OTHERS = 100;

/** What of a purchase its stuck clock goes by. */
type Stay = Pick<PurchaseFacts, 'state' | 'stateSince' | 'seenAt' | 'stuckSince' | 'excused'>;

export interface StuckClock {
  readonly limit: Milliseconds;
  /** Time of the stay that counts. */
  readonly counted: Milliseconds;
  /** Time in which no poll could be made. */
  readonly excused: Milliseconds;
  /** From when on a poll confirms it as stuck. */
  readonly stuckAt: Instant;
}

/** How far the stuck clock has run; null where this state has no limit, or none was seen yet. */
export function stuckClock(
  { purchase, now }: { readonly purchase: Stay; readonly now: Instant },
  policy: PollPolicy,
): StuckClock | null {
  const { state, stateSince: since, seenAt, stuckSince, excused: before } = purchase;
  if (state === null || since === null) return null;
  const statePolicy = policyOf(policy, state);
  if (statePolicy.stuckAfter === null) return null;
  // What the next good poll would excuse if it came now.
  const pending = seenAt === null || stuckSince !== null ? 0 : unaskedTime(statePolicy, { since, seenAt, now });
  const excused = before + pending;
  const counted = Math.max(0, now - since - excused);
  return { limit: statePolicy.stuckAfter, counted, excused, stuckAt: since + statePolicy.stuckAfter + excused };
}
