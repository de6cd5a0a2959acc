/**
 * Replicas, and the shards that they own. The expiry of a lease is in the replica's one row, so that a renewal
 * never waits for the locks that recording takes on rows of shards; see docs/decisions/0003-ownership.md.
 */

import type { SettingsDigests } from '../../config/settings-digests.ts';
import type { NotedChange } from '../../domain/replicas/database-change.ts';
import type { SettingsNames } from '../../domain/replicas/named.ts';
import type { Holding } from '../../domain/replicas/ownership.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { hasRows } from '../connection/rows.ts';
import { LEASES } from '../migrations/names.ts';
import { type ClockSteps, type ClockStepsRow, clockSteps, clockStepsOf } from './skipped-time.ts';

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
  /** What its settings name; null when a daemon of an older version wrote the row. */
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
  readonly clockSteps: ClockSteps;
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
  type Own = Omit<Renewal, 'change' | 'holdings' | 'others' | 'clockSteps' | 'insertedAt'> & {
    readonly ownInsertedAt: Instant | null;
    readonly changeId: string | null;
    readonly changeKind: NotedChange['kind'] | null;
    readonly changeOrigin: string | null;
    readonly shards: readonly number[] | null;
    readonly epochs: readonly number[] | null;
  };
  type Row = Own & ClockStepsRow & { readonly [Field in keyof OtherReplica]: OtherReplica[Field] | null };
  const rows = await sql<Row[]>`
    with counted as (
      insert into purchase_watch_internal.renewals as c (replica, number, renewed_at)
      select ${id}::text, 1, clock_timestamp()
      where ${confirmed}::bigint = 0
        or exists (select from purchase_watch_internal.renewals where replica = ${id} and number >= ${confirmed}::bigint)
      on conflict (replica) do update set number = c.number + 1, renewed_at = excluded.renewed_at
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
      (select owner from purchase_watch_internal.leases where name = ${LEASES.judge}) as judge, h.shards, h.epochs, c.*,
      o.id, o.process, o.expires_at::text as renewal, o.lease_ms, o.leaving, o.started_at as inserted_at, o.named
    from held h cross join queue q cross join ${clockSteps(sql)} c left join counted k on true left join renewed n on true left join change d on true
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
    clockSteps: clockStepsOf(own),
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

/** A replica that is to be deleted, and for how long its row has stood unchanged. */
export interface EndedReplica {
  readonly id: string;
  readonly unchangedMs: Milliseconds;
}

/** Deletes a replica whose lease ended, unless it has renewed the lease since; answers whether it was deleted. */
export async function expireReplica(sql: Queries, ended: EndedReplica & { renewal: string }): Promise<boolean> {
  return deleteReplica(sql, ended, sql`and expires_at = ${ended.renewal}::text::timestamptz`);
}

/**
 * Deletes a replica, and notes on its shards how far the database's clock had come when the replica last wrote. A renewal under way
 * has locked the row: the statement then skips the row instead of waiting, and the next tick tries again.
 */
const deleteReplica = (sql: Queries, { id, unchangedMs }: EndedReplica, condition: Fragment) =>
  hasRows(sql`
    with gone as (
      delete from purchase_watch_internal.replicas where id = (
        select id from purchase_watch_internal.replicas where id = ${id} ${condition} for update skip locked)
      returning id, expires_at - (lease_ms - ${unchangedMs}::float8) * interval '1 millisecond' as clock_reached),
    owned as materialized (
      select s.id, g.clock_reached from gone g join purchase_watch_internal.shards s on s.owner = g.id order by s.id for update of s skip locked),
    noted as (
      update purchase_watch_internal.shards s set clock_reached = greatest(s.clock_reached, o.clock_reached) from owned o where s.id = o.id)
    select from gone`);

/** Writes whether this replica leaves all shards to the others, because it is stopping or reaches no site. */
export async function markLeaving(sql: Queries, replica: string, leaving = true): Promise<void> {
  await sql`update purchase_watch_internal.replicas set leaving = ${leaving} where id = ${replica}`;
}

/** Deletes the row of a replica whose process is known to be gone. */
export async function forgetReplica(sql: Queries, id: string, unchangedMs: Milliseconds = 0): Promise<void> {
  await deleteReplica(sql, { id, unchangedMs }, sql``);
}

/** A shard that a replica took, and by how much the database's clock was set back since the shard's last owner wrote; 0 when it was not. */
export interface TakenShard extends Holding {
  readonly aheadMs: Milliseconds;
}

/** Writes on all shards of a replica that the database's clock was set back, so that each next owner knows until due times have been moved. */
export async function noteStepBack(sql: Queries, replica: string, by: Milliseconds): Promise<void> {
  await sql`
    update purchase_watch_internal.shards set clock_reached = greatest(clock_reached, clock_timestamp() + ${by}::float8 * interval '1 millisecond')
    where owner = ${replica}`;
}

/** Deletes the note of a clock set back from these shards of a replica: their due times have been moved. */
export async function forgetStepBack(sql: Queries, replica: string, shards: readonly number[]): Promise<void> {
  await sql`
    update purchase_watch_internal.shards set clock_reached = null
    where owner = ${replica} and id = any(${shards}::smallint[]) and clock_reached is not null`;
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
) => sql<TakenShard[]>`
    with free as materialized (
      select id, epoch from purchase_watch_internal.shards s
      where (s.owner is null or not exists (select from purchase_watch_internal.replicas r where r.id = s.owner))
        and (${among}::smallint[] is null or s.id = any(${among}::smallint[]))
        and exists (select from purchase_watch_internal.replicas r where r.id = ${replica})),
    locked as materialized (
      select s.id from free f join purchase_watch_internal.shards s on s.id = f.id and s.epoch = f.epoch
      order by s.id limit ${wanted} for update of s skip locked)
    update purchase_watch_internal.shards s set owner = ${replica}, epoch = epoch + 1 from locked l where s.id = l.id
    returning s.id as shard, s.epoch,
      greatest(coalesce(extract(epoch from s.clock_reached - clock_timestamp()) * 1000, 0), 0)::float8 as ahead_ms`;

/**
 * The columns of a shard that a replica has released: no owner, and how far the database's clock has come, now or at the
 * replica's last renewal. A next owner that finds the clock set back knows by this which times lie ahead.
 */
const released = (sql: Queries, replica: string): Fragment => sql`
  owner = null, clock_reached = greatest(clock_reached, clock_timestamp(), (
    select r.expires_at - r.lease_ms * interval '1 millisecond' from purchase_watch_internal.replicas r where r.id = ${replica}))`;

/** Releases all shards whose rows still name this replica as owner. */
export async function releaseAllShards(sql: Queries, replica: string): Promise<void> {
  await sql`update purchase_watch_internal.shards set ${released(sql, replica)} where owner = ${replica}`;
}

/** Releases shards and wakes the replicas that may take them. */
export async function releaseShards(
  sql: Queries,
  { replica, shards }: { replica: string; shards: readonly number[] },
): Promise<void> {
  if (shards.length === 0) return;
  await sql`
    with released as (
      update purchase_watch_internal.shards set ${released(sql, replica)}
      where owner = ${replica} and id = any(${shards}::smallint[]) returning id)
    select pg_notify('purchase_watch_wake', 'shards') from released limit 1`;
}

/** Releases everything that a replica owns, deletes the replica's row, and wakes the other replicas. */
export async function releaseReplica(sql: Queries, replica: string): Promise<void> {
  await sql`
    with shards as (update purchase_watch_internal.shards set ${released(sql, replica)} where owner = ${replica}),
    leases as (update purchase_watch_internal.leases set owner = null where owner = ${replica}),
    gone as (delete from purchase_watch_internal.replicas where id = ${replica} returning id)
    select pg_notify('purchase_watch_wake', 'shards') from gone`;
}
