/** Reads the counts of ends and attempts of a time. The cost grows with the hours or days that are read, and not with the purchases. */

import type { Share } from '../../domain/trends/compare.ts';
import { type CountedOutcome, LISTED_ENDS, type OutcomeCount } from '../../domain/trends/ends.ts';
import type { Period } from '../../domain/trends/period.ts';
import { DAY, type Instant, isoTime, SECOND } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { onlyRow } from '../connection/rows.ts';

/** Customers whose checkout ended in an hour. */
export interface EndedInHour extends Share {
  readonly hour: Instant;
  /** How many of their purchases were deleted since. */
  readonly gone: number;
}
/** Counts of a way or of a currency; the other one is null. Those of a `slice` have both, and the site. */
export interface EndedSum extends OutcomeCount {
  readonly by: 'way' | 'currency' | 'stuck_currency' | 'slice';
  /** Null but of a slice. */
  readonly site: string | null;
  /** Null: no poll showed a state. */
  readonly way: number | null;
  readonly currency: string | null;
  /** The exact digits of the sum of stored amounts. */
  readonly amount: string;
}

const ofSite = (sql: Queries, site: string | null): Fragment => sql`
  ${site === null ? sql`true` : sql`site = ${site}`} and site = any (array(select name from purchase_watch_internal.sites))`;
const within = (sql: Queries, { from, to }: Period, site: string | null, time = sql`hour`): Fragment => sql`
  ${time} >= ${from}::timestamptz and ${time} < ${to}::timestamptz and ${ofSite(sql, site)}`;

/** SQL: customers of counted rows, and those who paid. A sum of int8 is a numeric, and takes half as long again. */
const SHARE = `coalesce(sum(customers::float8), 0) as customers, coalesce(sum(customers::float8) filter (where outcome = 'paid'), 0) as paid, coalesce(sum(gone::float8), 0) as gone`;
const CAME = `sum(customers::float8) > 0`;
const isCustomer = (sql: Queries): Fragment => sql`outcome = any (${[...LISTED_ENDS.customer]}::text[])`;

/** Customers by hour, in order; hours without any are missing. They come in one row: to read thousands takes longer than to count them. */
export async function endedInHours(sql: Queries, period: Period, site: string | null): Promise<EndedInHour[]> {
  const { hours, customers, paid, gone } = await onlyRow(sql<Record<'hours' | 'customers' | 'paid' | 'gone', number[]>[]>`
    select coalesce(array_agg(date_part('epoch', hour)), '{}') as hours, array_agg(customers) as customers, array_agg(paid) as paid, array_agg(gone) as gone
    from (
      select hour, ${sql.unsafe(SHARE)} from purchase_watch_internal.outcome_hour_sums
      where ${within(sql, period, site)} and ${isCustomer(sql)} group by 1 having ${sql.unsafe(CAME)} order by 1) ended`);
  return hours.map((hour, at) => ({ hour: hour * SECOND, customers: customers[at]!, paid: paid[at]!, gone: gone[at]! }));
}

/** SQL: pieces of time as rows `p ("from", "to", place)`, the first place 1. Reading piece by piece needs no sorting. */
const listed = (sql: Queries, pieces: readonly Period[]): Fragment => sql`
    unnest(${pieces.map(({ from }) => isoTime(from))}::timestamptz[], ${pieces.map(({ to }) => isoTime(to))}::timestamptz[])
      with ordinality p ("from", "to", place)`;

/** Customers by piece of time, whose beginning stands for the hour. */
export const endedInPieces = (sql: Queries, pieces: readonly Period[], site: string | null) => sql<EndedInHour[]>`
    select p."from" as hour, h.* from ${listed(sql, pieces)}
    cross join lateral (
      select ${sql.unsafe(SHARE)} from purchase_watch_internal.outcome_hour_sums
      where hour >= p."from" and hour < p."to" and ${ofSite(sql, site)} and ${isCustomer(sql)} having ${sql.unsafe(CAME)}) h
    order by 1`;

/** The first hour that is counted, of all sites or of one; null: none. */
export async function firstCountedHour(sql: Queries, site: string | null): Promise<Instant | null> {
  const [row] = await sql<[{ first: Instant | null }]>`
    select min(h.hour) as first from purchase_watch_internal.sites s
    cross join lateral (select hour from purchase_watch_internal.outcome_hour_sums where site = s.name order by hour limit 1) h
    where ${site === null ? sql`true` : sql`s.name = ${site}`}`;
  return row.first;
}

/** Customers by hour and the state that they waited in last: for a few days at most. */
export const endedInHoursByWay = (sql: Queries, period: Period, site: string | null) => sql<
  (EndedInHour & { readonly way: number | null })[]
>`
    select hour, way, ${sql.unsafe(SHARE)} from purchase_watch_internal.outcome_hours
    where ${within(sql, period, site)} and ${isCustomer(sql)} group by 1, 2 having ${sql.unsafe(CAME)} order by 1, 2`;

/**
 * Purchases by the state that they waited in last, and by currency: those whose amount and currency are stored; of these once more
 * those that were stuck. Once more all of them by site, state and currency together. Without `amounts` each amount is 0.
 */
export const endedSums = (sql: Queries, period: Period, site: string | null, { amounts = true } = {}) => sql<EndedSum[]>`
    select case when grouping(site) = 0 then 'slice' when grouping(way) = 0 then 'way' when grouping(was_stuck) = 0 then 'stuck_currency' else 'currency' end as by,
      site, way, currency, was_stuck, outcome, sum(customers) as customers, sum(gone) as gone, sum(amount)::text as amount
    from (
      select site, way, currency, was_stuck, outcome, sum(customers::float8) as customers, sum(gone::float8) as gone, sum(${amounts ? sql`amount` : sql`0`}) as amount
      from (${wholeDays(sql, period, site)}) counted group by 1, 2, 3, 4, 5) summed
    group by grouping sets ((way, was_stuck, outcome), (currency, outcome), (currency, was_stuck, outcome), (site, way, currency, outcome))
    having sum(customers) > 0 and (grouping(way) = 0 or (currency <> '*' and (grouping(was_stuck) = 1 or was_stuck)))
    order by 1, 2, 3, 4, 5, 6`;

/** Purchases of each site by the state that they waited in last, and outcome. */
export const endedAtSites = (sql: Queries, period: Period) => sql<
  { site: string; way: number | null; outcome: CountedOutcome; customers: number }[]
>`
    select site, way, outcome, sum(customers)::float8 as customers from purchase_watch_internal.outcome_hours
    where ${within(sql, period, null)} group by 1, 2, 3 having sum(customers) > 0 order by 1, 2, 3`;

/** Amounts of each site by currency and outcome, of those purchases whose amount and currency are stored. */
export const endedAmountsAtSites = (sql: Queries, period: Period) => sql<
  { site: string; currency: string; outcome: CountedOutcome; amount: number }[]
>`
    select site, currency, outcome, sum(amount)::float8 as amount from purchase_watch_internal.outcome_hours
    where ${within(sql, period, null)} and currency <> '*' group by 1, 2, 3 having sum(customers) > 0 order by 1, 2, 3`;

/** The counts of a period: sums of the days of UTC that lie in it, and hours before the first and after the last of them. */
function wholeDays(sql: Queries, period: Period, site: string | null): Fragment {
  const [first, last] = [Math.ceil(period.from / DAY) * DAY, Math.floor(period.to / DAY) * DAY];
  const columns = sql`site, way, currency, was_stuck, outcome, customers, gone, amount`;
  const hours = (part: Period): Fragment =>
    sql`select ${columns} from purchase_watch_internal.outcome_hours where ${within(sql, part, site)}`;
  if (first >= last) return hours(period);
  return sql`
    select ${columns} from purchase_watch_internal.outcome_day_sums where ${within(sql, { from: first, to: last }, site, sql`day`)}
    union all ${hours({ from: period.from, to: first })}
    union all ${hours({ from: last, to: period.to })}`;
}

/** How long purchases of a site waited in a state before their end: by piece of time and bucket of src/domain/stays/dwell.ts. */
export const waitedIn = (sql: Queries, pieces: readonly Period[], { site, way }: { site: string; way: number }) => sql<
  { place: number; bucket: number; customers: number }[]
>`
    select p.place - 1 as place, h.bucket, h.customers from ${listed(sql, pieces)}
    cross join lateral (
      select bucket::integer as bucket, sum(customers::float8) as customers from purchase_watch_internal.waited_hours
      where hour >= p."from" and hour < p."to" and site = ${site} and way = ${way} and customers > 0 group by 1) h
    order by 1, 2`;

export interface AttemptSum {
  readonly subscriber: string;
  /** Of a piece of time; null in a sum by bucket. */
  readonly place: number | null;
  /** The bucket of the time that attempts took, see took_bucket; null in a sum by piece. */
  readonly bucket: number | null;
  readonly attempts: number;
  /** Attempts that the receiver did not take. */
  readonly failed: number;
}

/** Attempts by subscriber and piece of time, and by subscriber and how long they took. */
export const attemptsIn = (sql: Queries, pieces: readonly Period[]) => sql<AttemptSum[]>`
    select s.name as subscriber, h.place, h.bucket::integer as bucket, h.attempts, h.failed from (
      select subscriber, place, bucket, sum(attempts) as attempts, sum(failed) as failed
      from (
        select subscriber, width_bucket(hour, ${pieces.map(({ from }) => isoTime(from))}::timestamptz[]) - 1 as place, bucket,
          sum(attempts::float8) as attempts, coalesce(sum(attempts::float8) filter (where not delivered), 0) as failed
        from purchase_watch_internal.delivery_hours
        where subscriber in (select id from purchase_watch_internal.subscribers)
          and hour >= ${pieces[0]!.from}::timestamptz and hour < ${pieces.at(-1)!.to}::timestamptz group by 1, 2, 3) placed
      group by grouping sets ((subscriber, place), (subscriber, bucket))) h
    join purchase_watch_internal.subscribers s on s.id = h.subscriber order by 1, 2, 3`;
