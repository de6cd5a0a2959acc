/** Moves stored times back after the database's clock was set back: times ahead of the clock, where work waits for these times. */

import { type Detection, movedBack } from '../../domain/incidents/detection.ts';
import { LEAST_STEP } from '../../domain/values/clock-steps.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { firstValue, onlyRow } from '../connection/rows.ts';
import { FIRST_BULK_SLOT } from '../migrations/names.ts';

/** Rows of purchases examined, and deliveries moved, in one statement: more would hold locks for long. */
const AT_ONCE = 10_000;

/** Tables that do not grow with the number of purchases, with their columns of past times. */
const TIMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['idempotency_keys', ['created_at']],
  [
    'incidents',
    ['opened_at', 'since', 'quiet_since', 'ended_at', 'alerted_at', 'announced_at', 'acknowledged_at', 'reopened_at'],
  ],
  ['leases', ['done_at']],
  ['replica_troubles', ['since']],
  ['silences', ['created_at']],
  ['site_reach', ['last_read_at', 'failing_since']],
  ['sites', ['failing_since', 'last_read_at', 'last_success_at', 'first_success_at', 'first_look_since', 'digest_at']],
  ['stays', ['entered_at', 'at']],
  ['subscriber_health', ['failing_since', 'our_failing_since']],
]);

/** Columns of times that may lie in the future. They move with the row's first column in `TIMES`, because they were computed from it. */
const ENDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['idempotency_keys', ['busy_until']],
  ['incidents', ['ends_at']],
  ['silences', ['starts_at', 'ends_at']],
]);

/** Rows that were moved, and rows that were not, because other sessions have locked them. */
export interface Moved {
  readonly moved: number;
  readonly locked: number;
}

/**
 * Moves everything back while the last renewal of some replica lies ahead of the clock. Answers by how much the clock was set back and
 * what was moved, or null when it was not set back. `before`: what the call before answered as `by`; 0 unless there was one. Once
 * nothing is left to be moved and every living replica has renewed its lease by the present clock, the next call answers null.
 */
export async function moveTimesBack(sql: Queries, { now, before }: { now: Instant; before: Milliseconds }) {
  const limit = sql`${now + LEAST_STEP}::timestamptz`;
  const by = await firstValue<Milliseconds | null>(sql`
    select (extract(epoch from max(renewed_at) - ${now}::timestamptz) * 1000)::float8 as by
    from purchase_watch_internal.renewals where renewed_at > ${limit}`);
  if (by === null) return null;
  // The rest of a step shrinks as time passes, and grows with another step.
  const isFirst = by > before;
  const purchases = await movePurchases(sql, now);
  const deliveries = await moveDeliveries(sql, { now, isFirst });
  const others = await moveOthers(sql, { now, by, isFirst });
  if ([purchases, deliveries, others].every(({ moved, locked }) => moved + locked === 0))
    await sql`
      update purchase_watch_internal.renewals set renewed_at = ${now}::timestamptz where renewed_at > ${limit} and not exists (
        select from purchase_watch_internal.replicas r where r.id = replica and r.expires_at - r.lease_ms * interval '1 millisecond' > ${limit})`;
  return { by, purchases, deliveries, others };
}

/**
 * A purchase moves by as much as brings its newest past time to the present: a stay that were moved by more would look older than it
 * is, and stuck. A poll under way is refused, as after any change from outside.
 */
async function movePurchases(sql: Queries, now: Instant): Promise<Moved> {
  const last = await firstValue<number>(sql`select coalesce(max(id), 0)::float8 as last from purchase_watch.purchases`);
  const newest = sql`greatest(p.last_polled_at, p.seen_at, p.watched_since, p.state_since, p.stuck_since)`;
  const isAhead = (row: string, column: string): Fragment => sql`${sql(row)}.${sql(column)} > ${now + LEAST_STEP}::timestamptz`;
  const back = (row: string, column: string): Fragment => sql`
    case when ${isAhead(row, column)} then ${sql(row)}.${sql(column)} - due.step else ${sql(row)}.${sql(column)} end`;
  let all: Moved = { moved: 0, locked: 0 };
  for (let from = 0; from < last; from += AT_ONCE) {
    const ahead = sql`
      purchase_watch.purchases p where p.id > ${from} and p.id <= ${from + AT_ONCE} and p.next_poll_at is not null
        and ${newest} > ${now + LEAST_STEP}::timestamptz`;
    const some = await onlyRow(sql<Moved[]>`
      with due as materialized (
        select p.id, ${newest} - ${now}::timestamptz as step, greatest(p.next_poll_at - (${newest} - ${now}::timestamptz), ${now}::timestamptz) as at
        from ${ahead} for update skip locked),
      moved as (
        update purchase_watch.purchases p set next_poll_at = due.at, due_slot = case when p.due_slot >= ${FIRST_BULK_SLOT} then purchase_watch_internal.bulk_slot(due.at) else purchase_watch_internal.due_slot(due.at) end,
          revision = p.revision + 1, last_polled_at = ${back('p', 'last_polled_at')},
          seen_at = ${back('p', 'seen_at')}, state_since = ${back('p', 'state_since')}, stuck_since = ${back('p', 'stuck_since')},
          watched_since = ${back('p', 'watched_since')}, at_risk_since = ${back('p', 'at_risk_since')},
          -- The time that the clock skipped forward, if any, was added to the excused time of a stay that began before the skip.
          excused_ms = case when ${isAhead('p', 'seen_at')} and not ${isAhead('p', 'state_since')} then greatest(p.excused_ms - extract(epoch from due.step) * 1000, 0) else p.excused_ms end
        from due where p.id = due.id returning p.id, p.shard),
      -- An alert moves together with the stay that it is about.
      alerts as (
        update purchase_watch_internal.stuck_alerts a set state_since = ${back('a', 'state_since')}, stuck_at = ${back('a', 'stuck_at')}, alerted_at = ${back('a', 'alerted_at')}
        from due where a.purchase = due.id and a.ended_at is null),
      nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from moved)
      select count(*)::float8 as moved, (select count(*) from ${ahead})::float8 - count(*)::float8 as locked from moved`);
    all = sum(all, some);
  }
  return all;
}

/** Makes pending deliveries due: all at first, then those that were made or attempted by a clock ahead of the present one. */
async function moveDeliveries(sql: Queries, { now, isFirst }: { now: Instant; isFirst: boolean }): Promise<Moved> {
  const limit = sql`${now + LEAST_STEP}::timestamptz`;
  const madeAt = sql`coalesce((select a.at from purchase_watch_internal.attempts a where a.delivery = d.id and a.number = d.attempts),
    (select e.created_at from purchase_watch_internal.events e where e.position = d.event))`;
  const ahead = sql`
    purchase_watch_internal.deliveries d where d.status = 'pending' and d.due_at > ${limit} and (${isFirst} or ${madeAt} > ${limit})`;
  let moved = 0;
  for (let some = AT_ONCE; some === AT_ONCE; moved += some)
    some = await sql`
      update purchase_watch_internal.deliveries set due_at = ${now}::timestamptz where id = any(array(
        select d.id from ${ahead} limit ${AT_ONCE} for no key update of d skip locked))`.then(({ count }) => count);
  return { moved, locked: await firstValue<number>(sql`select count(*)::float8 as count from ${ahead}`) };
}

/** Moves what does not grow with the number of purchases by as much as the clock was set back, ends pauses of subscribers at first, and wakes the notifiers. */
async function moveOthers(
  sql: Queries,
  { now, by, isFirst }: { now: Instant; by: Milliseconds; isFirst: boolean },
): Promise<Moved> {
  const limit = sql`${now + LEAST_STEP}::timestamptz`;
  const moved = (column: string, when: string): Fragment => sql`
    ${sql(column)} = case when ${sql(when)} > ${limit} then ${sql(column)} - ${by}::float8 * interval '1 millisecond' else ${sql(column)} end`;
  let all: Moved = { moved: 0, locked: 0 };
  for (const [table, columns] of TIMES) {
    const ends = (ENDS.get(table) ?? []).map((column) => moved(column, columns[0]!));
    const set = list(sql, [...columns.map((column) => moved(column, column)), ...ends]);
    const newest = list(
      sql,
      columns.map((column) => sql`${sql(column)}`),
    );
    all = sum(all, await moveRows(sql, table, { set, where: sql`greatest(${newest}) > ${limit}` }));
  }
  const where = sql`${isFirst} and paused_until > ${limit}`;
  all = sum(
    all,
    await moveRows(sql, 'subscriber_health', { set: sql`paused_until = ${now}::timestamptz, trying_until = null`, where }),
  );
  await moveDetections(sql, { now, by });
  // Skipped time that lies ahead was taken back.
  await sql`
    update purchase_watch_internal.database_clock set skipped = skipped * tstzmultirange(tstzrange(null, ${now}::timestamptz))
    where upper(skipped) > ${now}::timestamptz`;
  await sql`select pg_notify('purchase_watch_wake', channel) from (values ('subscribers'), ('purchases'), ('replays')) w (channel)`;
  return all;
}

const moveRows = (sql: Queries, table: string, { set, where }: { set: Fragment; where: Fragment }) =>
  onlyRow(sql<Moved[]>`
    with free as materialized (
      select ctid as place from ${sql(`purchase_watch_internal.${table}`)} where ${where} for no key update skip locked),
    moved as (
      update ${sql(`purchase_watch_internal.${table}`)} set ${set} where ctid = any(array(select place from free)) returning 1)
    select count(*)::float8 as moved, (select count(*) from ${sql(`purchase_watch_internal.${table}`)} where ${where})::float8 - count(*)::float8 as locked
    from moved`);

const sum = (a: Moved, b: Moved): Moved => ({ moved: a.moved + b.moved, locked: a.locked + b.locked });

const list = (sql: Queries, parts: readonly Fragment[]): Fragment => parts.reduce((all, part) => sql`${all}, ${part}`);

async function moveDetections(sql: Queries, step: { now: Instant; by: Milliseconds }): Promise<void> {
  for (const { memory, site, state } of await sql<{ memory: string; site: string; state: number }[]>`
    select memory, site, state from purchase_watch_internal.detections`) {
    const is = JSON.stringify(movedBack(JSON.parse(memory) as Detection, step));
    // The update skips a memory that the judge wrote meanwhile: that one is by the present clock already.
    if (is !== memory)
      await sql`
        update purchase_watch_internal.detections set memory = ${is} where site = ${site} and state = ${state} and memory = ${memory}`;
  }
}
