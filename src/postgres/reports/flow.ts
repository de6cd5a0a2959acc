/** Counts of the flow of purchases from state to state, and how long purchases have waited. Reads counters and the fronts of indexes. */

import { ENOUGH_DAYS, type FlowHour, type SiteEdge, type SiteUsual, USUAL_DAYS } from '../../domain/flow/flow.ts';
import { type Instant, MINUTE, type Milliseconds } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';

const ofSite = (sql: Queries, site: string | null) => (site === null ? sql`true` : sql`s.name = ${site}`);

/** Transitions in the hour by site and states, of all sites or of one. */
export const countedEdges = (sql: Queries, { from, present }: FlowHour, site: string | null) => sql<SiteEdge[]>`
    select s.name as site, c.from_state as from, c.to_state as to, sum(c.count)::float8 as count
    from purchase_watch_internal.sites s
    cross join lateral (
      select from_state, to_state, count from purchase_watch_internal.transition_counts
      where site = s.name and bucket between ${from}::timestamptz and ${present}::timestamptz
      union all
      select from_state, to_state, count from purchase_watch_internal.transition_count_changes
      where site = s.name and bucket between ${from}::timestamptz and ${present}::timestamptz) c
    where ${ofSite(sql, site)}
    group by s.name, c.from_state, c.to_state order by 1, 2, 3`;

/**
 * The usual counts at this time of day, for each site with enough counted days: the mean over earlier days since the site's
 * first transition, without days on which nothing was counted. The bucket that is under way now counts on each earlier day by
 * the share that has passed of it now. Reads some hundred buckets of a site.
 */
export async function usualEdges(sql: Queries, { from, present, to }: FlowHour, site: string | null): Promise<SiteUsual[]> {
  const rows = await sql<{ site: string; days: number; from: number | null; to: number | null; mean: number | null }[]>`
    with day as materialized (
      select s.name as site, d.back, count(*) over (partition by s.name) as days
      from purchase_watch_internal.sites s
      cross join lateral (
        select bucket as at from purchase_watch_internal.transition_counts where site = s.name order by bucket limit 1) first
      cross join lateral (select n * interval '24 hours' as back from generate_series(1, ${USUAL_DAYS}::integer) n) d
      where ${ofSite(sql, site)} and first.at <= ${from}::timestamptz - d.back and exists (
        select from purchase_watch_internal.transition_counts
        where site = s.name and bucket > ${present}::timestamptz - d.back - interval '24 hours' and bucket <= ${present}::timestamptz - d.back))
    select day.site, day.days::float8 as days, c.from_state as from, c.to_state as to,
      sum(case when c.bucket = ${present}::timestamptz - day.back
        then c.count * ${(to - present) / (10 * MINUTE)}::float8 else c.count end) / day.days as mean
    from day left join lateral (
      select bucket, from_state, to_state, count from purchase_watch_internal.transition_counts
      where site = day.site and bucket between ${from}::timestamptz - day.back and ${present}::timestamptz - day.back) c on true
    where day.days >= ${ENOUGH_DAYS}
    group by day.site, day.days, c.from_state, c.to_state order by 1, 3, 4`;
  return [...Map.groupBy(rows, (row) => row.site)].map(([name, ofName]) => ({
    site: name,
    days: ofName[0]!.days,
    ways: ofName.flatMap((row) => (row.to === null ? [] : [{ from: row.from, to: row.to, mean: row.mean ?? 0 }])),
  }));
}

/** A watched purchase, with the times from which follows how long it has been in its state. */
export interface WaitingRow {
  readonly site: string;
  readonly state: number;
  readonly stateSince: Instant;
  readonly seenAt: Instant | null;
  readonly stuckSince: Instant | null;
  readonly excused: Milliseconds;
}

/** The purchases that have been longest in some states of sites, at most `most` in each. */
export async function longestWaiting(
  sql: Queries,
  places: readonly { readonly site: string; readonly state: number }[],
  most: number,
): Promise<WaitingRow[]> {
  if (places.length === 0) return [];
  return sql<WaitingRow[]>`
    select w.site, w.state, p.state_since, p.seen_at, p.stuck_since, p.excused_ms as excused
    from ${columns(sql, places, 'w', 'site text, state integer')}
    cross join lateral (
      select state_since, seen_at, stuck_since, excused_ms from purchase_watch.purchases
      where site = w.site and state = w.state and state is not null and status = 'watching'
      order by state_since limit ${most}) p`;
}
