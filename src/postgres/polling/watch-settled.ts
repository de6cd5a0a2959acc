/** Settled purchases of states that are not final any more. */

import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';

/** How many settled purchases a state has. */
export interface SettledCount {
  readonly state: number;
  readonly count: number;
}

/** Settled purchases by state, of one site or all. Reads counters. */
export const countSettled = (sql: Queries, site: string | null = null) => sql<SettledCount[]>`
    select state, sum(count)::float8 as count from purchase_watch.purchase_totals
    where status = 'settled' and state is not null and (${site}::text is null or site = ${site})
    group by state having sum(count) > 0 order by state`;

/** Which settled purchases are watched again, how many at most, and how fast. */
export interface WatchSettled {
  readonly state: number;
  /** Null: of all sites. */
  readonly site: string | null;
  readonly limit: number;
  /** Purchases that were taken before: the first polls of all are spread evenly. */
  readonly before: number;
  /** First polls a second. */
  readonly perSecond: number;
}

/**
 * Watches settled purchases of a state again; answers how many. The time since their last poll does not count towards stuck.
 * Rows that another transaction holds are left out.
 */
export const watchSettled = (sql: Queries, { state, site, limit, before, perSecond }: WatchSettled) =>
  firstValue<number>(sql`
    with candidate as materialized (
      select p.id from purchase_watch.purchases p
      where p.status = 'settled' and coalesce(p.state, -2147483648) = ${state} and p.state = ${state}
        and (${site}::text is null or p.site = ${site})
      limit ${limit} for update of p skip locked),
    planned as (
      select id, now() + (${before} + row_number() over (order by id)) / ${perSecond}::float8 * interval '1 second' as at from candidate),
    watched as (
      update purchase_watch.purchases p set status = 'watching', watched_since = now(), ended_at = null, next_poll_at = n.at, next_poll_reason = 'renewed',
        due_slot = purchase_watch_internal.due_slot(n.at), revision = p.revision + 1, failures = 0, unknowns = 0,
        excused_ms = p.excused_ms + greatest(extract(epoch from now() - p.seen_at) * 1000, 0)::bigint
      from planned n where p.id = n.id returning p.id, p.shard),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from watched),
    woken as materialized (select pg_notify('purchase_watch_wake', 'purchases') from watched limit 1)
    select (select count(*) from watched) as count, (select count(*) from woken) as woken`);
