/** Counts of polls, changes and attempts in each minute, over all replicas: for the rates that people are shown. */

import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';

/** Work of one replica at one site since the replica last wrote its counts. */
export interface Activity {
  readonly site: string;
  readonly polls: number;
  readonly failedPolls: number;
  readonly changes: number;
}

/** Work with how long after its due time the most delayed poll began. */
export interface PollActivity extends Activity {
  readonly greatestLag: Milliseconds;
}

/** Adds work to the present minute. */
export async function addActivity(sql: Queries, work: readonly PollActivity[]): Promise<void> {
  const rounded = work.map((each) => ({ ...each, greatestLag: Math.round(each.greatestLag) }));
  await sql`
    insert into purchase_watch_internal.activity as a (site, minute, polls, failed_polls, changes, greatest_lag_ms)
    select site, date_trunc('minute', now()), polls, failed_polls, changes, greatest_lag
    from ${columns(sql, rounded, 'r', 'site text, polls bigint, failed_polls bigint, changes bigint, greatest_lag bigint')}
    -- All replicas use this order, so that two never wait for each other.
    order by site
    on conflict (site, minute) do update set polls = a.polls + excluded.polls, failed_polls = a.failed_polls + excluded.failed_polls,
      changes = a.changes + excluded.changes, greatest_lag_ms = greatest(a.greatest_lag_ms, excluded.greatest_lag_ms)`;
}

/** Attempts of one replica for one subscriber since the replica last wrote its counts. */
export interface DeliveryActivity {
  /** The subscriber's name. */
  readonly subscriber: string;
  readonly delivered: number;
  readonly failedAttempts: number;
}

/** Adds attempts to the present minute. */
export async function addDeliveryActivity(sql: Queries, work: readonly DeliveryActivity[]): Promise<void> {
  await sql`
    insert into purchase_watch_internal.delivery_activity as a (minute, subscriber, delivered, failed_attempts)
    select date_trunc('minute', now()), subscriber, delivered, failed_attempts
    from ${columns(sql, work, 'r', 'subscriber text, delivered bigint, failed_attempts bigint')}
    order by subscriber
    on conflict (minute, subscriber) do update set delivered = a.delivered + excluded.delivered,
      failed_attempts = a.failed_attempts + excluded.failed_attempts`;
}

/** Work at a site within the last minutes, the present minute included. */
export interface ActivitySums extends Activity {
  /** The minutes that the counts cover: whole ones, and the part of the present minute that has passed. */
  readonly minutes: number;
}

/** Work at each site over the last `minutes`; sites without any are missing. */
export const recentActivity = (sql: Queries, minutes: number) => sql<ActivitySums[]>`
    select a.site, sum(a.polls)::float8 as polls, sum(a.failed_polls)::float8 as failed_polls, sum(a.changes)::float8 as changes,
      (extract(epoch from now() - date_trunc('minute', now())) / 60 + ${minutes}::float8)::float8 as minutes
    from purchase_watch_internal.sites s
    cross join lateral (
      select * from purchase_watch_internal.activity where site = s.name and minute >= date_trunc('minute', now()) - ${minutes}::float8 * interval '1 minute') a
    group by a.site order by a.site`;

/** Minutes by their begin, the first and the last included. */
export interface MinuteRange {
  readonly first: Instant;
  readonly last: Instant;
}

export interface PolledMinute extends Omit<PollActivity, 'site'> {
  readonly minute: Instant;
}

/** Polls and changes of each minute at all sites or at one (`site`), in order; minutes without any are missing. */
export const polledMinutes = (sql: Queries, { first, last }: MinuteRange, site: string | null) => sql<PolledMinute[]>`
    select a.minute, sum(a.polls)::float8 as polls, sum(a.failed_polls)::float8 as failed_polls, sum(a.changes)::float8 as changes,
      max(a.greatest_lag_ms)::float8 as greatest_lag
    from purchase_watch_internal.sites s
    cross join lateral (
      select * from purchase_watch_internal.activity
      where site = s.name and minute between ${first}::timestamptz and ${last}::timestamptz) a
    where ${site === null ? sql`true` : sql`s.name = ${site}`} group by a.minute order by a.minute`;

export interface DeliveredMinute extends Omit<DeliveryActivity, 'subscriber'> {
  readonly minute: Instant;
}

/** Attempts of each minute for all subscribers or for one (its name), in order; minutes without any are missing. */
export const deliveredMinutes = (sql: Queries, { first, last }: MinuteRange, subscriber: string | null) => sql<DeliveredMinute[]>`
    select minute, sum(delivered)::float8 as delivered, sum(failed_attempts)::float8 as failed_attempts
    from purchase_watch_internal.delivery_activity
    where minute between ${first}::timestamptz and ${last}::timestamptz
      and ${subscriber === null ? sql`true` : sql`subscriber = ${subscriber}`}
    group by minute order by minute`;
