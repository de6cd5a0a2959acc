/** Sites whose first load holds stuck purchases. */
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { announcing, type NewEvent } from '../events/events.ts';
import { holding, type Lease } from '../shards/leases.ts';
import { isOfFirstLoad } from '../stays/first-load.ts';

/** A site whose first look found stuck purchases, of which people were not alerted yet. */
export interface FirstLookSite {
  readonly site: string;
  /** When the first purchase of the first load was found stuck. */
  readonly foundAt: Instant;
  /** When a purchase of the first load got stuck last. */
  readonly lastAt: Instant;
}

/** Stuck purchases of a first load that are read to find the last one. */
const MOST_READ = 10_000;

/** Configured sites whose first look found stuck purchases, and of which people were not alerted yet. */
export const firstLooks = (sql: Queries) => sql<FirstLookSite[]>`
    select s.name as site, s.first_look_since as found_at, greatest(s.first_look_since, l.at) as last_at
    from purchase_watch_internal.sites s cross join lateral (
      select max(p.stuck_since) as at from (
        select p.stuck_since from purchase_watch.purchases p
        where p.site = s.name and p.stuck_since is not null and ${isOfFirstLoad(sql)} limit ${MOST_READ}) p) l
    where s.configured and s.first_look_since is not null and s.first_look_alerted_at is null order by s.name`;

/** The findings of a first look at a site. */
export interface FirstLookFindings {
  /** Purchases of the first load that are stuck now, by state. */
  readonly overdue: readonly { readonly state: number; readonly count: number; readonly since: Instant }[];
  /** Purchases registered at the site, and how many of these no poll has shown yet. */
  readonly registered: number;
  readonly unseen: number;
  /** Of how many of the stuck purchases people were alerted one by one. */
  readonly single: number;
}

/** Reads the purchases that are stuck at a site, and counters. */
export async function lookAtSite(sql: Queries, site: string): Promise<FirstLookFindings> {
  const overdue = await sql<{ state: number; count: number; since: Instant; single: number }[]>`
    select p.state, count(*), count(*) filter (where exists (
        select from purchase_watch_internal.stuck_alerts a
        where a.purchase = p.id and a.state_since = p.state_since and a.alerted_at is not null))::float8 as single, min(p.state_since) as since
    from purchase_watch.purchases p join purchase_watch_internal.sites s on s.name = p.site
    where p.stuck_since is not null and p.site = ${site}
      and ${isOfFirstLoad(sql)}
    group by p.state order by count desc, p.state`;
  const [totals] = await sql<[{ registered: number; unseen: number }]>`
    select coalesce(sum(count), 0)::float8 as registered,
      coalesce(sum(count) filter (where state is null and status = 'watching'), 0)::float8 as unseen
    from purchase_watch.purchase_totals where site = ${site}`;
  const single = overdue.reduce((sum, each) => sum + each.single, 0);
  return { overdue: overdue.map(({ single: _, ...each }) => each), single, ...totals };
}

/**
 * Writes that people are alerted of the first looks at sites, and the events, all or nothing; answers the sites that were not
 * alerted before: none when this replica does not hold the judge's lease under this epoch any more.
 */
export async function saveFirstLooks(
  sql: Queries,
  { sites, events, now, lease }: { sites: readonly string[]; events: readonly NewEvent[]; now: Instant; lease: Lease },
): Promise<string[]> {
  const rows = await sql<{ site: string | null }[]>`
    with ${holding(sql, lease)},
    alerted as (
      update purchase_watch_internal.sites set first_look_alerted_at = ${now}::timestamptz
      where name = any(${sites}::text[]) and first_look_alerted_at is null and exists (select from held) returning name),
    ${announcing(sql, events, sql`e.site in (select name from alerted)`)}
    select name as site from alerted union all select null from notified`;
  return rows.flatMap(({ site }) => (site === null ? [] : [site]));
}
