/** The outbox: one delivery is one event for one subscriber. Which deliveries are due, and when the next is. */

import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';

/** Ranks, the first to go out first: new deliveries; those that failed more than once or came with a bulk load; replayed ones. */
export type Rank = 0 | 1 | 2;
export const RANKS: readonly Rank[] = [0, 1, 2];
/** The rank of a replay, written out in statements: the planner would use no index on the rank for a parameter. */
export const REPLAYED: Rank = 2;

export interface DueDelivery {
  readonly id: number;
  /** A random number: a database that went back may give the id to another delivery. Null in rows of an older version. */
  readonly mark: number | null;
  readonly subscriber: number;
  /** The lane whose deliveries stay in order: a purchase's row id, or 0. */
  readonly lane: number;
  /** The event's position: the order within the lane, where replayed deliveries come after the others. */
  readonly position: number;
  readonly shard: number;
  readonly rank: Rank;
  readonly dueAt: Instant;
  readonly attempts: number;
  /** Attempts that the schedule does not count: those before the delivery was last sent again, and failures on the daemon's side. */
  readonly attemptsBefore: number;
  readonly event: { readonly id: string; readonly type: string; readonly body: string; readonly createdAt: Instant };
  /** The pending delivery right before this one in its lane, for which this one must wait; null when this one is the first. */
  readonly behind: { readonly id: number; readonly position: number; readonly dueAt: Instant; readonly rank: Rank } | null;
}

/** How many more deliveries the notifier wants for one subscriber. */
export interface Wanted {
  readonly subscriber: number;
  readonly room: number;
  /** The ranks to read. Lower and higher ranks are wanted separately, so that a backlog in one does not hold up the other. */
  readonly from: Rank;
  readonly upTo: Rank;
  /**
   * Deliveries of rank 0 that were due before this moment have been read; 1970 when none has. The read begins here because
   * delivered rows stay in the index until vacuum, and would be skipped entry by entry.
   */
  readonly dueSince: Instant;
}

/** The subscribers whose deliveries are read. */
export interface DueReading {
  readonly shards: readonly number[];
  readonly now: Instant;
}

/**
 * The shards as rows `s (shard)`; none where nothing waits for the subscriber, so that no range of theirs is looked into. The order
 * makes the planner use the index.
 */
const shardsWithPending = (sql: Queries, subscriber: Fragment, shards: readonly number[]): Fragment => sql`
  unnest(case when (
    select true from purchase_watch_internal.deliveries q where q.subscriber = ${subscriber} and q.status = 'pending'
    order by q.shard, q.rank, q.due_at limit 1) then ${shards}::smallint[] end) as s (shard)`;

/**
 * The due deliveries of some subscribers in the given shards, without those in memory already: per subscriber the lower
 * ranks first, then the oldest, an index range per shard and rank, whatever waits elsewhere. One statement for all
 * subscribers, because this follows every commit. The ids in memory are a subquery, which the database hashes; it would search a
 * list from the beginning for each row. Answers also which subscribers may have more, and up to which due time rank 0 has
 * now been read.
 */
export async function loadDueDeliveries(
  sql: Queries,
  { wanted, except }: { wanted: readonly Wanted[]; except: readonly number[] },
  { shards, now }: DueReading,
): Promise<{ rows: DueDelivery[]; more: Map<number, Instant> }> {
  if (shards.length === 0 || wanted.length === 0) return { rows: [], more: new Map() };
  // Enough rows when deliveries lie evenly over the shards, and a bounded read when they do not.
  const perShard = wanted.map(({ room }) => Math.max(Math.ceil((1.25 * room) / shards.length), 16));
  const rows = await sql<(DueRow & BehindRow)[]>`
    select d.id, d.mark, d.subscriber, d.lane, d.event as position, d.shard, d.rank, d.attempts, d.due_at, d.attempts_before,
      e.id as event_id, e.type, e.body, e.created_at,
      b.id as behind_id, b.event as behind_position, b.due_at as behind_due_at, b.rank as behind_rank
    from ${columns(sql, wanted, 'w', {
      subscriber: ['integer', (w) => w.subscriber],
      room: ['integer', (w) => w.room],
      per_shard: ['integer', (_, index) => perShard[index]],
      up_to: ['integer', (w) => w.upTo],
      due_since: ['timestamptz', (w) => w.dueSince],
      from_rank: ['integer', (w) => w.from],
    })}
    cross join lateral (
      select due.* from ${shardsWithPending(sql, sql`w.subscriber`, shards)}
      cross join generate_series(w.from_rank, w.up_to) as k (rank)
      cross join lateral (
        select q.id, q.mark, q.subscriber, q.lane, q.event, q.shard, q.rank, q.attempts, q.attempts_before, q.due_at from purchase_watch_internal.deliveries q
        where q.subscriber = w.subscriber and q.shard = s.shard and q.rank = k.rank and q.status = 'pending'
          and q.due_at >= case k.rank when 0 then w.due_since else '-infinity' end
          and q.due_at <= ${now}::timestamptz and q.id not in (select unnest(${except}::bigint[]))
        order by q.due_at, q.event limit w.per_shard) due
      order by due.rank, due.due_at, due.event limit w.room) d
    -- Events one by one: for a join the planner may read the whole table.
    cross join lateral (
      select id, type, body, created_at from purchase_watch_internal.events where position = d.event limit 1) e
    left join lateral (
      select f.id, f.event, f.due_at, f.rank from purchase_watch_internal.deliveries f
      where f.subscriber = d.subscriber and f.lane = d.lane and f.status = 'pending' and (f.rank = 2, f.event) < (d.rank = 2, d.event)
      order by f.rank = 2 desc, f.event desc limit 1) b on true
    order by d.rank = 2, d.event`;
  const due = rows.map((row) => dueDelivery(row, behindOf(row)));
  return { rows: due, more: withMore(due, wanted, perShard) };
}

export interface DueRow extends Omit<DueDelivery, 'event' | 'behind'> {
  readonly eventId: string;
  readonly type: string;
  readonly body: string;
  readonly createdAt: Instant;
}

/** Each field by name: copying a row with a spread costs more than all else that is done with it. */
export const dueDelivery = (row: DueRow, behind: DueDelivery['behind']): DueDelivery => ({
  id: row.id,
  mark: row.mark,
  subscriber: row.subscriber,
  lane: row.lane,
  position: row.position,
  shard: row.shard,
  rank: row.rank,
  dueAt: row.dueAt,
  attempts: row.attempts,
  attemptsBefore: row.attemptsBefore,
  event: { id: row.eventId, type: row.type, body: row.body, createdAt: row.createdAt },
  behind,
});

/** The delivery that another one must wait for, as columns of that one's row; null in all of them where there is none. */
export interface BehindRow {
  readonly behindId: number | null;
  readonly behindPosition: number | null;
  readonly behindDueAt: Instant | null;
  readonly behindRank: Rank | null;
}

export const behindOf = ({ behindId, behindPosition, behindDueAt, behindRank }: BehindRow): DueDelivery['behind'] =>
  behindId === null ? null : { id: behindId, position: behindPosition!, dueAt: behindDueAt!, rank: behindRank! };

/** The subscribers whose reading ended at a limit (in total, or of a shard's rank), and up to which due time rank 0 was read. */
function withMore(rows: readonly DueDelivery[], wanted: readonly Wanted[], perShard: readonly number[]): Map<number, Instant> {
  const more = new Map<number, Instant>();
  const groups = Map.groupBy(rows, ({ subscriber }) => subscriber);
  for (const [index, { subscriber, room, from, upTo }] of wanted.entries()) {
    const own = (groups.get(subscriber) ?? []).filter(({ rank }) => rank >= from && rank <= upTo);
    const dueOf = (some: readonly DueDelivery[]): Instant => Math.max(...some.map(({ dueAt }) => dueAt));
    const fresh = own.filter(({ rank }) => rank === 0);
    // Rank 0 comes first, so it was cut off only when no other rank was read.
    const ends = own.length >= room ? [fresh.length === own.length ? dueOf(own) : Number.POSITIVE_INFINITY] : [];
    for (const some of Map.groupBy(own, ({ shard, rank }) => shard * 4 + rank).values())
      if (some.length >= perShard[index]!) ends.push(some[0]!.rank === 0 ? dueOf(some) : Number.POSITIVE_INFINITY);
    if (ends.length > 0) more.set(subscriber, Math.min(more.get(subscriber) ?? Number.POSITIVE_INFINITY, ...ends));
  }
  return more;
}

/** When the next delivery in the given shards is due that is due to a subscriber `after` its moment; null: there is none. */
export const nextDue = (
  sql: Queries,
  { subscribers, shards }: { subscribers: readonly { id: number; after: Instant }[]; shards: readonly number[] },
) =>
  firstValue<Instant | null>(sql`
    select min(due.due_at) as at
    from ${columns(sql, subscribers, 'u', 'id integer, after timestamptz')}
    cross join lateral ${shardsWithPending(sql, sql`u.id`, shards)}
    cross join unnest(${RANKS}::smallint[]) as k (rank)
    cross join lateral (
      select due_at from purchase_watch_internal.deliveries q
      where q.subscriber = u.id and q.shard = s.shard and q.rank = k.rank and q.status = 'pending'
        and q.due_at > u.after
      order by q.due_at, q.event limit 1) due`);

/** The first delivery of a lane, due later, so that the deliveries behind it have to wait as long. */
export interface LaneHead {
  /** The delivery that stands first. */
  readonly head: number;
  readonly subscriber: number;
  readonly lane: number;
  /**
   * Deliveries after this position wait. When the first delivery is a replay, only replays wait; otherwise the other
   * deliveries after this position wait, and all replays.
   */
  readonly position: number;
  readonly isReplayed: boolean;
  readonly dueAt: Instant;
  /** The lowest rank for the deliveries that wait: with a lower one they would be read again and again before the first. */
  readonly rank: Rank;
}

/** More deliveries than any lane has. The limit makes the planner keep the order, and so use the index. */
export const LONGEST_LANE = 100_000;

/**
 * Puts off the deliveries behind the first one of a lane until the first is due. Writes only while the first still waits in that
 * lane until that moment: a statement that runs late puts nothing off behind a delivery that was sent meanwhile, or whose id was
 * handed out again by a database that went back.
 */
export async function putOff(sql: Queries, heads: readonly LaneHead[]): Promise<void> {
  if (heads.length === 0) return;
  await sql`
    with waiting as materialized (
      select f.id, r.due_at as due, r.rank from ${columns(sql, heads, 'r', 'subscriber integer, lane bigint, position bigint, is_replayed boolean, due_at timestamptz, rank smallint, head bigint')}
      cross join lateral (
        select from purchase_watch_internal.deliveries h
        where h.id = r.head and h.subscriber = r.subscriber and h.lane = r.lane and (h.rank = 2, h.event) <= (r.is_replayed, r.position)
          and h.settled_at is null and h.due_at >= r.due_at - interval '1 second' limit 1) first
      cross join lateral (
        select f.id from purchase_watch_internal.deliveries f
        where f.subscriber = r.subscriber and f.lane = r.lane and f.status = 'pending' and (f.rank = 2, f.event) > (r.is_replayed, r.position)
          and (f.due_at < r.due_at or f.rank < r.rank)
        order by f.rank = 2, f.event limit ${LONGEST_LANE}) f),
    -- One that another session has locked is put off once it is found due behind the first.
    free as materialized (
      select d.id from purchase_watch_internal.deliveries d
      where d.id = any(array(select id from waiting)) for no key update skip locked)
    update purchase_watch_internal.deliveries d set due_at = greatest(d.due_at, w.due), rank = greatest(d.rank, w.rank)
    from waiting w join free on free.id = w.id
    where d.id = w.id and d.settled_at is null`;
}
