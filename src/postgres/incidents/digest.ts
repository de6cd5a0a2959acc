/** The facts of digests, and up to when digests were made. Reads counters, sums by day, and the newest rows of each list. */

import type { DigestIncident, DigestStays, DigestStuck, DigestSubscriber } from '../../domain/incidents/digest.ts';
import type { DwellCount } from '../../domain/stays/dwell.ts';
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';
import { announcing, type NewEvent } from '../events/events.ts';
import { holding, type Lease } from '../shards/leases.ts';

/** Rows of each kind are counted up to this; more would only cost time. */
export const MOST_COUNTED = 1_000;

/** A stretch of time at a site. */
export interface SiteWindow {
  readonly site: string;
  readonly since: Instant;
}

type OfSite<T> = T & { readonly site: string };

/** The windows as rows of site and moment. */
const windows = (sql: Queries, sites: readonly SiteWindow[]) => sql`
  (select site, since as since, (since at time zone 'UTC')::date as day
   from ${columns(sql, sites, 'g', 'site text, since timestamptz')})`;

const day = (sql: Queries, at: Instant) => sql`(${at}::timestamptz at time zone 'UTC')::date`;

/** Up to when digests of the configured sites were made; null: never. */
export const digestsMade = (sql: Queries) => sql<{ site: string; madeUpTo: Instant | null }[]>`
    select name as site, digest_at as made_up_to from purchase_watch_internal.sites where configured order by name`;

/**
 * Incidents of sites of which people were alerted and that were open after a moment. Several states of a site count as one
 * incident; an incident of several sites counts once at each.
 */
export const incidentsSince = (sql: Queries, sites: readonly SiteWindow[], until: Instant) => sql<OfSite<DigestIncident>[]>`
    select i.site, i.id, i.kind, p.id as part_of, i.opened_at,
      case when i.ended_at <= ${until}::timestamptz then i.ended_at end as ended_at,
      i.count, i.peak, coalesce(i.acknowledged_by, p.acknowledged_by) as owner, coalesce(i.answer_cause, p.answer_cause) as cause,
      case when i.state is not null then array[i.state]
        else array(select distinct c.state from purchase_watch_internal.incidents c where c.parent = i.id and c.state is not null order by c.state) end as states
    from (
      select * from purchase_watch_internal.incidents where ended_at is null
      union all select * from purchase_watch_internal.incidents
      where ended_at > ${Math.min(...sites.map(({ since }) => since))}::timestamptz) i
    join ${windows(sql, sites)} w on w.site = i.site
    left join purchase_watch_internal.incidents p on p.id = i.parent
    where (i.ended_at is null or i.ended_at > w.since) and i.opened_at <= ${until}::timestamptz
      and i.kind in ('stuck', 'unreachable') and p.site is null and coalesce(i.alerted_at, p.alerted_at) is not null
    order by i.opened_at, i.id`;

/** How many purchases are stuck now, by site and state: counters, and the oldest of each. */
export const stuckNow = (sql: Queries, sites: readonly string[]) => sql<OfSite<DigestStuck>[]>`
    select g.site, g.state, g.count, o.state_since as since
    from (
      select site, state, sum(count)::float8 as count from purchase_watch.purchase_totals
      where stuck and state is not null and site = any(${sites}::text[]) group by site, state having sum(count) > 0) g
    left join lateral (
      select p.state_since from purchase_watch.purchases p
      where p.stuck_since is not null and p.site = g.site and p.state = g.state order by p.state_since limit 1) o on true
    order by g.site, g.state`;

/** Days before the reported ones from which the usual is computed, and how many stays these days need for that. */
const USUAL_DAYS = 14;
const ENOUGH_STAYS = 100;

/** How stays ended on the days that ended since a moment, with the share that was usual on calm days before. */
export const staysSince = (sql: Queries, sites: readonly SiteWindow[], until: Instant) => sql<OfSite<DigestStays>[]>`
    select site, state, well, overdue, other, case when calm >= ${ENOUGH_STAYS} then calm_overdue / calm end as usual_share
    from (
      select d.site, d.state, sum(d.well) filter (where d.day >= w.day)::float8 as well,
        sum(d.overdue) filter (where d.day >= w.day)::float8 as overdue, sum(d.other) filter (where d.day >= w.day)::float8 as other,
        sum(d.well + d.overdue) filter (where d.calm and d.day < w.day)::float8 as calm,
        sum(d.overdue) filter (where d.calm and d.day < w.day)::float8 as calm_overdue
      from ${windows(sql, sites)} w join purchase_watch_internal.stay_days d on d.site = w.site
      where d.day >= w.day - ${USUAL_DAYS}::integer and d.day < ${day(sql, until)}
      group by d.site, d.state) s
    where well is not null order by site, state`;

/** Good exits in one bucket of domain/stays/dwell.ts: on the reported days, or (`usual`) on the days before them. */
export type PaceCount = OfSite<DwellCount & { readonly state: number; readonly usual: boolean }>;

/** Dwell times of good exits on the same days as `staysSince`. */
export const paceSince = (sql: Queries, sites: readonly SiteWindow[], until: Instant) => sql<PaceCount[]>`
    select d.site, d.state, d.day < w.day as usual, d.bucket::integer as bucket, sum(d.shortest)::float8 as shortest, sum(d.longest)::float8 as longest
    from ${windows(sql, sites)} w join purchase_watch_internal.dwell_days d on d.site = w.site
    where d.day >= w.day - ${USUAL_DAYS}::integer and d.day < ${day(sql, until)}
    group by d.site, d.state, d.day < w.day, d.bucket order by d.site, d.state, d.bucket`;

/** How many purchases of each site became unreadable or expired since a moment, of the newest `MOST_COUNTED` events of each type. */
export const lostSince = (
  sql: Queries,
  sites: readonly SiteWindow[],
  until: Instant,
): Promise<{ site: string; unreadable: number; expired: number }[]> => sql`
    select w.site, count(*) filter (where e.type = 'purchase.unreadable') as unreadable,
      count(*) filter (where e.type = 'purchase.expired') as expired
    from unnest(array['purchase.unreadable', 'purchase.expired']) as t (type)
    cross join lateral (
      select type, site, created_at from purchase_watch_internal.events
      where type = t.type order by type desc, era desc, xid desc, position desc limit ${MOST_COUNTED}) e
    join ${windows(sql, sites)} w on w.site = e.site
    where e.created_at > w.since and e.created_at <= ${until}::timestamptz
    group by w.site order by w.site`;

/** Subscribers whose deliveries were given up since a moment, or wait until the subscriber takes events again. */
export const troubleSince = (
  sql: Queries,
  { since, except }: { since: Instant; except: readonly number[] },
): Promise<DigestSubscriber[]> => sql`
    select s.id, s.name, g.count as given_up, w.count as parked, s.status = 'off' as off
    from purchase_watch_internal.subscribers s left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id
    cross join lateral (
      select count(*) from (
        select from purchase_watch_internal.deliveries d
        where d.subscriber = s.id and d.status = 'exhausted' and d.settled_at > ${since}::timestamptz
        order by d.settled_at desc limit ${MOST_COUNTED}) d) g
    cross join lateral (
      select count(*) from (
        select from purchase_watch_internal.deliveries d
        where (s.failed_at is not null or h.paused_until is not null) and d.subscriber = s.id and d.status = 'pending'
        order by d.id + 0 limit ${MOST_COUNTED}) d) w
    -- A subscriber that a person switched off is no trouble.
    where s.configured and (s.status = 'active' or s.failed_at is not null) and s.id <> all(${`{${except.join()}}`}::integer[])
      and (g.count > 0 or w.count > 0 or s.status = 'off') order by s.id`;

/**
 * Writes digests and up to when they are made, all or nothing; false when this replica does not hold the judge's lease under
 * this epoch any more, or when a digest of one of the sites was made meanwhile.
 */
export async function saveDigests(
  sql: Queries,
  digests: { events: readonly NewEvent[]; sites: readonly SiteWindow[]; madeUpTo: Instant; lease: Lease },
): Promise<boolean> {
  const { events, sites, madeUpTo, lease } = digests;
  const rows = await sql<{ made: boolean }[]>`
    with ${holding(sql, lease)},
    ready as materialized (
      select s.name from purchase_watch_internal.sites s join ${windows(sql, sites)} w on w.site = s.name
      where exists (select from held) and (s.digest_at is null or s.digest_at <= w.since) order by s.name for no key update of s),
    made as (
      update purchase_watch_internal.sites set digest_at = ${madeUpTo}::timestamptz
      where name in (select name from ready) and (select count(*) from ready) = ${sites.length} returning name),
    ${announcing(sql, events, sql`(select count(*) from ready) = ${sites.length}`)}
    select true as made from made union all select null from notified`;
  return rows.some(({ made }) => made);
}
