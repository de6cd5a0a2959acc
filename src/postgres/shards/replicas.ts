/**
 * Replicas, and the shards that they own. The expiry of a lease is in the replica's one row, so that a renewal
 * never waits for the locks that recording takes on rows of shards; see docs/decisions/0003-ownership.md.
 */

import type { SettingsDigests } from '../../config/settings-digests.ts';
import type { NotedChange } from '../../domain/replicas/database-change.ts';
import type { SettingsNames } from '../../domain/replicas/named.ts';
import type { Holding } from '../../domain/replicas/ownership.ts';
import type { SkippedTime } from '../../domain/values/clock-steps.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { hasRows } from '../connection/rows.ts';
import { LEASES } from '../migrations/names.ts';
import { skippedTime } from './skipped-time.ts';

export interface ReplicaRow {
  readonly id: string;
  readonly process: string;
}

/** Another replica's row as this replica sees it. */
export interface OtherReplica extends ReplicaRow {
  /** Differs after each renewal. */
  readonly renewal: string;
  /** How long its lease lasts from a renewal; 0 when a daemon of an older version wrote the row. */
  readonly leaseMs: Milliseconds;
  /** Whether the replica takes no shards, because it is stopping, reaches no site, or another replica knows more. */
  readonly leaving: boolean;
  readonly insertedAt: Instant;
  /** The names in its settings; null when a daemon of an older version wrote the row. */
  readonly named: SettingsNames | null;
}

export interface Renewal {
  /** When this replica's row was inserted. Another value than before means that the row was deleted meanwhile; null: nothing was renewed. */
  readonly startedAt: string | null;
  /** How often the lease was renewed; null when the database knows of fewer renewals than were confirmed: it went back, and nothing was renewed. */
  readonly number: number | null;
  /** Cluster and timeline; null where Postgres does not reveal them. */
  readonly origin: string | null;
  /** The latest change of the database that was noted. */
  readonly change: NotedChange | null;
  /** When the row was inserted, as a number; null: nothing was renewed. */
  readonly insertedAt: Instant | null;
  /** The shards this replica owns; to be ignored when the row was inserted by this very statement. */
  readonly holdings: readonly Holding[];
  readonly others: readonly OtherReplica[];
  /** The replica that has the judge's lease; null while none has it. */
  readonly judge: string | null;
  readonly databaseNow: Instant;
  /** Time that the database's clock skipped, as replicas noted it. */
  readonly skipped: SkippedTime;
  /** How full the database's queue of notifications is, from 0 to 1. */
  readonly notificationQueue: number;
}

/**
 * Renews this replica's lease and reads the shards that the lease covers, in one statement: while the row exists, no other
 * replica takes these shards. Renews nothing in a database that knows of fewer renewals than `confirmed`, because that database went back.
 */
export async function renewReplica(
  sql: Queries,
  replica: {
    id: string;
    process: string;
    ttl: Milliseconds;
    /** The number of the last renewal that the database confirmed to this replica; 0 while memory holds nothing of the database. */
    confirmed?: number;
    secretsKeys?: readonly string[];
    settings?: SettingsDigests | null;
    named?: SettingsNames | null;
  },
): Promise<Renewal> {
  const { id, process, ttl, confirmed = 0, secretsKeys = [], settings = null, named = null } = replica;
  type Own = Omit<Renewal, 'change' | 'holdings' | 'others' | 'skipped' | 'insertedAt'> & {
    readonly ownInsertedAt: Instant | null;
    readonly changeId: string | null;
    readonly changeKind: NotedChange['kind'] | null;
    readonly changeOrigin: string | null;
    readonly shards: readonly number[] | null;
    readonly epochs: readonly number[] | null;
    readonly skipped: string;
  };
  type Row = Own & { readonly [Field in keyof OtherReplica]: OtherReplica[Field] | null };
  const rows = await sql<Row[]>`
    with counted as (
      insert into purchase_watch_internal.renewals as c (replica, number, renewed_at)
      select ${id}::text, 1, clock_timestamp()
      where ${confirmed}::bigint = 0
        or exists (select from purchase_watch_internal.renewals where replica = ${id} and number >= ${confirmed}::bigint)
      -- Keeps how far the clock had come before it was set back, until what was written by then is moved (upkeep/move-times-back.ts).
      on conflict (replica) do update set number = c.number + 1, renewed_at = greatest(c.renewed_at, excluded.renewed_at)
      returning number),
    renewed as (
      insert into purchase_watch_internal.replicas as r (id, process, expires_at, lease_ms, secrets_keys, settings_digests, named)
      select ${id}::text, ${process}::text, clock_timestamp() + ${ttl}::float8 * interval '1 millisecond', ${Math.ceil(ttl)}::integer, ${secretsKeys}::text[],
        ${settings === null ? null : JSON.stringify(settings)}::text::jsonb, ${named === null ? null : JSON.stringify(named)}::text::jsonb
      from counted
      on conflict (id) do update set lease_ms = excluded.lease_ms,
        expires_at = clock_timestamp() + ${ttl}::float8 * interval '1 millisecond'
      returning r.started_at),
    held as (
      select array_agg(id order by id) as shards, array_agg(epoch order by id) as epochs
      from purchase_watch_internal.shards where owner = ${id}),
    queue as materialized (select pg_notification_queue_usage() as used, purchase_watch_internal.database_origin() as origin),
    change as materialized (select id, kind, origin from purchase_watch_internal.database_changes order by id desc limit 1)
    select n.started_at::text as started_at, n.started_at as own_inserted_at, k.number::float8 as number, q.origin, d.id as change_id, d.kind as change_kind, d.origin as change_origin,
      clock_timestamp() as database_now, q.used as notification_queue,
      (select owner from purchase_watch_internal.leases where name = ${LEASES.judge}) as judge, h.shards, h.epochs, ${skippedTime(sql)}::text as skipped,
      o.id, o.process, o.expires_at::text as renewal, o.lease_ms, o.leaving,
      o.started_at as inserted_at, o.named
    from held h cross join queue q left join counted k on true left join renewed n on true left join change d on true
    left join purchase_watch_internal.replicas o on o.id <> ${id} order by o.id`;
  const { startedAt, ownInsertedAt, number, origin, databaseNow, notificationQueue, judge, ...own } = rows[0]!;
  return {
    startedAt,
    insertedAt: ownInsertedAt,
    number,
    origin,
    databaseNow,
    notificationQueue,
    judge,
    change: own.changeId === null ? null : { id: own.changeId, kind: own.changeKind!, origin: own.changeOrigin },
    skipped: JSON.parse(own.skipped) as SkippedTime,
    holdings: (own.shards ?? []).map((shard, index) => ({ shard, epoch: own.epochs![index]! })),
    others: rows.flatMap((row) => (row.id === null ? [] : [otherReplica(row as OtherReplica)])),
  };
}

const otherReplica = ({ id, process, renewal, leaseMs, leaving, insertedAt, named }: OtherReplica): OtherReplica => ({
  id,
  process,
  renewal,
  leaseMs,
  leaving,
  insertedAt,
  named,
});

/** Deletes a replica whose lease ended, unless it has renewed the lease since; answers whether it was deleted. */
export const expireReplica = (sql: Queries, { id, renewal }: Pick<OtherReplica, 'id' | 'renewal'>): Promise<boolean> =>
  deleteReplica(sql, id, sql`and expires_at = ${renewal}::text::timestamptz`);

/**
 * Deletes a replica. A renewal under way has locked the row: the statement then skips the row instead of waiting, and the next
 * tick tries again.
 */
const deleteReplica = (sql: Queries, id: string, condition: Fragment) =>
  hasRows(sql`
    delete from purchase_watch_internal.replicas where id = (
      select id from purchase_watch_internal.replicas where id = ${id} ${condition} for update skip locked)
    returning id`);

/** Writes whether this replica leaves all shards to the others, because it is stopping or reaches no site. */
export async function markLeaving(sql: Queries, replica: string, leaving = true): Promise<void> {
  await sql`update purchase_watch_internal.replicas set leaving = ${leaving} where id = ${replica}`;
}

/** Deletes the row of a replica whose process is known to be gone. */
export async function forgetReplica(sql: Queries, id: string): Promise<void> {
  await deleteReplica(sql, id, sql``);
}

/**
 * Takes up to `wanted` shards, of all or `among` some, that no living replica owns; answers them. Each gets a new epoch, under
 * which statements of its last owner are refused. Takes nothing for a replica whose own row is missing.
 *
 * When another replica took a shard meanwhile, Postgres checks the shard's new row, but with the replicas as they were before:
 * only the epoch shows that the shard was taken. Materialized: a plan may run a subquery for each row, and the limit would
 * hold for each run.
 */
export const takeShards = (
  sql: Queries,
  { replica, wanted, among = null }: { replica: string; wanted: number; among?: readonly number[] | null },
) => sql<Holding[]>`
    with free as materialized (
      select id, epoch from purchase_watch_internal.shards s
      where (s.owner is null or not exists (select from purchase_watch_internal.replicas r where r.id = s.owner))
        and (${among}::smallint[] is null or s.id = any(${among}::smallint[]))
        and exists (select from purchase_watch_internal.replicas r where r.id = ${replica})),
    locked as materialized (
      select s.id from free f join purchase_watch_internal.shards s on s.id = f.id and s.epoch = f.epoch
      order by s.id limit ${wanted} for update of s skip locked)
    update purchase_watch_internal.shards s set owner = ${replica}, epoch = epoch + 1 from locked l where s.id = l.id
    returning s.id as shard, s.epoch`;

/** Releases all shards whose rows still name this replica as owner. */
export async function releaseAllShards(sql: Queries, replica: string): Promise<void> {
  await sql`update purchase_watch_internal.shards set owner = null where owner = ${replica}`;
}

/** Releases shards and wakes the replicas that may take them. */
export async function releaseShards(
  sql: Queries,
  { replica, shards }: { replica: string; shards: readonly number[] },
): Promise<void> {
  if (shards.length === 0) return;
  await sql`
    with released as (
      update purchase_watch_internal.shards set owner = null
      where owner = ${replica} and id = any(${shards}::smallint[]) returning id)
    select pg_notify('purchase_watch_wake', 'shards') from released limit 1`;
}

/** Releases everything that a replica owns, deletes the replica's row, and wakes the other replicas. */
export async function releaseReplica(sql: Queries, replica: string): Promise<void> {
  await sql`
    with shards as (update purchase_watch_internal.shards set owner = null where owner = ${replica}),
    leases as (update purchase_watch_internal.leases set owner = null where owner = ${replica}),
    gone as (delete from purchase_watch_internal.replicas where id = ${replica} returning id)
    select pg_notify('purchase_watch_wake', 'shards') from gone`;
}
