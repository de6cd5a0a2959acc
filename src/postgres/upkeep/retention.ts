/** Deletes rows by retention: each call is one statement over a small batch that waits for no lock and ends well within the server's limit for a statement. */

import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';
import type { LeaseName } from '../migrations/names.ts';
import { lockingWhole } from '../purchases/lock-whole.ts';
import type { Lease } from '../shards/leases.ts';

/** How far a walk over ended purchases has come; the time is text, to keep its microseconds. */
export interface EndedCursor {
  readonly endedAt: string;
  readonly id: number;
}

/** Before which moment rows are deleted, and how many one call may delete. */
export interface OldRows {
  readonly before: Instant;
  readonly limit: number;
}

/** The condition that a delivery `d` may still be delivered: it is pending, and the configuration or the API still has its subscriber. */
const waiting = (sql: Queries) => sql`
  d.status = 'pending' and d.subscriber in (select id from purchase_watch_internal.subscribers where configured)`;

/**
 * Reads the next purchases that ended before a moment, oldest first, and deletes them with all their rows. A purchase that is to
 * be polled once more, or of which a delivery is still pending, stays. Answers how many were deleted, and where to go on; null at the end.
 */
export async function removeEnded(
  sql: Queries,
  { before, limit, after }: OldRows & { readonly after: EndedCursor | null },
): Promise<{ removed: number; last: EndedCursor | null }> {
  const [row] = await sql<[{ looked: number; removed: number; endedAt: string | null; id: number | null }]>`
    with page as materialized (
      select p.id, p.ended_at from purchase_watch.purchases p
      where p.ended_at < ${before}::timestamptz
        and ${after === null ? sql`true` : sql`p.ended_at >= ${after.endedAt}::text::timestamptz and (p.ended_at, p.id) > (${after.endedAt}::text::timestamptz, ${after.id}::bigint)`}
      order by p.ended_at, p.id limit ${limit}),
    candidate as materialized (
      select p.id from page g join purchase_watch.purchases p on p.id = g.id
      where p.ended_at = g.ended_at and p.next_poll_at is null and not exists (
        select from purchase_watch_internal.events e join purchase_watch_internal.deliveries d on d.event = e.position
        where e.purchase = p.id and ${waiting(sql)})
      order by p.id for update of p skip locked),
    ${lockingWhole(sql)},
    removed as (
      delete from purchase_watch.purchases p using candidate c where p.id = c.id and c.id not in (select id from busy) returning p.id),
    last as (select ended_at, id from page order by ended_at desc, id desc limit 1)
    select (select count(*) from page) as looked, (select count(*) from removed) as removed,
      (select ended_at::text from last) as ended_at, (select id from last) as id`;
  const more = row.looked >= limit && row.endedAt !== null && row.id !== null;
  return { removed: row.removed, last: more ? { endedAt: row.endedAt!, id: row.id! } : null };
}

/** Deletes attempts made before a moment with the answers to them; their deliveries keep the number of attempts. */
export async function removeAttempts(sql: Queries, { before, limit }: OldRows): Promise<number> {
  // The table of answers is small, whatever was sent.
  const rows = await sql`
    with answered as (delete from purchase_watch_internal.receiver_answers where at < ${before}::timestamptz),
    old as materialized (
      select delivery, number from purchase_watch_internal.attempts where at < ${before}::timestamptz
      order by at limit ${limit} for update skip locked)
    delete from purchase_watch_internal.attempts a using old where a.delivery = old.delivery and a.number = old.number`;
  return rows.count;
}

/** Deletes events without a purchase made before a moment, with their deliveries; an event with a pending delivery stays. */
export async function removeSiteEvents(sql: Queries, { before, limit }: OldRows): Promise<number> {
  const rows = await sql`
    with candidate as materialized (
      select e.position from purchase_watch_internal.events e
      where e.purchase is null and e.created_at < ${before}::timestamptz
        and not exists (select from purchase_watch_internal.deliveries d where d.event = e.position and ${waiting(sql)})
      order by e.created_at limit ${limit} for update of e skip locked),
    delivery as materialized (
      select d.id, d.event from candidate c join purchase_watch_internal.deliveries d on d.event = c.position for update of d skip locked)
    delete from purchase_watch_internal.events e using candidate c
    where e.position = c.position and not exists (
      select from purchase_watch_internal.deliveries d where d.event = c.position and not exists (select from delivery l where l.id = d.id))`;
  return rows.count;
}

/** Deletes a small batch of a table's rows that meet a condition, in no order; answers how many. */
async function removeBatch(
  sql: Queries,
  name: string,
  { condition, limit }: { condition: Fragment; limit: number },
): Promise<number> {
  const table = sql(`purchase_watch_internal.${name}`);
  const { count } = await sql`
    delete from ${table} where ctid = any(array(select ctid from ${table} where ${condition} limit ${limit} for update skip locked))`;
  return count;
}

const olderThan = (sql: Queries, column: string, before: Instant): Fragment => sql`${sql(column)} < ${before}::timestamptz`;

/** Deletes rows of a table whose time in a column is before a moment; answers how many. */
const removing =
  (table: string, column: string) =>
  (sql: Queries, { before, limit }: OldRows) =>
    removeBatch(sql, table, { condition: olderThan(sql, column, before), limit });

/** Deletes ended incidents, and what is kept of customers and counts for no other one. */
export async function removeIncidents(sql: Queries, { before, limit }: OldRows): Promise<number> {
  const alone = sql`not exists (select from purchase_watch_internal.incidents i where i.id = incident)`;
  const condition = sql`stuck_at < ${before}::timestamptz and ${alone}`;
  return (
    (await removeBatch(sql, 'incidents', { condition: olderThan(sql, 'ended_at', before), limit })) ||
    (await removeBatch(sql, 'incident_members', { condition, limit })) ||
    (await removeBatch(sql, 'aftermaths', { condition: alone, limit }))
  );
}
export const removeSilences = removing('silences', 'ends_at');
/** Recorded changes by operators. */
export const removeActions = removing('actions', 'at');
/** Counts of attempts in minutes. */
export const removeDeliveryActivity = removing('delivery_activity', 'minute');
/** Counts of renewals of replicas that have not renewed their leases since. */
export const removeRenewals = removing('renewals', 'renewed_at');

/** Deletes the sums of stays of the days before that of a moment. */
export async function removeDays(sql: Queries, { before, limit }: OldRows): Promise<number> {
  const condition = sql`day < (${before}::timestamptz at time zone 'UTC')::date`;
  return (await removeBatch(sql, 'dwell_days', { condition, limit })) || removeBatch(sql, 'stay_days', { condition, limit });
}

/** Deletes counts of a table before a moment. Reads them by site, the order of the index, because the table holds weeks. */
const removingBySite =
  (name: string, column: string) =>
  async (sql: Queries, { before, limit }: OldRows): Promise<number> => {
    const table = sql(`purchase_watch_internal.${name}`);
    const { count } = await sql`
    with old as materialized (
      select c.at from purchase_watch_internal.sites s cross join lateral (
        select ctid as at from ${table}
        where site = s.name and ${olderThan(sql, column, before)} order by ${sql(column)} limit ${limit} for update skip locked) c
      limit ${limit})
    delete from ${table} where ctid = any(array(select at from old))`;
    return count;
  };

/** Counts of polls in minutes. */
export const removeActivity = removingBySite('activity', 'minute');
/** Counts of how purchases ended and how long they waited, by hour; and marks, which are shown beside them. */
export async function removeTrends(sql: Queries, old: OldRows): Promise<number> {
  return (
    (await removeOutcomeHours(sql, old)) ||
    (await removeWaitedHours(sql, old)) ||
    (await removeMarks(sql, old)) ||
    (await removeBatch(sql, 'delivery_hours', { condition: olderThan(sql, 'hour', old.before), limit: old.limit }))
  );
}
const removeOutcomeHours = removingBySite('outcome_hours', 'hour');
const removeMarks = removing('marks', 'at');
const removeWaitedHours = removingBySite('waited_hours', 'hour');
export const removeTransitionCounts = removingBySite('transition_counts', 'bucket');
const removeSnapshotsOfSites = removingBySite('snapshots', 'at');
/** Notes of how purchases stood, of sites and of all together. */
export async function removeSnapshots(sql: Queries, old: OldRows): Promise<number> {
  const condition = sql`site is null and ${olderThan(sql, 'at', old.before)}`;
  return (await removeSnapshotsOfSites(sql, old)) || removeBatch(sql, 'snapshots', { condition, limit: old.limit });
}

/** Deletes kept answers to requests with an Idempotency-Key that were made before a moment. */
export async function removeAnswers(sql: Queries, { before, limit }: OldRows): Promise<number> {
  const rows = await sql`
    with old as materialized (
      select scope, key_hash from purchase_watch_internal.idempotency_keys where created_at < ${before}::timestamptz
      order by created_at limit ${limit} for update skip locked)
    delete from purchase_watch_internal.idempotency_keys k using old where k.scope = old.scope and k.key_hash = old.key_hash`;
  return rows.count;
}

/** Up to which moment the work of a lease is done, or null when it never was. */
export const doneAt = (sql: Queries, lease: LeaseName) =>
  firstValue<Instant | null>(sql`
    select done_at as at from purchase_watch_internal.leases where name = ${lease}`);

/** Writes up to which moment the work of a lease is done, unless another replica has the lease by now. */
export async function markDone(sql: Queries, { name, replica, epoch }: Lease, at: Instant): Promise<void> {
  await sql`
    update purchase_watch_internal.leases set done_at = ${at}::timestamptz
    where name = ${name} and owner = ${replica} and epoch = ${epoch}`;
}
