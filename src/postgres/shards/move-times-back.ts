/** Moves stored times back after the database's clock was set back: times ahead of the clock, in tables where work waits for these times. */

import { type Detection, movedBack } from '../../domain/incidents/detection.ts';
import { LEAST_STEP } from '../../domain/values/clock-ahead.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';

/** Tables that do not grow with the number of purchases, with their columns of past times. */
const TIMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['idempotency_keys', ['created_at']],
  ['incidents', ['opened_at', 'since', 'quiet_since', 'ended_at', 'said_at', 'announced_at', 'acknowledged_at', 'reopened_at']],
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

/**
 * Moves all these times by as much as the clock was set back. Each row moves once, however often and by whichever replica this is
 * called. Answers how many rows were not moved, because other sessions have locked them.
 */
export async function moveTimesBack(sql: Queries, { now, by }: { now: Instant; by: Milliseconds }): Promise<number> {
  const isAhead = (column: string): Fragment => sql`${sql(column)} > ${now + LEAST_STEP}::timestamptz`;
  const moved = (column: string, when: string): Fragment => sql`
    ${sql(column)} = case when ${isAhead(when)} then ${sql(column)} - ${by}::float8 * interval '1 millisecond' else ${sql(column)} end`;
  let locked = 0;
  for (const [table, columns] of TIMES) {
    const ends = (ENDS.get(table) ?? []).map((column) => moved(column, columns[0]!));
    const ahead = sql`${sql(`purchase_watch_internal.${table}`)} where ${list(sql, columns.map(isAhead), sql` or `)}`;
    const [row] = await sql<[{ locked: number }]>`
      with free as materialized (select ctid as place from ${ahead} for no key update skip locked),
      moved as (
        update ${sql(`purchase_watch_internal.${table}`)} set ${list(sql, [...columns.map((column) => moved(column, column)), ...ends], sql`,`)}
        where ctid = any(array(select place from free)) returning 1)
      select (select count(*) from ${ahead}) - (select count(*) from moved) as locked`;
    locked += row.locked;
  }
  await moveDetectionsBack(sql, { now, by });
  return locked;
}

const list = (sql: Queries, parts: readonly Fragment[], between: Fragment): Fragment =>
  parts.reduce((all, part) => sql`${all}${between}${part}`);

async function moveDetectionsBack(sql: Queries, step: { now: Instant; by: Milliseconds }): Promise<void> {
  for (const { memory, site, state } of await sql<{ memory: string; site: string; state: number }[]>`
    select memory, site, state from purchase_watch_internal.detections`) {
    const is = JSON.stringify(movedBack(JSON.parse(memory) as Detection, step));
    // The update skips a memory that the judge wrote meanwhile: that one is by the present clock already.
    if (is !== memory)
      await sql`
        update purchase_watch_internal.detections set memory = ${is} where site = ${site} and state = ${state} and memory = ${memory}`;
  }
}
