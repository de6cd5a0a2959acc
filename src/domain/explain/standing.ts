/** How things stand with a purchase now: polling, site, shard, stuck clock, incident. */

import type { ChannelRule } from '../incidents/audience.ts';
import { type PollPolicy, policyOf } from '../polling/poll-plan.ts';
import { usableAnswers } from '../polling/reach.ts';
import { isKnownState, stateName, statePlace, stateWords } from '../purchases/states.ts';
import { NO_DAEMON } from '../replicas/daemon-silence.ts';
import { SHARDS } from '../replicas/ownership.ts';
import { type StuckLimit, shownLimit, workingText } from '../stays/dwell.ts';
import { humanDuration } from '../values/duration.ts';
import { clause, inBrackets } from '../values/errors.ts';
import { DAY, type Instant, isoTime } from '../values/time.ts';
import type { Facts, IncidentFacts } from './facts.ts';
import { paidTwiceSteps } from './paid-twice.ts';
import { answeredWell, stuckClock, unnamedText } from './poll.ts';
import { singleStanding } from './single-alerts.ts';
import type { ExplanationStep } from './step.ts';

/** Each fact that holds now, as a step. Without channels the answer leaves out when single checkouts alert. */
export function standingSteps(
  facts: Facts,
  policy: PollPolicy,
  { limitOf, channels }: { limitOf(state: number): StuckLimit; readonly channels: readonly ChannelRule[] | undefined },
): ExplanationStep[] {
  const clock = stuckClockStep(facts, policy, limitOf);
  return [
    polledStep(facts, policy),
    siteStep(facts),
    shardStep(facts),
    ...(clock === null ? [] : [clock]),
    ...facts.incidents.map((incident) => incidentStep(facts, incident)),
    ...missingIncident(facts, channels),
    ...paidTwiceSteps(facts).standing,
  ];
}

function polledStep({ purchase }: Facts, policy: PollPolicy): ExplanationStep {
  const { polls, lastPolledAt: at, failures, unknowns, lastError, state } = purchase;
  const kind = 'polled' as const;
  if (at === null) return { at, kind, text: 'not polled yet' };
  const times = `polled ${polls === 1 ? 'once' : `${polls} times`}; the last answer`;
  const why = inBrackets(lastError);
  if (answeredWell(purchase)) {
    const good = `${times} was good: ${state === null ? 'no state' : stateWords(state)}`;
    if (failures === 0) return { at, kind, text: good };
    return { at, kind, wrong: true, text: `${good}; asking for its invoice failed, ${inARow(failures)}${why}` };
  }
  if (unknowns === 0) return { at, kind, wrong: true, text: `${times} could not be used, ${inARow(failures)}${why}` };
  const limit = purchase.status === 'watching' ? `, ${unknowns} of ${policy.unreadableAfter} until it counts as unreadable` : '';
  const text =
    unknowns === failures
      ? `${times} was that the service does not know this id, ${inARow(failures)}${limit}${why}`
      : `${times} could not be used, ${inARow(failures)}; ${unknowns} of them said that the service does not know this id${limit}${why}`;
  return { at, kind, wrong: true, text };
}

const inARow = (count: number): string => (count === 1 ? 'for the first time' : `the ${ordinal(count)} failure in a row`);

function ordinal(count: number): string {
  const tens = count % 100;
  const suffix = tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th');
  return `${count}${suffix}`;
}

function siteStep({ site, purchase, now }: Facts): ExplanationStep {
  const kind = 'site' as const;
  const name = `site ${purchase.site}`;
  if (!site.configured) return { at: null, kind, wrong: true, text: unnamedText(purchase, site) };
  const { failingSince, lastSuccessAt } = site;
  if (failingSince !== null) {
    const why = site.lastError === null ? '' : `: ${clause(site.lastError)}`;
    const last = lastSuccessAt === null ? '' : `; its last usable answer came ${humanDuration(now - lastSuccessAt)} ago`;
    const text = `${name} has given ${usableAnswers(failingSince, lastSuccessAt)} for ${humanDuration(now - failingSince)}${why}${last}. Until it does, one probe every 30 s at most stands in for all its purchases`;
    return { at: failingSince, kind, wrong: true, text };
  }
  if (lastSuccessAt === null) return { at: null, kind, text: `${name} is configured, and has not answered anything yet` };
  return { at: lastSuccessAt, kind, text: `${name} answers` };
}

function shardStep({ purchase, owner, now }: Facts): ExplanationStep {
  const common = { at: null, kind: 'shard' } as const;
  const name = `shard ${purchase.shard} of ${SHARDS}`;
  if (owner.replicas === 0) {
    const text = owner.silence.takesWrites ? NO_DAEMON : 'no daemon can renew its lease: the database takes no writes';
    return { ...common, wrong: true, text };
  }
  if (owner.replica === null || owner.leaseUntil === null) {
    return { ...common, wrong: true, text: `${name} has no owner at this moment; a running daemon takes it over within seconds` };
  }
  const more = humanDuration(owner.leaseUntil - now);
  return { ...common, text: `${name} belongs to ${owner.replica}, whose lease lasts ${more} more` };
}

function stuckClockStep(facts: Facts, policy: PollPolicy, limitOf: (state: number) => StuckLimit): ExplanationStep | null {
  const { purchase } = facts;
  const { state, stateSince, stuckSince, status } = purchase;
  const kind = 'stuck_clock' as const;
  if (state === null || stateSince === null) return null;
  const clock = stuckClock(facts, policy);
  const limit = limitOf(state);
  const shown = clock === null ? null : shownLimit(limit, clock.counted);
  const withLimit = shown === null ? {} : { limit: shown };
  if (stuckSince !== null) {
    // Learned limits move on, and settings change.
    const moved = (limit.ms ?? 0) > stuckSince - stateSince ? 'now: ' : '';
    const working = clock === null ? '' : `; ${moved}${workingText(limit, null)}${excusedText(clock.excused)}`;
    const text = `stuck: a poll confirmed it after ${humanDuration(stuckSince - stateSince)} ${statePlace(state)}${working}`;
    return { at: stuckSince, kind, wrong: true, text, ...withLimit };
  }
  const still = { at: null, kind };
  if (policyOf(policy, state).final) return { ...still, text: `never stuck here: “${stateWords(state)}” is final` };
  const setting = `states.${isKnownState(state) ? stateName(state) : state}.stuckAfter`;
  if (clock === null) return { ...still, text: `never stuck here: “${stateWords(state)}” has no limit (${setting})` };
  if (status !== 'watching') return { ...still, text: `the stuck clock does not run while the purchase is ${status}` };
  const text = `stuck clock, ${statePlace(state)}: ${workingText(limit, clock.counted)}${excusedText(clock.excused)}`;
  return { ...still, text, ...withLimit };
}

const excusedText = (excused: number): string =>
  excused === 0 ? '' : `, without ${humanDuration(excused)} in which nobody could ask`;

/** The same sentence in the console and in the terminal. */
export const NO_CHANNEL = 'Nobody is alerted: no channel for people is set';
/** Without a channel for people no alert can be sent, whatever the incident's own times are. */
export const NOBODY_HEARS = 'nobody is alerted, because no channel for people is set (SLACK_WEBHOOK_URL or slack.channels)';
/** An alert was due, and no channel wants it. */
export const NO_CHANNEL_HEARS = 'no channel gets it (by its sites and severity)';

/** Until when something lasts: `15:19:29Z (2 h more)`, with the date when that is not soon. */
export function untilText(at: Instant, now: Instant): string {
  const [date, time] = isoTime(at).slice(0, 19).split('T');
  return `${at - now < DAY / 2 ? '' : `${date} `}${time}Z (${humanDuration(at - now)} more)`;
}

function incidentStep({ now, purchase, site, hasPeople }: Facts, incident: IncidentFacts): ExplanationStep {
  const { id, kind, state, count, since, acknowledgedAt, acknowledgedBy, silencedUntil } = incident;
  const ofSite = site.configured
    ? `no purchase of site ${purchase.site} can be read`
    : `no running daemon has site ${purchase.site} in its settings`;
  const customers = `${count === 1 ? '1 customer' : `${count} customers`} stuck ${statePlace(state ?? 0)}`;
  const what = kind === 'stuck' ? customers : ofSite;
  const alerts = hasPeople ? alertsText(incident, now) : NOBODY_HEARS;
  const by = acknowledgedBy === null ? '' : ` by ${acknowledgedBy}`;
  const seen = acknowledgedAt === null ? '' : `; acknowledged ${humanDuration(now - acknowledgedAt)} ago${by}`;
  const quiet = silencedUntil === null ? '' : `; silenced until ${untilText(silencedUntil, now)}`;
  return { at: since, kind: 'incident', text: `incident ${id}: ${what}; ${alerts}${seen}${quiet}`, incidentId: id };
}

function alertsText({ alertedAt, hasChannel, silencedUntil }: IncidentFacts, now: Instant): string {
  if (alertedAt !== null) return hasChannel ? `people were last alerted ${humanDuration(now - alertedAt)} ago` : NO_CHANNEL_HEARS;
  return `people are not alerted${silencedUntil === null ? ' yet (it is collected for slack.groupWait first)' : ''}`;
}

/** Stuck, and no incident is open: one customer who left says nothing of the page. */
function missingIncident(facts: Facts, channels: readonly ChannelRule[] | undefined): ExplanationStep[] {
  const { purchase, incidents, owner, site } = facts;
  if (purchase.stuckSince === null || incidents.some(({ kind }) => kind === 'stuck')) return [];
  const text = !site.configured
    ? `no incident of stuck customers is open: no daemon has the site in its settings`
    : owner.replicas === 0
      ? `no incident is open: ${owner.silence.takesWrites ? 'no daemon is there to open one' : 'the database takes no writes'}`
      : 'no incident is open: one is when so many get stuck here that the page must be broken';
  const single = site.configured ? singleStanding(facts, channels) : null;
  return [{ at: null, kind: 'incident', text: single === null ? text : `${text}; ${single}` }];
}
