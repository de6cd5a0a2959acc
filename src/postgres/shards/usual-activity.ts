/** A usual minute: the average over the same time of the days before; null of fewer days than say something. */

import { ENOUGH_DAYS, USUAL_DAYS } from '../../domain/flow/flow.ts';
import { MINUTE } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { firstRow } from '../connection/rows.ts';
import type { MinuteRange } from './activity.ts';

/** Days before a range for which counts are kept, with their number; `earliest`: a query for the time of the first count, as `at`. */
const daysBefore = (sql: Queries, { first }: MinuteRange, earliest: Fragment): Fragment => sql`
  select n * interval '24 hours' as back, count(*) over () as days
  from (${earliest}) e cross join generate_series(1, ${USUAL_DAYS}::integer) n
  where e.at <= ${first}::timestamptz - n * interval '24 hours'`;

// With `offset 0` Postgres reads each day's rows by the index, instead of all days at once.
const onThatDay = (sql: Queries, { first, last }: MinuteRange): Fragment =>
  sql`minute between ${first}::timestamptz - d.back and ${last}::timestamptz - d.back`;

const minutesIn = ({ first, last }: MinuteRange): number => (last - first) / MINUTE + 1;

/** Polls at all sites or at one (`site`), those without an answer, and how late the most delayed one was, in a minute of the range. */
export async function usualPolled(sql: Queries, range: MinuteRange, site: string | null) {
  const sites = sql`(select name from purchase_watch_internal.sites where ${site === null ? sql`true` : sql`name = ${site}`})`;
  const earliest = sql`
    select min(f.minute) as at from ${sites} s
    cross join lateral (select minute from purchase_watch_internal.activity where site = s.name order by minute limit 1) f`;
  const [row] = await sql<{ polls: number; failedPolls: number; greatestLagMs: number | null }[]>`
    select (coalesce(sum(polls), 0) / max(days) / ${minutesIn(range)})::float8 as polls, (coalesce(sum(failed), 0) / max(days) / ${minutesIn(range)})::float8 as failed_polls,
      avg(lag)::float8 as greatest_lag_ms
    from (
      select max(d.days) as days, sum(a.polls) as polls, sum(a.failed_polls) as failed, max(a.greatest_lag_ms) filter (where a.polls > 0) as lag
      from (${daysBefore(sql, range, earliest)}) d cross join ${sites} s
      left join lateral (select * from purchase_watch_internal.activity where site = s.name and ${onThatDay(sql, range)} offset 0) a on true
      group by d.back, a.minute) minute
    having max(days) >= ${ENOUGH_DAYS}`;
  return row ?? null;
}

/** Attempts whose event the receiver took, to all subscribers or to one (`subscriber`), in a minute of the range. */
export const usualDelivered = (sql: Queries, range: MinuteRange, subscriber: string | null) =>
  firstRow(sql<{ delivered: number }[]>`
    select (coalesce(sum(a.delivered), 0) / max(d.days) / ${minutesIn(range)})::float8 as delivered
    from (${daysBefore(sql, range, sql`select min(minute) as at from purchase_watch_internal.delivery_activity`)}) d
    left join lateral (
      select delivered from purchase_watch_internal.delivery_activity
      where ${onThatDay(sql, range)} and ${subscriber === null ? sql`true` : sql`subscriber = ${subscriber}`} offset 0) a on true
    having max(d.days) >= ${ENOUGH_DAYS}`);
