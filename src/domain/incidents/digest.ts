/**
 * The digest: what has happened at sites since the last one, who is stuck now, and which subscribers could not get their events. Pure: whether
 * there is anything to say, and what the event holds.
 */

import { namedState } from '../purchases/states.ts';
import { ENOUGH_EXITS } from '../stays/dwell.ts';
import { changeOf, type Share, shareOf } from '../trends/compare.ts';
import type { TrendRange } from '../trends/period.ts';
import { DAY, HOUR, type Instant, isoTime, isoTimeOrNull, type Milliseconds } from '../values/time.ts';

/** A digest that was missed for longer than this is left out: its news come with the next digest. */
export const LATEST_DIGEST: Milliseconds = 6 * HOUR;
/** A digest looks back no further, however long there was none. */
const LONGEST_LOOK_BACK: Milliseconds = 31 * DAY;
/** A digest of so much time is a letter: it comes with the numbers of a quiet week, too. */
const LETTER: Milliseconds = 6 * DAY;
/** A state is worth a line when the slow ones need this share of the limit: no customer who gets on should come near it. */
const NEAR_THE_LIMIT = 0.5;

/** An incident of which people were alerted and that was open since the last digest. */
export interface DigestIncident {
  readonly id: string;
  readonly kind: 'stuck' | 'unreachable';
  /** Empty when it is about no state. */
  readonly states: readonly number[];
  /** The incident about several sites that it is part of; null when it is about its site alone. */
  readonly partOf: string | null;
  readonly openedAt: Instant;
  readonly endedAt: Instant | null;
  /** Stuck now, and at the worst. */
  readonly count: number;
  readonly peak: number;
  /** Who looks after it. */
  readonly owner: string | null;
  /** The cause of the incident, as a person said: a key of the causes. */
  readonly cause: string | null;
}

/** Purchases stuck in a state now. */
export interface DigestStuck {
  readonly state: number;
  readonly count: number;
  /** When the one that has waited longest came. */
  readonly since: Instant | null;
}

/** The outcomes of stays in a state, on the days (UTC) that ended since the last digest. */
export interface DigestStays {
  readonly state: number;
  readonly well: number;
  readonly overdue: number;
  readonly other: number;
  /** Of those well or stuck, which share became stuck on calm days before; null while too few are known. */
  readonly usualShare: number | null;
}

/** How long customers who got on needed in a state, on the same days. */
export interface DigestPace {
  readonly state: number;
  /** 95 % were faster. */
  readonly p95: Milliseconds;
  readonly purchases: number;
  /** The same of the days before; null where too little is known. */
  readonly usualP95: Milliseconds | null;
  /** After which a purchase is stuck; null: never. */
  readonly limit: Milliseconds | null;
}

/** How customers' checkouts ended: the numbers of the page of trends for this range. */
export interface DigestTrend {
  readonly range: TrendRange;
  readonly present: Share;
  readonly before: Share;
}

export interface SiteFacts {
  readonly site: string;
  /** The beginning of the time that this digest covers. */
  readonly since: Instant;
  readonly incidents: readonly DigestIncident[];
  readonly overdue: readonly DigestStuck[];
  readonly stays: readonly DigestStays[];
  readonly pace: readonly DigestPace[];
  readonly trend: DigestTrend;
  /** Purchases that the service no longer knew, and that were given up after `polling.giveUpAfter`. */
  readonly unreadable: number;
  readonly expired: number;
}

/** A subscriber that did not get all its events. */
export interface DigestSubscriber {
  readonly id: number;
  readonly name: string;
  /** Deliveries given up since the last digest that its readers had. */
  readonly givenUp: number;
  /** Deliveries that wait until it takes something again. */
  readonly parked: number;
  readonly off: boolean;
}

export interface DigestFacts {
  readonly until: Instant;
  readonly sites: readonly SiteFacts[];
  readonly subscribers: readonly DigestSubscriber[];
  /** Up to which purchases and deliveries are counted. */
  readonly countedTo: number;
}

/** Whether a digest is due, given when it was last named by the schedule and up to when one was made. */
export function isDigestDue(named: Instant | null, madeUpTo: Instant, now: Instant): named is Instant {
  return named !== null && named > madeUpTo && now - named < LATEST_DIGEST;
}

/** Where the time of a digest begins, given where the time of the last one ended. */
export function digestSince(madeUpTo: Instant, now: Instant): Instant {
  return Math.max(madeUpTo, now - LONGEST_LOOK_BACK);
}

/** The range of trends that a digest of this time shows. */
export function trendRangeOf(since: Instant, until: Instant): TrendRange {
  return until - since >= LETTER ? '7d' : '24h';
}

/** A site as digests see it. */
export interface DigestSite {
  readonly site: string;
  /** Up to when digests were made. */
  readonly madeUpTo: Instant;
  /** Subscribers that get it. */
  readonly recipients: readonly number[];
}

/**
 * Puts the sites that are due together whose digests are one message, because the same subscribers get them. Sites without a channel are
 * in no group. `all` are the sites with digests: what a recipient got with another site's digest, it does not get again; subscribers'
 * trouble is included from `troubleSince` on.
 */
export function digestGroups(due: readonly DigestSite[], all: readonly DigestSite[], now: Instant) {
  const key = ({ recipients }: DigestSite): string => recipients.toSorted((a, b) => a - b).join();
  const wanted = due.filter(({ recipients }) => recipients.length > 0);
  // Those with most recipients first: a recipient of a large one needs the same from no smaller one.
  const groups = [...Map.groupBy(wanted, key).values()].sort((a, b) => b[0]!.recipients.length - a[0]!.recipients.length);
  const toldNow = new Set<string>();
  return groups.map((sites) => {
    const { recipients } = sites[0]!;
    const same = all.filter((each) => recipients.every((id) => each.recipients.includes(id)));
    const troubleSince = Math.max(...same.map(({ site, madeUpTo }) => (toldNow.has(site) ? now : madeUpTo)));
    for (const { site } of sites) toldNow.add(site);
    return { recipients, sites: sites.map(({ site }) => site), troubleSince: digestSince(troubleSince, now) };
  });
}

export type DigestGroup = ReturnType<typeof digestGroups>[number];

/**
 * The `data` of a digest's event, `incident.digest`, or null when there is nothing to say:
 * `{kind: "digest", since, until, countedTo, sites: [{site, since, incidents: [{incidentId, kind, states, partOf, openedAt,
 * endedAt, count, peak, owner, cause}], overdue: [{state, count, since}], stays: [{state, entrants, overdue, share,
 * usualShare}], pace: [{state, p95Ms, usualP95Ms, limitMs, purchases}], trend: {range, customers, paid, share, change,
 * before: {customers, paid, share}}, unreadable, expired}], quiet: [site],
 * subscribers: [{subscriber, givenUp, parked, off}]}`. Times are ISO, states `{value, name}`, shares from 0 to 1 or null.
 */
export function buildDigest({ until, sites, subscribers, countedTo }: DigestFacts) {
  const loud = sites.filter(hasNews);
  // Deliveries that wait are an incident that people are reminded of: shown here, but no reason for a message of its own.
  if (loud.length === 0 && !subscribers.some(({ givenUp }) => givenUp > 0)) return null;
  return {
    kind: 'digest' as const,
    since: isoTime(Math.min(until, ...sites.map(({ since }) => since))),
    until: isoTime(until),
    countedTo,
    sites: loud.toSorted(byConcern).map(siteData),
    quiet: sites.filter((each) => !hasNews(each)).map(({ site }) => site),
    subscribers: subscribers.map(({ name, givenUp, parked, off }) => ({ subscriber: name, givenUp, parked, off })),
  };
}

function hasNews({ incidents, overdue, trend, unreadable, expired }: SiteFacts): boolean {
  const isLetter = trend.range === '7d' && trend.present.customers > 0;
  return isLetter || incidents.length > 0 || overdue.some(({ count }) => count > 0) || unreadable > 0 || expired > 0;
}

/** Sites with open incidents first, then those with most purchases stuck. */
function byConcern(one: SiteFacts, other: SiteFacts): number {
  const open = ({ incidents }: SiteFacts): number => incidents.filter(({ endedAt }) => endedAt === null).length;
  const overdue = (facts: SiteFacts): number => facts.overdue.reduce((sum, { count }) => sum + count, 0);
  return open(other) - open(one) || overdue(other) - overdue(one);
}

function siteData(facts: SiteFacts) {
  const { site, since, incidents, overdue, stays, pace, trend, unreadable, expired } = facts;
  return {
    site,
    since: isoTime(since),
    incidents: incidents.map(({ id, states, openedAt, endedAt, ...rest }) => ({
      incidentId: id,
      ...rest,
      states: states.map(namedState),
      openedAt: isoTime(openedAt),
      endedAt: isoTimeOrNull(endedAt),
    })),
    overdue: overdue.map(({ state, count, since: oldest }) => ({
      state: namedState(state),
      count,
      since: isoTimeOrNull(oldest),
    })),
    stays: stays.flatMap(({ state, well, overdue: late, other, usualShare }) => {
      const counted = well + late;
      if (counted + other <= 0) return [];
      const share = counted > 0 ? late / counted : null;
      return [{ state: namedState(state), entrants: counted + other, overdue: late, share, usualShare }];
    }),
    pace: pace.filter(isNearTheLimit).map(({ state, p95, usualP95, limit, purchases }) => ({
      state: namedState(state),
      p95Ms: p95,
      usualP95Ms: usualP95,
      limitMs: limit,
      purchases,
    })),
    trend: trendData(trend),
    unreadable,
    expired,
  };
}

function trendData({ range, present, before }: DigestTrend) {
  const shown = (of: Share) => ({ ...of, share: shareOf(of) });
  return { range, ...shown(present), change: changeOf(present, before), before: shown(before) };
}

function isNearTheLimit({ p95, limit, purchases }: DigestPace): boolean {
  return limit !== null && purchases >= ENOUGH_EXITS && p95 >= limit * NEAR_THE_LIMIT;
}
