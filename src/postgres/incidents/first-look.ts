/** Sites where purchases were waiting before anybody watched them. */
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { announcing, type NewEvent } from '../events/events.ts';
import type { Lease } from '../shards/replicas.ts';

/** Who is registered this soon after the first answer was there before us. */
const BEFORE_US: Milliseconds = 10 * 60_000;

/** A site whose first look people were not alerted of yet. */
export interface FirstLook {
  readonly site: string;
  /** When somebody was first found overdue who had been there before us. */
  readonly foundAt: Instant;
}

/** Configured sites where a first look found stuck purchases, and people were not alerted yet. */
export async function firstLooks(sql: Queries): Promise<FirstLook[]> {
  return sql<FirstLook[]>`
    select name as site, first_look_since as "foundAt" from purchase_watch_internal.sites
    where configured and first_look_since is not null and first_look_said_at is null order by name`;
}

/** What a first look at a site shows. */
export interface FirstLookFindings {
  /** Purchases overdue now that were there before us, by state. */
  readonly overdue: readonly { readonly state: number; readonly count: number; readonly since: Instant }[];
  /** Purchases registered at the site, and those of them that were never seen yet. */
  readonly registered: number;
  readonly unseen: number;
  /** Of those overdue now, how many people were alerted of by themselves. */
  readonly single: number;
}

/** Reads the purchases that are overdue at a site, and counters. */
export async function lookAtSite(sql: Queries, site: string): Promise<FirstLookFindings> {
  const overdue = await sql<{ state: number; count: number; since: Instant; single: number }[]>`
    select p.state, count(*)::float8 as count, count(*) filter (where exists (
        select from purchase_watch_internal.stuck_alerts a
        where a.purchase = p.id and a.state_since = p.state_since and a.alerted_at is not null))::float8 as single, min(p.state_since) as since
    from purchase_watch.purchases p join purchase_watch_internal.sites s on s.name = p.site
    where p.stuck_since is not null and p.site = ${site}
      and p.registered_at <= s.first_success_at + ${BEFORE_US}::float8 * interval '1 millisecond'
    group by p.state order by count desc, p.state`;
  const [totals] = await sql<[{ registered: number; unseen: number }]>`
    select coalesce(sum(count), 0)::float8 as registered,
      coalesce(sum(count) filter (where state is null and status = 'watching'), 0)::float8 as unseen
    from purchase_watch.purchase_totals where site = ${site}`;
  const single = overdue.reduce((sum, each) => sum + each.single, 0);
  return { overdue: overdue.map(({ single: _, ...each }) => each), single, ...totals };
}

/**
 * Notes that first looks at sites were told, and writes their events, all or nothing; answers the sites of which this was
 * the time: none when the judge's lease is not ours any more under this epoch.
 */
export async function saveFirstLooks(
  sql: Queries,
  { sites, events, now, lease }: { sites: readonly string[]; events: readonly NewEvent[]; now: Instant; lease: Lease },
): Promise<string[]> {
  const rows = await sql<{ site: string | null }[]>`
    with held as materialized (
      select from purchase_watch_internal.leases where name = ${lease.name} and owner = ${lease.replica} and epoch = ${lease.epoch} for share),
    said as (
      update purchase_watch_internal.sites set first_look_said_at = ${now}::timestamptz
      where name = any(${sites as string[]}::text[]) and first_look_said_at is null and exists (select from held) returning name),
    ${announcing(sql, events, sql`e.site in (select name from said)`)}
    select name as site from said union all select null from told`;
  return rows.flatMap(({ site }) => (site === null ? [] : [site]));
}
