/** Moves due times in the future back when the database's clock is set back. */

import { LEAST_STEP } from '../../domain/values/clock-ahead.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { firstValue, onlyRow } from '../connection/rows.ts';
import { held, type Writer } from '../deliveries/settle.ts';
import { FIRST_BULK_SLOT } from '../migrations/names.ts';
import { moveTimesBack } from './move-times-back.ts';

export interface StepBack extends Writer {
  readonly now: Instant;
  /** How far the clock was set back. */
  readonly by: Milliseconds;
}

/** Row ids examined in one statement: more would hold locks for long. */
const AT_ONCE = 10_000;

/** Rows that other sessions had locked, so that their times were not moved. */
export interface UnmovedRows {
  readonly purchases: readonly number[];
  readonly firstPolls: readonly number[];
  readonly deliveries: readonly number[];
  /** Rows of small tables. */
  readonly others: number;
}

export interface MovedBack {
  /** Purchases and deliveries that were moved. */
  readonly purchases: number;
  readonly deliveries: number;
  /** Null when every time was moved. */
  readonly left: UnmovedRows | null;
}

/**
 * Makes the next polls and deliveries of the replica's shards due as much earlier as the clock was set back, and ends pauses
 * of subscribers as much earlier. Each statement examines a bounded range of ids, and skips rows that other sessions have locked.
 * `only`: moves nothing but what was left behind before.
 */
export async function moveDueBack(sql: Queries, given: StepBack, only: UnmovedRows | null = null): Promise<MovedBack> {
  // Whole milliseconds, like all times that the daemon writes.
  const step = { ...given, by: Math.round(given.by) };
  const [last] = await sql<[{ purchases: number; deliveries: number }]>`
    select coalesce((select max(id) from purchase_watch.purchases), 0)::float8 as purchases,
      coalesce((select max(id) from purchase_watch_internal.deliveries), 0)::float8 as deliveries`;
  const parts = (through: number, ids: readonly number[] | undefined) =>
    ids === undefined ? ranges(sql, through) : listed(sql, ids);
  const polls = await moved(parts(last.purchases, only?.purchases), (rows) => movePurchases(sql, step, rows));
  const firstPolls = await moved(parts(last.purchases, only?.firstPolls), (rows) => moveFirstPolls(sql, step, rows));
  const deliveries = await moved(parts(last.deliveries, only?.deliveries), (rows) => moveDeliveries(sql, step, rows));
  const others = only?.others === 0 ? 0 : (await moveTimesBack(sql, step)) + (await endPausesEarlier(sql, step));
  const left = { purchases: polls.locked, firstPolls: firstPolls.locked, deliveries: deliveries.locked, others };
  const isWhole = others === 0 && [polls, firstPolls, deliveries].every(({ locked }) => locked.length === 0);
  return { purchases: polls.count + firstPolls.count, deliveries: deliveries.count, left: isWhole ? null : left };
}

interface Moved {
  readonly count: number;
  /** Ids of rows that other sessions have locked. */
  readonly locked: number[];
}

/** Conditions on the table `r` that divide its rows up to an id. */
function* ranges(sql: Queries, through: number): Generator<Fragment> {
  for (let from = 0; from < through; from += AT_ONCE) yield sql`r.id > ${from} and r.id <= ${from + AT_ONCE}`;
}
function* listed(sql: Queries, ids: readonly number[]): Generator<Fragment> {
  for (let from = 0; from < ids.length; from += AT_ONCE)
    yield sql`r.id = any(${`{${ids.slice(from, from + AT_ONCE).join()}}`}::bigint[])`;
}

async function moved(parts: Iterable<Fragment>, move: (rows: Fragment) => Promise<Moved>): Promise<Moved> {
  let count = 0;
  const locked: number[] = [];
  for (const rows of parts) {
    const some = await move(rows);
    count += some.count;
    locked.push(...some.locked);
  }
  return { count, locked };
}

/** Ends pauses of subscribers earlier; answers how many are locked. */
const endPausesEarlier = (sql: Queries, { now, by }: Pick<StepBack, 'now' | 'by'>) =>
  firstValue<number>(sql`
    with paused as materialized (select subscriber from purchase_watch_internal.subscriber_health where paused_until > ${now}::timestamptz),
    free as materialized (
      select h.subscriber from purchase_watch_internal.subscriber_health h
      where h.subscriber in (select subscriber from paused) for update skip locked),
    moved as (
      update purchase_watch_internal.subscriber_health h set trying_until = null,
        paused_until = greatest(h.paused_until - ${by}::float8 * interval '1 millisecond', ${now}::timestamptz)
      from free f where h.subscriber = f.subscriber returning 1),
    woken as materialized (select pg_notify('purchase_watch_wake', channel) from (values ('subscribers'), ('purchases'), ('replays')) w (channel))
    select (select count(*) from paused) - (select count(*) from moved) as locked, (select count(*) from woken) as woken`);

/**
 * A purchase moves by no more than brings its last poll to the present: a shard that was taken over after a failover may hold times of
 * before an earlier step, too, and `by` is the largest. A stay that were moved by more would look that much older, and stuck.
 */
async function movePurchases(sql: Queries, { now, by, ...writer }: StepBack, rows: Fragment): Promise<Moved> {
  // A time that was written before the clock was set back is ahead of the clock. A moved time is not, so each time moves once.
  const isAhead = (row: string, column: string): Fragment => sql`${sql(row)}.${sql(column)} > ${now + LEAST_STEP}::timestamptz`;
  const back = (row: string, column: string): Fragment => sql`
    case when ${isAhead(row, column)} then ${sql(row)}.${sql(column)} - due.step else ${sql(row)}.${sql(column)} end`;
  const [row] = await sql<[Moved]>`
    with ${held(sql, writer)},
    asked as materialized (
      select r.id from purchase_watch.purchases r join held on held.id = r.shard where ${rows} and r.next_poll_at is not null),
    due as materialized (
      select p.id, least(p.next_poll_at, greatest(p.next_poll_at - ${by}::float8 * interval '1 millisecond', ${now}::timestamptz)) as at,
        least(${by}::float8 * interval '1 millisecond', case when ${isAhead('p', 'seen_at')} then p.seen_at - ${now}::timestamptz end) as step
      from asked join purchase_watch.purchases p on p.id = asked.id for update of p skip locked),
    moved as (
      update purchase_watch.purchases p set next_poll_at = due.at, due_slot = case when p.due_slot >= ${FIRST_BULK_SLOT} then purchase_watch_internal.bulk_slot(due.at) else purchase_watch_internal.due_slot(due.at) end,
        revision = p.revision + 1,
        seen_at = ${back('p', 'seen_at')}, state_since = ${back('p', 'state_since')}, stuck_since = ${back('p', 'stuck_since')},
        watched_since = ${back('p', 'watched_since')},
        -- The time that the clock skipped forward, if any, was added to the excused time of a stay that began before the skip.
        excused_ms = case when ${isAhead('p', 'seen_at')} and not ${isAhead('p', 'state_since')} then greatest(p.excused_ms - extract(epoch from due.step) * 1000, 0) else p.excused_ms end
      from due where p.id = due.id returning p.id, p.shard),
    -- An alert moves together with the stay that it is about.
    alerts as (
      update purchase_watch_internal.stuck_alerts a set state_since = ${back('a', 'state_since')}, stuck_at = ${back('a', 'stuck_at')}, alerted_at = ${back('a', 'alerted_at')}
      from due where a.purchase = due.id and a.ended_at is null),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from moved)
    select (select count(*) from moved) as count, array(select id from asked where id not in (select id from due)) as locked`;
  return row;
}

/**
 * Makes first polls due that a registration planned while the clock was ahead, in the shards of all replicas: an owner that was cut off
 * meanwhile has not seen the clock ahead. A poll under way of such a purchase is refused, as after any change from outside.
 */
async function moveFirstPolls(sql: Queries, { now }: StepBack, rows: Fragment): Promise<Moved> {
  const ahead = sql`${now + LEAST_STEP}::timestamptz`;
  const slot = sql`purchase_watch_internal.due_slot(${now}::timestamptz)`;
  const [row] = await sql<[Moved]>`
    with asked as materialized (
      select r.id from purchase_watch.purchases r
      where ${rows} and r.polls = 0 and r.registered_at > ${ahead} and r.next_poll_at > ${ahead} and r.next_poll_at <= r.registered_at),
    ahead as materialized (
      select p.id from asked join purchase_watch.purchases p on p.id = asked.id for no key update of p skip locked),
    moved as (
      update purchase_watch.purchases p set next_poll_at = ${now}::timestamptz, revision = p.revision + 1,
        due_slot = ${slot} + case when p.due_slot >= ${FIRST_BULK_SLOT} then ${FIRST_BULK_SLOT}::integer else 0 end
      from ahead where p.id = ahead.id returning p.id, p.shard),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from moved)
    select (select count(*) from moved) as count, array(select id from asked where id not in (select id from ahead)) as locked`;
  return row;
}

const moveDeliveries = (sql: Queries, { now, by, ...writer }: StepBack, rows: Fragment) =>
  onlyRow(sql<Moved[]>`
    with ${held(sql, writer)},
    asked as materialized (
      select r.id from purchase_watch_internal.deliveries r join held on held.id = r.shard
      where ${rows} and r.status = 'pending' and r.due_at > ${now}::timestamptz),
    free as materialized (
      select d.id from asked join purchase_watch_internal.deliveries d on d.id = asked.id for no key update of d skip locked),
    moved as (
      update purchase_watch_internal.deliveries d
      set due_at = greatest(d.due_at - ${by}::float8 * interval '1 millisecond', ${now}::timestamptz)
      from free where d.id = free.id and d.status = 'pending' returning 1)
    select (select count(*) from moved) as count, array(select id from asked where id not in (select id from free)) as locked`);
