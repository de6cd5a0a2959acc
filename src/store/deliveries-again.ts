/** Sending again: a delivery goes back to where it waited, keeps the attempts it had, and begins its schedule anew. */
import type { Instant } from '../core/purchase.ts';
import type { Queries } from './database.ts';
import { wanting } from './events.ts';

/** Makes one delivery due now, whatever became of it; false when there is none, or its subscriber is gone. */
export async function retryDelivery(sql: Queries, id: number): Promise<boolean> {
  const rows = await sql`
    with again as (
      update purchase_watch.deliveries d set status = 'pending', settled_at = null, due_at = now(), attempts_before = d.attempts
      from purchase_watch.subscribers s
      where d.id = ${id} and s.id = d.subscriber and s.configured returning d.id)
    select pg_notify('purchase_watch_wake', 'deliveries') from again`;
  return rows.length > 0;
}

/** Which events are sent again to whom. */
export interface ReplayRange {
  /** The subscriber's row id. */
  readonly subscriber: number;
  readonly since: Instant;
  readonly until: Instant;
  /** Null: all that it wants. */
  readonly types: readonly string[] | null;
}

/** How a replay goes on: what was found up to a position, and whether that was the last. */
export interface ReplayStep {
  readonly count: number;
  readonly oldest: Instant | null;
  readonly newest: Instant | null;
  /** Where the next step begins. */
  readonly position: number;
  readonly more: boolean;
}

/** Events are made nearly in the order of their positions; so much they may differ. */
const SLACK = 15 * 60_000;

/** The positions between which everything of a range lies. */
export async function boundsOf(sql: Queries, { since, until }: ReplayRange): Promise<{ after: number; last: number }> {
  const [row] = await sql<[{ after: number; last: number }]>`
    select (purchase_watch.position_at(to_timestamp(${since - SLACK}::float8 / 1000)) - 1)::float8 as after,
      (purchase_watch.position_at(to_timestamp(${until + SLACK}::float8 / 1000)) - 1)::float8 as last`;
  return row;
}

/**
 * Looks at the next so many events of a range and, unless it is only to be counted, has those that the subscriber wants
 * sent again. What is due already is left alone, so that this never waits for what is being sent.
 */
export async function replayStep(
  sql: Queries,
  { subscriber, since, until, types }: ReplayRange,
  { after, last, limit, dryRun }: { after: number; last: number; limit: number; dryRun: boolean },
): Promise<ReplayStep> {
  const [row] = await sql<[Omit<ReplayStep, 'more'> & { seen: number }]>`
    with range as materialized (
      select e.position, e.purchase, e.created_at, e.shard, e.state, e.type, e.site from purchase_watch.events e
      where e.position > ${after} and e.position <= ${last} order by e.position limit ${limit}),
    chosen as materialized (
      select e.position, e.purchase, e.created_at, e.shard from range e
      join purchase_watch.subscribers s on s.id = ${subscriber} and s.configured and ${wanting(sql)}
      where e.created_at between to_timestamp(${since}::float8 / 1000) and to_timestamp(${until}::float8 / 1000)
        and (${types as string[] | null}::text[] is null or e.type = any(${types as string[] | null}::text[])))
    ${dryRun ? sql`` : sending(sql, subscriber)}
    select (select count(*) from chosen)::float8 as count, (select extract(epoch from min(created_at)) * 1000 from chosen)::float8 as oldest,
      (select extract(epoch from max(created_at)) * 1000 from chosen)::float8 as newest,
      coalesce((select max(position) from range), ${last}::bigint)::float8 as position, (select count(*) from range)::float8 as seen
      ${dryRun ? sql`` : sql`, (select count(*) from told) as told`}`;
  const { count, oldest, newest, position, seen } = row;
  return { count, oldest, newest, position, more: seen >= limit && position < last };
}

const sending = (sql: Queries, subscriber: number) => sql`,
    again as (
      update purchase_watch.deliveries d set status = 'pending', settled_at = null, due_at = now(), attempts_before = d.attempts
      from chosen c where d.event = c.position and d.subscriber = ${subscriber} and (d.status <> 'pending' or d.due_at > now())
      returning d.id),
    made as (
      insert into purchase_watch.deliveries (event, lane, subscriber, shard, due_at)
      select c.position, coalesce(c.purchase, 0), ${subscriber}::integer, c.shard, now() from chosen c
      where not exists (select from purchase_watch.deliveries d where d.event = c.position and d.subscriber = ${subscriber})
      order by c.position on conflict do nothing returning id),
    told as (
      select pg_notify('purchase_watch_wake', 'deliveries') where exists (select from again) or exists (select from made))`;
