/** Moves due times in the future back when the database's clock is set back. */

import type { Holding } from '../../domain/replicas/ownership.ts';
import { LEAST_STEP } from '../../domain/values/clock-ahead.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { held } from '../deliveries/settle.ts';
import { FIRST_BULK_SLOT } from '../migrations/names.ts';
import { moveTimesBack } from './move-times-back.ts';

export interface StepBack {
  readonly replica: string;
  readonly holdings: readonly Holding[];
  readonly now: Instant;
  /** How far the clock was set back. */
  readonly by: Milliseconds;
}

/** Row ids examined in one statement: more would hold locks for long. */
const AT_ONCE = 10_000;

/**
 * Makes the next polls and deliveries of the replica's shards due as much earlier as the clock was set back, and ends pauses
 * of subscribers as much earlier; answers how many purchases and deliveries were moved. Each statement examines a bounded
 * range of ids.
 */
export async function moveDueBack(sql: Queries, given: StepBack): Promise<{ purchases: number; deliveries: number }> {
  // Whole milliseconds, like all times that the daemon writes.
  const step = { ...given, by: Math.round(given.by) };
  const [last] = await sql<[{ purchases: number; deliveries: number }]>`
    select coalesce((select max(id) from purchase_watch.purchases), 0)::float8 as purchases,
      coalesce((select max(id) from purchase_watch_internal.deliveries), 0)::float8 as deliveries`;
  const moved = { purchases: 0, deliveries: 0 };
  for (let from = 0; from < last.purchases; from += AT_ONCE) moved.purchases += await movePurchases(sql, step, from);
  for (let from = 0; from < last.purchases; from += AT_ONCE) moved.purchases += await moveFirstPolls(sql, step, from);
  for (let from = 0; from < last.deliveries; from += AT_ONCE) moved.deliveries += await moveDeliveries(sql, step, from);
  await moveTimesBack(sql, step);
  const { now, by } = step;
  await sql`
    with moved as (
      update purchase_watch_internal.subscriber_health set trying_until = null,
        paused_until = greatest(paused_until - ${by}::float8 * interval '1 millisecond', ${now}::timestamptz)
      where paused_until > ${now}::timestamptz returning 1)
    select pg_notify('purchase_watch_wake', channel) from (values ('subscribers'), ('purchases'), ('replays')) w (channel)`;
  return moved;
}

async function movePurchases(sql: Queries, { now, by, ...writer }: StepBack, from: number): Promise<number> {
  // A time that was written before the clock was set back is ahead of the clock. A moved time is not, so each time moves once.
  const isAhead = (row: string, column: string): Fragment => sql`${sql(row)}.${sql(column)} > ${now + LEAST_STEP}::timestamptz`;
  const back = (row: string, column: string): Fragment => sql`
    case when ${isAhead(row, column)} then ${sql(row)}.${sql(column)} - ${by}::float8 * interval '1 millisecond' else ${sql(row)}.${sql(column)} end`;
  const [row] = await sql<[{ count: number }]>`
    with ${held(sql, writer)},
    due as materialized (
      select p.id, least(p.next_poll_at, greatest(p.next_poll_at - ${by}::float8 * interval '1 millisecond', ${now}::timestamptz)) as at
      from purchase_watch.purchases p join held on held.id = p.shard
      where p.id > ${from} and p.id <= ${from + AT_ONCE} and p.next_poll_at is not null for update of p),
    moved as (
      update purchase_watch.purchases p set next_poll_at = due.at, due_slot = case when p.due_slot >= ${FIRST_BULK_SLOT} then purchase_watch_internal.bulk_slot(due.at) else purchase_watch_internal.due_slot(due.at) end,
        revision = p.revision + 1,
        seen_at = ${back('p', 'seen_at')}, state_since = ${back('p', 'state_since')}, stuck_since = ${back('p', 'stuck_since')},
        watched_since = ${back('p', 'watched_since')},
        -- The time that the clock skipped forward, if any, was added to the excused time of a stay that began before the skip.
        excused_ms = case when ${isAhead('p', 'seen_at')} and not ${isAhead('p', 'state_since')} then greatest(p.excused_ms - ${by}, 0) else p.excused_ms end
      from due where p.id = due.id returning p.id, p.shard),
    -- An alert moves together with the stay that it is about.
    alerts as (
      update purchase_watch_internal.stuck_alerts a set state_since = ${back('a', 'state_since')}, stuck_at = ${back('a', 'stuck_at')}, alerted_at = ${back('a', 'alerted_at')}
      from due where a.purchase = due.id and a.ended_at is null),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from moved)
    select count(*)::float8 as count from moved`;
  return row.count;
}

/**
 * Makes first polls due that a registration planned while the clock was ahead, in the shards of all replicas: an owner that was cut off
 * meanwhile has not seen the clock ahead. A poll under way of such a purchase is refused, as after any change from outside.
 */
async function moveFirstPolls(sql: Queries, { now }: StepBack, from: number): Promise<number> {
  const ahead = sql`${now + LEAST_STEP}::timestamptz`;
  const slot = sql`purchase_watch_internal.due_slot(${now}::timestamptz)`;
  const [row] = await sql<[{ count: number }]>`
    with ahead as materialized (
      select p.id from purchase_watch.purchases p
      where p.id > ${from} and p.id <= ${from + AT_ONCE} and p.polls = 0 and p.registered_at > ${ahead}
        and p.next_poll_at > ${ahead} and p.next_poll_at <= p.registered_at for no key update skip locked),
    moved as (
      update purchase_watch.purchases p set next_poll_at = ${now}::timestamptz, revision = p.revision + 1,
        due_slot = ${slot} + case when p.due_slot >= ${FIRST_BULK_SLOT} then ${FIRST_BULK_SLOT}::integer else 0 end
      from ahead where p.id = ahead.id returning p.id, p.shard),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from moved)
    select count(*)::float8 as count from moved`;
  return row.count;
}

async function moveDeliveries(sql: Queries, { now, by, ...writer }: StepBack, from: number): Promise<number> {
  const { count } = await sql`
    with ${held(sql, writer)}
    update purchase_watch_internal.deliveries d
    set due_at = greatest(d.due_at - ${by}::float8 * interval '1 millisecond', ${now}::timestamptz)
    from held where d.shard = held.id and d.id > ${from} and d.id <= ${from + AT_ONCE} and d.status = 'pending'
      and d.due_at > ${now}::timestamptz`;
  return count;
}
