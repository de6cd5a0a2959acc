/** Reads the counts by hour of a time. The cost grows with the hours and slices read, and not with the purchases. */

import type { CountedOutcome } from '../../domain/trends/ends.ts';
import type { Period } from '../../domain/trends/period.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';

interface Counted {
  readonly outcome: CountedOutcome;
  readonly customers: number;
}
export interface EndedInHour extends Counted {
  readonly hour: Instant;
}
export interface EndedByWay extends Counted {
  readonly way: number | null;
}
export interface EndedAmount extends Counted {
  readonly currency: string;
  /** The amount's exact digits. */
  readonly amount: string;
}

const within = (sql: Queries, { from, to }: Period, site: string | null): Fragment => sql`
  hour >= ${from}::timestamptz and hour < ${to}::timestamptz and ${site === null ? sql`true` : sql`site = ${site}`}
  and site in (select name from purchase_watch_internal.sites)`;

/** Purchases by hour and outcome, in order; hours without any are missing. */
export const endedInHours = (sql: Queries, period: Period, site: string | null) => sql<EndedInHour[]>`
    select hour, outcome, sum(customers)::float8 as customers from purchase_watch_internal.outcome_hours
    where ${within(sql, period, site)} group by 1, 2 having sum(customers) > 0 order by 1, 2`;

/** Purchases by the state that they waited in last, and outcome. */
export const endedByWay = (sql: Queries, period: Period, site: string | null) => sql<EndedByWay[]>`
    select way, outcome, sum(customers)::float8 as customers from purchase_watch_internal.outcome_hours
    where ${within(sql, period, site)} group by 1, 2 having sum(customers) > 0 order by 1, 2`;

/** Amounts by currency and outcome, of those purchases whose amount and currency are stored. */
export const endedAmounts = (sql: Queries, period: Period, site: string | null) => sql<EndedAmount[]>`
    select currency, outcome, sum(customers)::float8 as customers, sum(amount)::text as amount from purchase_watch_internal.outcome_hours
    where ${within(sql, period, site)} and currency <> '*' group by 1, 2 having sum(customers) > 0 order by 1, 2`;

/** Purchases of each site by the state that they waited in last, and outcome. */
export const endedAtSites = (sql: Queries, period: Period) => sql<(EndedByWay & { readonly site: string })[]>`
    select site, way, outcome, sum(customers)::float8 as customers from purchase_watch_internal.outcome_hours
    where ${within(sql, period, null)} group by 1, 2, 3 having sum(customers) > 0 order by 1, 2, 3`;

/** Amounts of each site by currency and outcome, of those purchases whose amount and currency are stored. */
export const endedAmountsAtSites = (sql: Queries, period: Period) => sql<
  { site: string; currency: string; outcome: CountedOutcome; amount: number }[]
>`
    select site, currency, outcome, sum(amount)::float8 as amount from purchase_watch_internal.outcome_hours
    where ${within(sql, period, null)} and currency <> '*' group by 1, 2, 3 having sum(customers) > 0 order by 1, 2, 3`;

/** How long purchases waited in the state before their end: by hour and bucket of src/domain/stays/dwell.ts. */
export const waitedInHours = (sql: Queries, period: Period, site: string | null) => sql<
  { hour: Instant; bucket: number; customers: number }[]
>`
    select hour, bucket::integer as bucket, sum(customers)::float8 as customers from purchase_watch_internal.waited_hours
    where ${within(sql, period, site)} group by 1, 2 having sum(customers) > 0 order by 1, 2`;

/** Attempts by subscriber: how many, and how many of them the receiver did not take. */
export const attemptsIn = (sql: Queries, { from, to }: Period) => sql<{ subscriber: string; attempts: number; failed: number }[]>`
    select s.name as subscriber, sum(h.attempts)::float8 as attempts,
      coalesce(sum(h.attempts) filter (where not h.delivered), 0)::float8 as failed
    from purchase_watch_internal.subscribers s join purchase_watch_internal.delivery_hours h on h.subscriber = s.id
    where h.hour >= ${from}::timestamptz and h.hour < ${to}::timestamptz group by s.name order by s.name`;
