/** The outbox: one event for one subscriber, what is due, and what became of each attempt. */
import type { Holding } from '../core/ownership.ts';
import type { Instant } from '../core/purchase.ts';
import type { Queries } from './database.ts';

export interface DueDelivery {
  readonly id: number;
  readonly subscriber: number;
  /** What must stay in order: a purchase's row id, or 0. */
  readonly lane: number;
  /** The event's position: the order within the lane. */
  readonly position: number;
  readonly shard: number;
  readonly attempts: number;
  /** Those of them that were made before it was last asked to be sent again; its schedule does not count them. */
  readonly attemptsBefore: number;
  readonly event: { readonly id: string; readonly type: string; readonly body: string; readonly createdAt: Instant };
  /** The pending delivery right before it in its lane, if there is one: it must wait for that, which waits for those before it. */
  readonly behind: { readonly id: number; readonly dueAt: Instant } | null;
}

/** What to load for one subscriber: so many, and not what is in memory already. */
export interface Wanted {
  readonly subscriber: number;
  readonly limit: number;
  readonly except: readonly number[];
}

/**
 * The due deliveries of a subscriber in the given shards, oldest first: an index range per shard, whatever waits elsewhere.
 * Answers with them whether there are more.
 */
export async function loadDueDeliveries(
  sql: Queries,
  { wanted: { subscriber, limit, except }, shards, now }: { wanted: Wanted; shards: readonly number[]; now: Instant },
): Promise<{ rows: DueDelivery[]; more: boolean }> {
  if (shards.length === 0) return { rows: [], more: false };
  // Enough for the limit when they lie evenly, and a bounded read when they do not.
  const perShard = Math.max(Math.ceil((2 * limit) / shards.length), 16);
  type Row = Omit<DueDelivery, 'event' | 'behind'> & {
    eventId: string;
    type: string;
    body: string;
    createdAt: Instant;
    behindId: number | null;
    behindDueAt: Instant | null;
  };
  const rows = await sql<Row[]>`
    select d.id::float8 as id, d.subscriber, d.lane::float8 as lane, d.event::float8 as position, d.shard, d.attempts, d.attempts_before as "attemptsBefore",
      e.id as "eventId", e.type, e.body, (extract(epoch from e.created_at) * 1000)::float8 as "createdAt",
      b.id::float8 as "behindId", (extract(epoch from b.due_at) * 1000)::float8 as "behindDueAt"
    from (
      select due.* from unnest(${`{${shards.join()}}`}::smallint[]) as s (shard)
      cross join lateral (
        select * from purchase_watch.deliveries q
        where q.subscriber = ${subscriber} and q.shard = s.shard and q.status = 'pending' and q.due_at <= to_timestamp(${now}::float8 / 1000)
          and q.id <> all(${`{${except.join()}}`}::bigint[])
        order by q.due_at, q.event limit ${perShard}) due
      order by due.due_at, due.event limit ${limit}) d
    join purchase_watch.events e on e.position = d.event
    left join lateral (
      select f.id, f.due_at from purchase_watch.deliveries f
      where f.subscriber = d.subscriber and f.lane = d.lane and f.status = 'pending' and f.event < d.event
      order by f.event desc limit 1) b on true
    order by d.event`;
  const counts = new Map<number, number>();
  for (const { shard } of rows) counts.set(shard, (counts.get(shard) ?? 0) + 1);
  const more = rows.length >= limit || [...counts.values()].some((count) => count >= perShard);
  const due = rows.map(({ eventId, type, body, createdAt, behindId, behindDueAt, ...row }) => ({
    ...row,
    event: { id: eventId, type, body, createdAt },
    behind: behindId === null || behindDueAt === null ? null : { id: behindId, dueAt: behindDueAt },
  }));
  return { rows: due, more };
}

/** When the next delivery after now is due to any of the subscribers in the given shards, or null. */
export async function nextDue(
  sql: Queries,
  { subscribers, shards, now }: { subscribers: readonly number[]; shards: readonly number[]; now: Instant },
): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant | null }[]>`
    select (extract(epoch from min(due.due_at)) * 1000)::float8 as at
    from unnest(${`{${subscribers.join()}}`}::integer[]) as u (subscriber)
    cross join unnest(${`{${shards.join()}}`}::smallint[]) as s (shard)
    cross join lateral (
      select due_at from purchase_watch.deliveries q
      where q.subscriber = u.subscriber and q.shard = s.shard and q.status = 'pending' and q.due_at > to_timestamp(${now}::float8 / 1000)
      order by q.due_at, q.event limit 1) due`;
  return row?.at ?? null;
}

/** An attempt that ended, and what follows for its delivery. */
export interface Settlement {
  readonly delivery: Pick<DueDelivery, 'id' | 'subscriber' | 'lane' | 'position' | 'shard' | 'attemptsBefore'>;
  /** The how-manieth attempt this was, from 1. */
  readonly number: number;
  /** Whether it was the first there ever was; one that is sent again may have put off others before. */
  readonly isFirst: boolean;
  readonly status: 'pending' | 'delivered' | 'exhausted';
  /** When it is sent again; meaningful while pending. */
  readonly dueAt: Instant;
  readonly at: Instant;
  readonly tookMs: number;
  readonly httpStatus: number | null;
  /** `delivered`, or the stable word for what went wrong. */
  readonly outcome: string;
  readonly error: string | null;
  readonly excerpt: string | null;
}

/**
 * Writes attempts and what became of their deliveries. A failure moves what waits behind it in its lane to the same
 * moment; a lane that is free again is due at once. Answers the ids written: shards that are not ours any more are refused.
 */
export async function settle(
  sql: Queries,
  batch: readonly Settlement[],
  { replica, holdings }: { replica: string; holdings: readonly Holding[] },
): Promise<Set<number>> {
  await freeFollowers(
    sql,
    batch.filter((s) => s.status !== 'pending' && !s.isFirst),
  );
  const list = (value: (s: Settlement) => number | null): string => `{${batch.map((s) => value(s) ?? 'NULL').join()}}`;
  const rows = await sql<{ id: number }[]>`
    with held as materialized (
      select s.id from purchase_watch.shards s
      join unnest(${`{${holdings.map((h) => h.shard).join()}}`}::smallint[], ${`{${holdings.map((h) => h.epoch).join()}}`}::bigint[]) as h (id, epoch)
        on h.id = s.id and h.epoch = s.epoch
      where s.owner = ${replica} order by s.id for share of s),
    result as (
      select r.* from unnest(${list((s) => s.delivery.id)}::bigint[], ${list((s) => s.delivery.shard)}::smallint[],
        ${list((s) => s.number)}::integer[], ${batch.map((s) => s.status)}::text[], ${list((s) => s.dueAt)}::float8[],
        ${list((s) => s.at)}::float8[], ${list((s) => s.tookMs)}::float8[], ${list((s) => s.httpStatus)}::integer[],
        ${batch.map((s) => s.outcome)}::text[], ${batch.map((s) => s.error)}::text[], ${batch.map((s) => s.excerpt)}::text[],
        ${list((s) => s.delivery.attemptsBefore)}::integer[])
        as r (id, shard, number, status, due, at, took, http_status, outcome, error, excerpt, before)
      join held on held.id = r.shard),
    -- Whoever asked for it to be sent again while the last attempt was under way gets another one.
    settled as (
      update purchase_watch.deliveries d set attempts = r.number, due_at = to_timestamp(r.due / 1000), last_error = r.error,
        status = case when r.status = 'exhausted' and d.attempts_before > r.before then 'pending' else r.status end,
        settled_at = case when r.status = 'pending' or r.status = 'exhausted' and d.attempts_before > r.before then null
          else to_timestamp(r.at / 1000) end
      from result r where d.id = r.id and d.status = 'pending' returning d.id),
    attempt as (
      insert into purchase_watch.attempts (delivery, number, at, took_ms, http_status, outcome, excerpt)
      select r.id, r.number, to_timestamp(r.at / 1000), round(r.took), r.http_status, r.outcome, r.excerpt
      from result r join settled using (id) on conflict do nothing)
    select id::float8 as id from settled`;
  const written = new Set(rows.map((row) => row.id));
  const waiting = batch.filter((s) => s.status === 'pending' && written.has(s.delivery.id));
  await putOff(
    sql,
    waiting.map((s) => ({ ...s.delivery, dueAt: s.dueAt })),
  );
  return written;
}

/**
 * Lets what was put off in a lane be due when its first one is through. Only a lane that failed before can hold such
 * deliveries. Done before the first one is settled: when only this much was written, they are put off once more, while
 * the other way round nothing would say any more that they have to be freed.
 */
async function freeFollowers(sql: Queries, freed: readonly Settlement[]): Promise<void> {
  if (freed.length === 0) return;
  await sql`
    update purchase_watch.deliveries d set due_at = to_timestamp(r.at / 1000)
    from unnest(${`{${freed.map((s) => s.delivery.subscriber).join()}}`}::integer[], ${`{${freed.map((s) => s.delivery.lane).join()}}`}::bigint[],
      ${`{${freed.map((s) => s.at).join()}}`}::float8[]) as r (subscriber, lane, at)
    where d.subscriber = r.subscriber and d.lane = r.lane and d.status = 'pending' and d.attempts = d.attempts_before
      and d.due_at > to_timestamp(r.at / 1000)`;
}

/** Puts off what waits behind a delivery in its lane until that one is due. */
export async function putOff(
  sql: Queries,
  heads: readonly { readonly subscriber: number; readonly lane: number; readonly position: number; readonly dueAt: Instant }[],
): Promise<void> {
  if (heads.length === 0) return;
  await sql`
    update purchase_watch.deliveries d set due_at = to_timestamp(r.due / 1000)
    from unnest(${`{${heads.map((h) => h.subscriber).join()}}`}::integer[], ${`{${heads.map((h) => h.lane).join()}}`}::bigint[],
      ${`{${heads.map((h) => h.position).join()}}`}::bigint[], ${`{${heads.map((h) => h.dueAt).join()}}`}::float8[]) as r (subscriber, lane, position, due)
    where d.subscriber = r.subscriber and d.lane = r.lane and d.status = 'pending' and d.event > r.position
      and d.due_at < to_timestamp(r.due / 1000)`;
}
