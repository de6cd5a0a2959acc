/** Sending again: a delivery goes back to where it waited, keeps the attempts it had, and begins its schedule again. */

import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { hasRows, onlyRow } from '../connection/rows.ts';
import { wanting } from '../events/events.ts';
import { type Rank, REPLAYED } from './deliveries.ts';

/**
 * The part of a statement that sends the deliveries of an earlier part `old` again, whose rows `old` has locked. The attempt
 * that delivered becomes a row of `attempts` with its number, because the delivery's columns will hold the next attempt. The
 * reason why a delivery was suppressed is dropped: it is no attempt's error. `rank` may be an expression over `old`.
 */
export const sendingAgain = (sql: Queries, rank: Rank | Fragment): Fragment => sql`
    kept as (
      insert into purchase_watch_internal.attempts (delivery, number, at, took_ms, http_status, outcome, excerpt)
      select id, attempts, settled_at, took_ms, http_status, 'delivered', excerpt from old
      where status = 'delivered' and took_ms is not null on conflict do nothing),
    again as (
      update purchase_watch_internal.deliveries d set status = 'pending', settled_at = null, due_at = now(), attempts_before = d.attempts,
        rank = ${rank}, took_ms = null, http_status = null, excerpt = null,
        last_error = case when old.status = 'suppressed' then null else d.last_error end
      from old where d.id = old.id returning d.id, d.rank)`;

/** A delivery that was delivered before is sent again like a replay, after all new deliveries: its subscriber has the event already. */
const handRank = (sql: Queries): Fragment => sql`
  case when old.status = 'delivered'
    or exists (select from purchase_watch_internal.attempts a where a.delivery = old.id and a.outcome = 'delivered')
  then ${REPLAYED}::smallint else 0 end`;

/**
 * Makes one delivery due now, whatever its status; false when there is no such delivery, or its subscriber is gone. A delivery
 * that was never delivered takes its place in the order again, before later ones; one that was delivered goes out after all new ones.
 */
export const retryDelivery = (sql: Queries, id: number) =>
  hasRows(sql`
    with old as materialized (
      select d.* from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber and s.configured
      where d.id = ${id} for update of d),
    ${sendingAgain(sql, handRank(sql))}
    select pg_notify('purchase_watch_wake', case rank when ${REPLAYED}::smallint then 'replays' else 'deliveries' end) from again`);

/** Which events are sent again to whom. */
export interface ReplayRange {
  /** The subscriber's row id. */
  readonly subscriber: number;
  readonly since: Instant;
  readonly until: Instant;
  /** Null: every type that the subscriber wants. */
  readonly types: readonly string[] | null;
}

/** The findings of one step of a replay up to a position, and whether more events follow. */
export interface ReplayStep {
  /** How many deliveries are sent again. */
  readonly count: number;
  /** How many deliveries wait for their first or their next try anyway, and are not changed. */
  readonly waiting: number;
  /** How many purchases these deliveries are about; the events of one purchase are sent one after the other. */
  readonly purchases: number;
  readonly oldest: Instant | null;
  readonly newest: Instant | null;
  /** Where the next step begins. */
  readonly position: number;
  readonly more: boolean;
}

/** By how much the order of events by time may differ from their order by position. */
const SLACK = 15 * 60_000;

/** The first and the last position that events of a range can have. */
export const boundsOf = (sql: Queries, { since, until }: ReplayRange) =>
  onlyRow(sql<{ after: number; last: number }[]>`
    select (purchase_watch_internal.position_at(${since - SLACK}::timestamptz) - 1)::float8 as after,
      (purchase_watch_internal.position_at(${until + SLACK}::timestamptz) - 1)::float8 as last`);

/**
 * Reads the next `limit` events of a range and, unless `dryRun` asks for the counts only, sends those that the subscriber wants
 * again, after all new ones. A delivery that waits already, for its first or its next try, is not changed: a replay overtakes
 * nothing and brings nothing forward.
 */
export async function replayStep(
  sql: Queries,
  { subscriber, since, until, types }: ReplayRange,
  { after, last, limit, dryRun }: { after: number; last: number; limit: number; dryRun: boolean },
): Promise<ReplayStep> {
  const [row] = await sql<[Omit<ReplayStep, 'more'> & { seen: number }]>`
    with range as materialized (
      select e.position, e.purchase, e.created_at, e.shard, e.state, e.type, e.site, e.about, e.recipients from purchase_watch_internal.events e
      where e.position > ${after} and e.position <= ${last} order by e.position limit ${limit}),
    wanted as materialized (
      select e.position, e.purchase, e.created_at, e.shard, d.id, d.status from range e
      join purchase_watch_internal.subscribers s on s.id = ${subscriber} and s.configured and ${wanting(sql)}
      left join purchase_watch_internal.deliveries d on d.event = e.position and d.subscriber = s.id
      where e.created_at between ${since}::timestamptz and ${until}::timestamptz
        and (${types}::text[] is null or e.type = any(${types}::text[]))),
    chosen as materialized (select * from wanted where status is distinct from 'pending')
    ${dryRun ? sql`` : sending(sql, subscriber)}
    select (select count(*) from chosen) as count, (select count(*) from wanted where status = 'pending') as waiting,
      (select count(distinct coalesce(purchase, -position)) from chosen)::float8 as purchases,
      (select min(created_at) from chosen) as oldest,
      (select max(created_at) from chosen) as newest,
      coalesce((select max(position) from range), ${last}::bigint)::float8 as position, (select count(*) from range) as seen
      ${dryRun ? sql`` : sql`, (select count(*) from notified) as notified`}`;
  const { seen, ...step } = row;
  return { ...step, more: seen >= limit && step.position < last };
}

/**
 * Sends the last event of each of these purchases again to a subscriber that wants it, after all new ones, as `replayStep` does. Answers
 * how many deliveries that are, and how many wait in any case.
 */
export async function announceAgain(
  sql: Queries,
  { subscriber, purchases }: { subscriber: number; purchases: readonly number[] },
  { dryRun }: { dryRun: boolean },
): Promise<{ count: number; waiting: number }> {
  const [row] = await sql<[{ count: number; waiting: number }]>`
    with range as materialized (
      select e.* from unnest(${purchases}::bigint[]) i (id)
      cross join lateral (
        select e.position, e.purchase, e.shard, e.state, e.type, e.site, e.about, e.recipients from purchase_watch_internal.events e
        where e.purchase = i.id order by e.sequence desc limit 1) e),
    chosen_or_waiting as materialized (
      select e.position, e.purchase, e.shard, d.id, d.status from range e
      join purchase_watch_internal.subscribers s on s.id = ${subscriber} and s.configured and ${wanting(sql)}
      left join purchase_watch_internal.deliveries d on d.event = e.position and d.subscriber = s.id),
    chosen as materialized (select * from chosen_or_waiting where status is distinct from 'pending')
    ${dryRun ? sql`` : sending(sql, subscriber)}
    select (select count(*) from chosen) as count,
      (select count(*) from chosen_or_waiting where status = 'pending') as waiting
      ${dryRun ? sql`` : sql`, (select count(*) from notified) as notified`}`;
  return { count: row.count, waiting: row.waiting };
}

const sending = (sql: Queries, subscriber: number): Fragment => sql`,
    old as materialized (
      select d.* from chosen c join purchase_watch_internal.deliveries d on d.id = c.id where d.status <> 'pending' order by d.id for update of d),
    ${sendingAgain(sql, REPLAYED)},
    made as (
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, rank)
      select c.position, coalesce(c.purchase, 0), ${subscriber}::integer, c.shard, now(), ${REPLAYED} from chosen c where c.id is null
      order by c.position on conflict do nothing returning id),
    notified as (
      select pg_notify('purchase_watch_wake', 'replays') where exists (select from again) or exists (select from made))`;
