/** Why a purchase is polled next when it is, in words: the reason was recorded with the time. */

import { roughly, SINGLES_FIRST, sizedFirstPolls, withinText } from '../polling/first-polls.ts';
import { type PollPolicy, policyOf, type StatePolicy } from '../polling/poll-plan.ts';
import type { PollReason } from '../polling/poll-reason.ts';
import { unaskedTime } from '../polling/stuck.ts';
import { endSession, unpolledAdvice } from '../polling/unpolled.ts';
import { statePlace, stateWords } from '../purchases/states.ts';
import { nextTurn, turnsAmong } from '../replicas/named.ts';
import { grouped } from '../values/counts.ts';
import { humanDuration } from '../values/duration.ts';
import type { Instant, Milliseconds } from '../values/time.ts';
import type { Facts, PurchaseFacts } from './facts.ts';

/** Polls that are late by less than this are merely on their way. */
export const ON_THEIR_WAY: Milliseconds = 5_000;
/** Times are kept in microseconds and planned in milliseconds. */
const ROUNDING: Milliseconds = 2;

/** Why the next poll is when it is, as a stable word and in words. */
export function whyThen(
  purchase: PurchaseFacts,
  policy: PollPolicy,
): { reason: PollReason | 'never' | 'not_recorded'; text: string } {
  const { nextPollAt: at, nextPollReason: reason } = purchase;
  const statePolicy = policyOf(policy, purchase.state ?? 0);
  if (at === null) return { reason: 'never', text: whyNever(purchase, statePolicy) };
  if (reason === null) return { reason: 'not_recorded', text: 'planned by an earlier version, which recorded no reason' };
  return { reason, text: REASON_TEXTS[reason]({ ...purchase, at }, statePolicy) };
}

function whyNever({ status, state }: PurchaseFacts, policy: StatePolicy): string {
  if (status === 'stopped') return 'not polled any more: watching was stopped';
  if (status === 'expired') return 'not polled any more: watching was given up';
  const name = state === null ? 'its state' : `“${stateWords(state)}”`;
  return `not polled any more: ${name} is final${policy.recheck.length === 0 ? '' : ', and the last recheck has been made'}`;
}

/** A purchase that is polled at a known time. */
type Polled = PurchaseFacts & { readonly at: Instant };

const placeOf = ({ state }: Polled): string => statePlace(state ?? 0);
const failuresText = ({ failures }: Polled): string => (failures === 1 ? 'one failed poll' : `${failures} failed polls in a row`);
const waitText = ({ at, lastPolledAt }: Polled): string => humanDuration(Math.max(0, at - (lastPolledAt ?? at)));

// The settings may have changed since the poll was planned: of lengths, each text has those that the row shows.
const REASON_TEXTS: Readonly<Record<PollReason, (purchase: Polled, policy: StatePolicy) => string>> = {
  first: () => 'the first one: a purchase is asked for as soon as it is registered',
  renewed: () => 'at once, because it was registered again',
  growth: growthText,
  stuck_moment: (purchase) =>
    `the moment from which a poll confirms it as stuck ${placeOf(purchase)}, by the limit it had when this was planned`,
  give_up: () => 'the last look before watching is given up',
  failure: (purchase) =>
    `${waitText(purchase)} after ${failuresText(purchase)}; ${purchase.state !== null && purchase.unknowns === 0 && purchase.status !== 'settled' ? 'it was read before, so the plan of its state goes on' : 'the wait doubles with each, up to a day'}`,
  retry_after: (purchase) =>
    `${waitText(purchase)} after ${failuresText(purchase)}, because the service itself asked for so much time`,
  recheck: (purchase) =>
    `a recheck: the state is final, and looked at once more ${humanDuration(purchase.at - (purchase.stateSince ?? purchase.at))} later`,
  invoice: (purchase) =>
    `its invoice details are asked for with it${purchase.failures === 0 ? '' : `, after ${failuresText(purchase)}`}`,
  requested: ({ status }) =>
    `somebody asked for it by hand${status === 'stopped' || status === 'expired' ? ', although watching has ended' : ''}`,
  site_readable: ({ site }) => `at once, because site ${site} can be read again`,
  repaired: () => 'at once, because its row was repaired from what was announced of it',
  risk_moment: () => 'the moment from which a poll announces that it is at risk, as its session is about to end',
};

function growthText(purchase: Polled, { poll: { first, growth, most } }: StatePolicy): string {
  const { at, stateSince } = purchase;
  const seenAt = purchase.seenAt ?? at;
  const spent = humanDuration(Math.max(0, seenAt - (stateSince ?? seenAt)));
  const isFixed = growth === 0 || first >= most;
  const share = `${Number((growth * 100).toFixed(2))} % of that time, from ${humanDuration(first)} to ${humanDuration(most)}`;
  const plan = `${isFixed ? humanDuration(first) : share}, give or take 10 %`;
  return `${humanDuration(at - seenAt)} after the last poll, when it had been ${placeOf(purchase)} for ${spent}; the wait there is ${plan}`;
}

/** Whether the last poll got a good answer; failures beside it are of asking for the invoice. */
export function answeredWell({ failures, seenAt, lastPolledAt }: PurchaseFacts): boolean {
  return failures === 0 || (seenAt !== null && lastPolledAt !== null && Math.abs(seenAt - lastPolledAt) <= ROUNDING);
}

/** For how long the next poll is late, or null while it is not, is only on its way, or has its turn after others. */
export function lateness(facts: Facts): Milliseconds | null {
  const { nextPollAt } = facts.purchase;
  const late = nextPollAt === null ? 0 : facts.now - nextPollAt;
  if (bulkTurn(facts) !== null) return null;
  return late > ON_THEIR_WAY || (late > 0 && daemonTurn(facts) !== null) ? late : null;
}

/** Of a purchase of a bulk registration: when the turn of its first poll comes. Null for others, and while something keeps it from its turn. */
export function bulkTurn({ site, owner, purchase, firstPoll }: Facts): string | null {
  const isKept = !site.configured || site.failingSince !== null || owner.leaseUntil === null || purchase.lockedBy != null;
  if (firstPoll === null || owner.replicas === 0 || isKept) return null;
  const { ahead, ceiling } = firstPoll;
  const before = ahead === 0 ? 'none' : `about ${grouped(roughly(ahead))}`;
  const polls = sizedFirstPolls({ site: purchase.site, waiting: ahead + 1, ceiling });
  return `it was registered in bulk, and ${before} of the first polls of bulk registrations at site ${purchase.site} ${ahead === 0 ? 'comes' : 'come'} before its own, which is made ${withinText(polls)}; ${SINGLES_FIRST}, and "purchase-watch poll" makes it one of these`;
}

/** Why no running daemon polls a purchase of a site that none has in its settings, and what to do, as a clause. */
export function unnamedText({ site: name, lockedBy = null }: PurchaseFacts, { renamedTo = null }: Facts['site']): string {
  if (renamedTo === null)
    return `no running daemon has site ${name} in its settings, so this purchase is not polled: ${unpolledAdvice({ name, renamedTo, lockedBy })}`;
  const moves = `this purchase is not polled until it has moved from site ${name} to site ${renamedTo}, which names ${name} in "formerly"`;
  if (lockedBy === null) return `${moves}: a daemon moves it by itself`;
  return `${moves}, and it cannot move because session ${lockedBy} of the database has locked its row: ${endSession(lockedBy)}`;
}

/** A clause about a purchase that waits for the turn of daemons with its site in their settings; null when it does not wait. */
function daemonTurn({ purchase: { site, shard }, owner: { sharing }, now }: Facts): string | null {
  const turns = turnsAmong(sharing ?? []);
  const next = turns === null ? null : nextTurn(turns, { site, shard, now });
  const knowing = turns?.waiting.find(({ what }) => what === `site ${site}`)?.replicas;
  if (next === null || knowing === undefined) return null;
  const names = new Intl.ListFormat('en').format(knowing);
  return `the running daemons have different settings and take turns: site ${site} is in those of ${names} alone, whose turn with this purchase begins in ${humanDuration(next - now)}; give every daemon the same settings ("purchase-watch doctor" says more)`;
}

/** Why a poll that is late has not been made. */
export function whyLate(facts: Facts): string {
  const { site, owner, purchase } = facts;
  if (!site.configured) return unnamedText(purchase, site);
  if (owner.replicas === 0)
    return owner.silence.takesWrites ? 'no daemon is running on this database' : 'the database takes no writes';
  if (site.failingSince !== null) return `site ${purchase.site} does not answer`;
  if (purchase.lockedBy != null)
    return `session ${purchase.lockedBy} of the database has locked its row (pg_stat_activity shows it), so its polls cannot be recorded; it is polled again until the row is free`;
  const turn = daemonTurn(facts);
  if (turn !== null) return turn;
  if (owner.leaseUntil === null) return 'its shard has no owner at this moment; a running daemon takes it over within seconds';
  if (owner.othersDue > 0) {
    return `it waits for its turn: ${owner.othersDue >= MOST_OTHERS ? 'a hundred or' : owner.othersDue} more of its shard are due, and the site's ceiling (maxRps) spaces calls`;
  }
  // Purchases of other shards share the site's ceiling, and postponed polls are noted nowhere.
  return "it waits for its turn among the site's calls (maxRps), its last tries got no usable answer, or it is on its way (the daemon's log says more with LOG_LEVEL=debug)";
}

/** So many others that are due are counted. */
export const MOST_OTHERS = 100;

/** The fields of a purchase that its stuck clock goes by. */
type Stay = Pick<PurchaseFacts, 'state' | 'stateSince' | 'seenAt' | 'stuckSince' | 'excused'>;

/**
 * How far the stuck clock has run: `counted` is the time of the stay that counts, `excused` that in which no poll could be made,
 * `stuckAt` from when on a poll confirms it as stuck. Null where this state has no limit, or none was seen yet.
 */
export function stuckClock({ purchase, now }: { readonly purchase: Stay; readonly now: Instant }, policy: PollPolicy) {
  const { state, stateSince: since, seenAt, stuckSince, excused: before } = purchase;
  if (state === null || since === null) return null;
  const statePolicy = policyOf(policy, state);
  if (statePolicy.stuckAfter === null) return null;
  // The time that the next good poll would excuse if it came now.
  const pending = seenAt === null || stuckSince !== null ? 0 : unaskedTime(statePolicy, { since, seenAt, now });
  const excused = before + pending;
  const counted = Math.max(0, now - since - excused);
  return { limit: statePolicy.stuckAfter, counted, excused, stuckAt: since + statePolicy.stuckAfter + excused };
}
