/** Digests: what has happened at sites, sent by a schedule and each site's own clock. */

import { draftOf } from '../../domain/events/make-event.ts';
import {
  buildDigest,
  type DigestGroup,
  type DigestPace,
  type DigestSite,
  type DigestTrend,
  digestGroups,
  digestSince,
  isDigestDue,
  type SiteFacts,
  trendRangeOf,
} from '../../domain/incidents/digest.ts';
import { dwellOf, ENOUGH_EXITS } from '../../domain/stays/dwell.ts';
import { customersOf, endsOf } from '../../domain/trends/ends.ts';
import { periodsOf } from '../../domain/trends/period.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type NewEvent, SITE_SHARD } from '../../postgres/events/events.ts';
import {
  digestsMade,
  incidentsSince,
  lostSince,
  MOST_COUNTED,
  type PaceCount,
  paceSince,
  type SiteWindow,
  saveDigests,
  staysSince,
  stuckNow,
  troubleSince,
} from '../../postgres/incidents/digest.ts';
import type { Lease } from '../../postgres/shards/leases.ts';
import { endedInHours } from '../../postgres/trends/read.ts';
import { createSchedule, zoneOf } from '../../runtime/loops/schedule.ts';
import type { Deps } from '../deps.ts';
import type { AlertMoment, Outcome } from './first-look.ts';

interface DigestOptions extends Pick<Deps, 'sql' | 'log' | 'meters' | 'sites'> {
  /** A cron expression; null: there are no digests. */
  readonly expression: string | null;
  /** After how long a stay in a state of a site is stuck; null: never. */
  limitOf(site: string, state: number): Milliseconds | null;
}

export type Digests = ReturnType<typeof createDigests>;

/** Makes the writer of digests. Between two moments of the schedule it costs nothing. */
export function createDigests(options: DigestOptions) {
  const { sql, log, meters, sites, expression } = options;
  if (expression === null)
    return { alert: async (): Promise<Outcome> => ({ written: 0, lookAgainAt: null }), forget: () => undefined };
  const schedules = new Map(
    [...new Set(sites.map(({ timeZone }) => timeZone))].map((zone) => [zone, createSchedule(expression, zone)]),
  );
  const zones = new Map(sites.map(({ name, timeZone }) => [name, schedules.get(timeZone)!]));
  let idleUntil: Instant | null = Number.NEGATIVE_INFINITY;

  /** Answers how many events were written; null when another replica judges by now. */
  const writeDue = async (all: readonly DigestSite[], now: Instant, lease: Lease): Promise<number | null> => {
    const due = all.filter(({ site, madeUpTo }) => isDigestDue(zones.get(site)!.latest(now), madeUpTo, now));
    if (due.length === 0) return 0;
    const groups = digestGroups(due, all, now);
    const windows = due
      .filter(({ recipients }) => recipients.length > 0)
      .map(({ site, madeUpTo }) => ({ site, since: digestSince(madeUpTo, now) }));
    const facts = windows.length === 0 ? [] : await factsOf(options, windows, now);
    const events: NewEvent[] = [];
    for (const group of groups) {
      const ofGroup = facts.filter(({ site }) => group.sites.includes(site));
      events.push(...(await eventsOf(sql, group, ofGroup, now)));
    }
    const made = due.map(({ site, madeUpTo }) => ({ site, since: madeUpTo }));
    if (!(await saveDigests(sql, { events, sites: made, madeUpTo: now, lease }))) return null;
    for (const { draft } of events) meters.committed(draft.type);
    log.info({ sites: made.map(({ site }) => site), messages: events.length }, 'digest.made');
    return events.length;
  };

  return {
    /** The next alert looks, whatever the last one found. */
    forget: (): void => {
      idleUntil = Number.NEGATIVE_INFINITY;
    },
    /** Writes the digests that are due, each once over all replicas and restarts. */
    alert: async ({ now, lease, recipients }: AlertMoment): Promise<Outcome> => {
      if (idleUntil === null || now < idleUntil) return { written: 0, lookAgainAt: idleUntil };
      const known = (await digestsMade(sql)).filter(({ site }) => zones.has(site));
      // The first digest does not hold what was before it; each later one holds everything since the one before.
      const unknown = known.filter(({ madeUpTo }) => madeUpTo === null).map(({ site }) => ({ site, since: now }));
      const isNoted = unknown.length === 0 || (await saveDigests(sql, { events: [], sites: unknown, madeUpTo: now, lease }));
      const recipientsOf = await recipients();
      const all = known.map(({ site, madeUpTo }) => ({ site, madeUpTo: madeUpTo ?? now, recipients: recipientsOf(site) }));
      const written = isNoted ? await writeDue(all, now, lease) : null;
      // Looked at again soon, should the lease come back.
      if (written === null) return { written: 0, lookAgainAt: null };
      const next = [...schedules.values()].map((schedule) => schedule.next(now)).filter((at) => at !== null);
      idleUntil = next.length === 0 ? null : Math.min(...next);
      return { written, lookAgainAt: idleUntil };
    },
  };
}

/** The facts about sites since their last digest, in the order of `windows`. */
async function factsOf(
  { sql, sites, limitOf }: Pick<DigestOptions, 'sql' | 'sites' | 'limitOf'>,
  windows: readonly SiteWindow[],
  until: Instant,
): Promise<SiteFacts[]> {
  const zones = new Map(sites.map(({ name, timeZone }) => [name, timeZone]));
  const [incidents, overdue, stays, pace, lost, trends] = await Promise.all([
    incidentsSince(sql, windows, until),
    stuckNow(
      sql,
      windows.map(({ site }) => site),
    ),
    staysSince(sql, windows, until),
    paceSince(sql, windows, until),
    lostSince(sql, windows, until),
    Promise.all(windows.map((window) => trendOf(sql, window, { until, zone: zones.get(window.site)! }))),
  ]);
  return windows.map(({ site, since }, place) => {
    const here = <T extends { readonly site: string }>(rows: readonly T[]) =>
      rows.filter((row) => row.site === site).map(({ site: _, ...row }) => row);
    const { unreadable = 0, expired = 0 } = here(lost)[0] ?? {};
    const ofPace = paces(here(pace), (state) => limitOf(site, state));
    return {
      site,
      since,
      incidents: here(incidents),
      overdue: here(overdue),
      stays: here(stays),
      pace: ofPace,
      trend: trends[place]!,
      unreadable,
      expired,
    };
  });
}

/** The numbers that the page of trends has for the range of this digest. */
async function trendOf(
  sql: Sql,
  { site, since }: SiteWindow,
  { until, zone }: { until: Instant; zone: string },
): Promise<DigestTrend> {
  const range = trendRangeOf(since, until);
  const { present, before } = periodsOf(range, until, zoneOf(zone));
  const [now, earlier] = await Promise.all([endedInHours(sql, present, site), endedInHours(sql, before, site)]);
  return { range, present: customersOf(endsOf(now)), before: customersOf(endsOf(earlier)) };
}

/** The digest of a group of sites; nothing when there is nothing to say. */
async function eventsOf(sql: Sql, group: DigestGroup, facts: readonly SiteFacts[], until: Instant): Promise<NewEvent[]> {
  const { recipients } = group;
  // Nothing about a subscriber is sent to that subscriber, and what all of these got just now is not sent twice.
  const subscribers =
    group.troubleSince < until ? await troubleSince(sql, { since: group.troubleSince, except: recipients }) : [];
  const data = buildDigest({ until, sites: facts, subscribers, countedTo: MOST_COUNTED });
  if (data === null) return [];
  const draft = draftOf('incident.digest', { at: until }, data);
  const site = group.sites.length === 1 ? group.sites[0]! : '';
  return [{ site, purchase: null, shard: SITE_SHARD, recipients, draft }];
}

/** Dwell times by state, beside their limits. */
function paces(counts: readonly Omit<PaceCount, 'site'>[], limitOf: (state: number) => Milliseconds | null): DigestPace[] {
  const states = Map.groupBy(counts, ({ state }) => state);
  return [...states].flatMap(([state, ofState]) => {
    const lately = dwellOf(ofState.filter(({ usual }) => !usual));
    const usual = dwellOf(ofState.filter((count) => count.usual));
    if (lately === null) return [];
    const usualP95 = usual !== null && usual.purchases >= ENOUGH_EXITS ? usual.p95 : null;
    return [{ state, p95: lately.p95, purchases: lately.purchases, usualP95, limit: limitOf(state) }];
  });
}
