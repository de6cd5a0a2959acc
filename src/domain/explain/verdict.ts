/** One sentence for a person who has just been woken: what is the matter, or that all is well. */

import type { ChannelRule } from '../incidents/audience.ts';
import { type PollPolicy, policyOf } from '../polling/poll-plan.ts';
import { usableAnswers } from '../polling/reach.ts';
import { statePlace, stateWords } from '../purchases/states.ts';
import { unwritableAdvice } from '../replicas/daemon-silence.ts';
import { humanDuration } from '../values/duration.ts';
import { clause, inBrackets } from '../values/errors.ts';
import { sentence } from '../values/sentence.ts';
import type { Instant } from '../values/time.ts';
import type { Facts } from './facts.ts';
import { paidTwice } from './paid-twice.ts';
import { answeredWell, bulkTurn, lateness, unnamedText, whyLate } from './poll.ts';
import { singleStanding } from './single-alerts.ts';
import { NO_CHANNEL_HEARS, NOBODY_HEARS, untilText } from './standing.ts';
import { MATTER_CODES, type Matter } from './step.ts';

/** Everything that is the matter, the gravest first; `ofHistory` is what the history found. */
export function gravestFirst(
  facts: Facts,
  { polling, channels }: { readonly polling: PollPolicy; readonly channels: readonly ChannelRule[] | undefined },
  ofHistory: readonly Matter[],
): Matter[] {
  const matters = [...purchaseMatters(facts, polling, channels), ...ofHistory];
  const rank = ({ code }: Matter): number => MATTER_CODES.indexOf(code);
  return together(matters).sort((a, b) => rank(a) - rank(b));
}

/** More events are counted only. */
const MOST_NAMED = 3;

/** Events with which the same is the matter as one matter: `Events 2 and 3 are not delivered to books, because …`. */
function together(matters: readonly Matter[]): Matter[] {
  const groups = Map.groupBy(matters, (each) => each.of?.rest ?? each);
  return [...groups.values()].map((all) => {
    const { code, text, of } = all[0]!;
    if (of === undefined || all.length === 1) return { code, text };
    const sequences = all.map((each) => String(each.of!.sequence));
    const named = `Events ${new Intl.ListFormat('en').format(sequences)}`;
    return { code, text: `${sequences.length > MOST_NAMED ? `${sequences.length} events` : named} are ${of.rest}.` };
  });
}

function purchaseMatters(facts: Facts, policy: PollPolicy, channels: readonly ChannelRule[] | undefined): Matter[] {
  const causes = [noDaemon(facts), siteTrouble(facts)];
  const isLateExplained = causes.some((cause) => cause !== null);
  const all = [
    ...causes,
    paidTwice(facts),
    stuck(facts, policy, channels),
    unreadable(facts),
    isLateExplained ? null : pollLate(facts),
    pollFailing(facts),
  ];
  return all.filter((each) => each !== null);
}

function noDaemon({ purchase, owner, deliveries }: Facts): Matter | null {
  const waits = purchase.nextPollAt !== null || deliveries.some((each) => each.status === 'pending');
  if (owner.replicas > 0 || !waits) return null;
  const text = owner.silence.takesWrites
    ? 'No daemon is running on this database, so nothing is polled or delivered: start one with "purchase-watch start".'
    : unwritableAdvice(owner.silence);
  return { code: 'no_daemon', text };
}

function siteTrouble({ purchase, site, now }: Facts): Matter | null {
  if (purchase.nextPollAt === null) return null;
  if (!site.configured) return { code: 'site_not_configured', text: `${sentence(unnamedText(purchase, site))}.` };
  if (site.failingSince === null) return null;
  const why = inBrackets(site.lastError);
  return {
    code: 'site_failing',
    text: `Site ${purchase.site} has given ${usableAnswers(site.failingSince, site.lastSuccessAt)} for ${lasting(site.failingSince, now)}${why}; its purchases are polled once it does, and none is called stuck meanwhile.`,
  };
}

function stuck(facts: Facts, policy: PollPolicy, channels: readonly ChannelRule[] | undefined): Matter | null {
  const { state, stateSince, stuckSince } = facts.purchase;
  if (stuckSince === null || state === null || stateSince === null) return null;
  const { stuckAfter: limit, auto } = policyOf(policy, state);
  // The limit may not be the one that held when the purchase was flagged.
  const is = auto || (limit ?? 0) > stuckSince - stateSince ? 'is now' : 'is';
  const than = limit === null ? '' : ` (the limit ${is} ${humanDuration(limit)})`;
  const text = `Stuck ${statePlace(state)} for ${lasting(stateSince, facts.now)}${than}; ${peopleText(facts, channels)}.`;
  return { code: 'stuck', text };
}

function unreadable({ purchase, singles, now }: Facts): Matter | null {
  const { status, unknowns, failures, site, seenAt, watchedSince } = purchase;
  if (status !== 'unreadable') return null;
  if (unknowns === 0 || unknowns < failures) {
    const alerted = singles.findLast((each) => each.unreadable !== null && each.endedAt === null)?.alertedAt ?? null;
    const people = alerted === null ? '' : `; people were alerted of it ${lasting(alerted, now)} ago`;
    return {
      code: 'unreadable',
      text: `It could not be read for ${lasting(seenAt ?? watchedSince, now)} (${failures} polls in a row): ${failureText(purchase)}. It is polled on, and the next good answer that is recorded ends this${people}.`,
    };
  }
  return {
    code: 'unreadable',
    text: `The service does not know this id (${unknowns} such answers): check that it is a Purchase ID of site ${site}; it is asked ever more rarely.`,
  };
}

function pollLate(facts: Facts): Matter | null {
  const late = lateness(facts);
  if (late === null) return null;
  return { code: 'poll_late', text: `The next poll is late by ${humanDuration(late)}: ${whyLate(facts)}.` };
}

function pollFailing({ purchase }: Facts): Matter | null {
  const { status, failures, nextPollAt } = purchase;
  if (failures === 0 || status === 'unreadable' || nextPollAt === null) return null;
  const polls = failures === 1 ? 'poll' : `${failures} polls`;
  return { code: 'poll_failing', text: `The last ${polls} failed: ${failureText(purchase)}.` };
}

function failureText(purchase: Facts['purchase']): string {
  if (answeredWell(purchase)) return 'its invoice details could not be had';
  if (purchase.unknowns === purchase.failures) return 'the service says that it does not know this id';
  return clause(purchase.lastError ?? 'the answers cannot be used');
}

function peopleText(facts: Facts, channels: readonly ChannelRule[] | undefined): string {
  const { incidents, hasPeople, now, singles, firstLook, purchase } = facts;
  const incident = incidents.find(({ kind }) => kind === 'stuck');
  if (incident === undefined && (firstLook !== null || singles.some(({ since }) => since === purchase.stateSince))) {
    const alone = singleStanding(facts, channels);
    if (alone !== null) return alone;
  }
  if (incident === undefined) return 'no incident is open, so people are not alerted';
  if (!hasPeople) return `its incident is open, and ${NOBODY_HEARS}`;
  if (incident.silencedUntil !== null) return `its incident is silenced until ${untilText(incident.silencedUntil, now)}`;
  if (incident.alertedAt === null) return 'its incident is open and people are not alerted yet';
  if (!incident.hasChannel) return `its incident is open, and ${NO_CHANNEL_HEARS}`;
  return `people were last alerted of its incident ${lasting(incident.alertedAt, now)} ago`;
}

/** How long something has lasted. */
function lasting(since: Instant, now: Instant): string {
  return now - since < 1_000 ? 'less than a second' : humanDuration(now - since);
}

/** Matters that are shown in full. */
const MOST_SHOWN = 2;

/** The verdict: the gravest matters, or how well all is. `none`: why a subscriber gets no event. */
export function verdict(facts: Facts, matters: readonly Matter[], none: readonly string[]): string {
  if (matters.length === 0) return wellText(facts, none);
  const shown = matters.slice(0, MOST_SHOWN).map(({ text }) => text);
  const rest = matters.length - shown.length;
  const more = rest === 1 ? 'thing is not as it should be' : 'things are not as they should be';
  return [...shown, ...(rest > 0 ? [`And ${rest} more ${more}; see below.`] : [])].join(' ');
}

function wellText(facts: Facts, none: readonly string[]): string {
  const { purchase, now } = facts;
  const { status, state, stateSince, lastPolledAt, endedAt } = purchase;
  const name = state === null ? 'not seen in any state' : stateWords(state);
  const delivered = deliveredText(facts, none);
  const turn = bulkTurn(facts);
  if (turn !== null) return `${lastPolledAt === null ? 'Not polled yet' : 'Watched again, and not polled since'}: ${turn}.`;
  if (status === 'settled') return `All is well: ${name} for ${lasting(stateSince ?? now, now)}, which is final; ${delivered}.`;
  if (status === 'stopped') {
    const when = endedAt === null ? '' : ` ${lasting(endedAt, now)} ago`;
    return `Watching was stopped${when} (last seen: ${name}), so nothing new is learned; ${delivered}.`;
  }
  if (status === 'expired') return `Watching was given up after too long without a change (last seen: ${name}); ${delivered}.`;
  if (lastPolledAt === null) return 'All is well: just registered, and about to be polled for the first time.';
  return `All is well: ${name} for ${lasting(stateSince ?? now, now)}, last polled ${lasting(lastPolledAt, now)} ago; ${delivered}.`;
}

function deliveredText(facts: Facts, none: readonly string[]): string {
  const { deliveries, subscribers, events, only } = facts;
  if (events.length === 0) return 'there is no event yet';
  const done = deliveries.filter(({ status }) => status === 'delivered');
  const present = new Set(subscribers.filter(({ configured }) => configured).map(({ id }) => id));
  // A delivery that waits for a removed subscriber is not on its way.
  const waiting = deliveries.filter(({ status, subscriber }) => status === 'pending' && present.has(subscriber)).length;
  const names = subscribers.filter(({ id }) => done.some(({ subscriber }) => subscriber === id)).map(({ name }) => name);
  if (waiting > 0) return waiting === 1 ? 'one delivery is on its way' : `${waiting} deliveries are on their way`;
  if (names.length > 0)
    return only === null
      ? `its events were delivered (to ${names.join(', ')})`
      : `${only} got what it wants${present.size === 0 ? ', and was removed later' : ''}`;
  if (only !== null && deliveries.length === 0) return none[0] ?? `${only} got none of its events`;
  if (deliveries.length === 0) return 'no subscriber wants its events';
  const meant = new Set(deliveries.map(({ subscriber }) => subscriber));
  const gone = [...meant].filter((id) => !present.has(id)).length;
  const how = gone === 0 ? 'switched off' : gone === meant.size ? 'removed' : 'switched off or removed';
  if (only !== null) return `${only} was ${how} and got nothing`;
  return `its subscribers were ${how} and got nothing`;
}
