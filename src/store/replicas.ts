/**
 * Replicas, and the shards and named leases they own. Expiry lives in the replica's one row, so that renewing it never
 * waits for the row locks with which recording fences itself; see docs/decisions/0003-ownership.md.
 */
import type { Holding } from '../core/ownership.ts';
import type { Instant, Milliseconds } from '../core/purchase.ts';
import type { Queries } from './database.ts';

export interface ReplicaRow {
  readonly id: string;
  readonly process: string;
}

/** A named lease as its owner knows it. */
export interface Lease {
  readonly name: string;
  readonly replica: string;
  readonly epoch: number;
}

/**
 * Renews this replica's lease, forgets replicas whose lease ran out, and answers who is alive; with it the database's
 * clock and the monotonic moment at which it showed that.
 */
export async function renewReplica(
  sql: Queries,
  { id, process, ttl }: { id: string; process: string; ttl: Milliseconds },
): Promise<{ alive: ReplicaRow[]; databaseNow: Instant; readAt: Milliseconds }> {
  await sql`
    insert into purchase_watch.replicas as r (id, process, expires_at)
    values (${id}, ${process}, clock_timestamp() + ${ttl}::float8 * interval '1 millisecond')
    on conflict (id) do update set expires_at = excluded.expires_at`;
  const asked = performance.now();
  const rows = await sql<{ id: string; process: string; expired: boolean; databaseNow: number }[]>`
    select id, process, expires_at < clock_timestamp() as expired, (extract(epoch from clock_timestamp()) * 1000)::float8 as "databaseNow"
    from purchase_watch.replicas order by id`;
  const readAt = (asked + performance.now()) / 2;
  // A lease that is being renewed right now holds its row's lock: the delete waits, looks again and leaves it alone.
  if (rows.some((row) => row.expired)) await sql`delete from purchase_watch.replicas where expires_at < clock_timestamp()`;
  const alive = rows.filter((row) => !row.expired).map((row) => ({ id: row.id, process: row.process }));
  return { alive, databaseNow: rows[0]!.databaseNow, readAt };
}

/** Forgets a replica at once: our own on a clean stop, or one whose process is known to be gone. */
export async function forgetReplica(sql: Queries, id: string): Promise<void> {
  await sql`delete from purchase_watch.replicas where id = ${id}`;
}

/** Takes up to `wanted` shards that nobody alive owns. Each gets a new epoch, which shuts out what its last owner still has under way. Answers how many. */
export async function takeShards(sql: Queries, { replica, wanted }: { replica: string; wanted: number }): Promise<number> {
  // Materialized: a plan may run a subquery once for every row, and its limit would hold for each run alone.
  const taken = await sql`
    with free as materialized (
      select id from purchase_watch.shards s
      where s.owner is null or not exists (select from purchase_watch.replicas r where r.id = s.owner)
      order by id limit ${wanted} for update skip locked)
    update purchase_watch.shards s set owner = ${replica}, epoch = epoch + 1 from free where s.id = free.id`;
  return taken.count;
}

/** The shards a replica owns, with their epochs. */
export async function ownedShards(sql: Queries, replica: string): Promise<Holding[]> {
  return sql<Holding[]>`
    select id as shard, epoch::float8 as epoch from purchase_watch.shards where owner = ${replica} order by id`;
}

/** Gives shards back and wakes whoever may take them. */
export async function releaseShards(
  sql: Queries,
  { replica, shards }: { replica: string; shards: readonly number[] },
): Promise<void> {
  if (shards.length === 0) return;
  await sql`
    with released as (
      update purchase_watch.shards set owner = null where owner = ${replica} and id = any(${shards as number[]}::smallint[]) returning id)
    select pg_notify('purchase_watch_wake', 'shards') from released limit 1`;
}

/** Takes or keeps a named lease; answers its epoch, or null while another replica that is alive has it. */
export async function takeLease(sql: Queries, { name, replica }: { name: string; replica: string }): Promise<number | null> {
  const [kept] = await sql<{ epoch: number }[]>`
    select epoch::float8 as epoch from purchase_watch.leases where name = ${name} and owner = ${replica}`;
  if (kept) return kept.epoch;
  const [taken] = await sql<{ epoch: number }[]>`
    update purchase_watch.leases l set owner = ${replica}, epoch = epoch + 1
    where name = ${name} and (owner is null or not exists (select from purchase_watch.replicas r where r.id = l.owner))
      and exists (select from purchase_watch.replicas r where r.id = ${replica})
    returning epoch::float8 as epoch`;
  return taken?.epoch ?? null;
}

/** Gives up every named lease of a replica. */
export async function releaseLeases(sql: Queries, replica: string): Promise<void> {
  await sql`update purchase_watch.leases set owner = null where owner = ${replica}`;
}

export interface LivingReplica extends ReplicaRow {
  readonly startedAt: Instant;
  /** How many shards it owns. */
  readonly shards: number;
}

/** Replicas whose lease has not run out. One that was killed stays among them until its lease does. */
export async function livingReplicas(sql: Queries): Promise<LivingReplica[]> {
  return sql<LivingReplica[]>`
    select r.id, r.process, (extract(epoch from r.started_at) * 1000)::float8 as "startedAt",
      (select count(*) from purchase_watch.shards s where s.owner = r.id)::float8 as shards
    from purchase_watch.replicas r where r.expires_at > clock_timestamp() order by r.started_at, r.id`;
}
