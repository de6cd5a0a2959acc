/** The outbox: one event for one subscriber, what is due, and when the next is. */
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';

/** What goes first: what is new, what failed more than once or came with a bulk load, what is sent again by a replay. */
export type Rank = 0 | 1 | 2;
export const RANKS: readonly Rank[] = [0, 1, 2];
/** Written out in statements: with a parameter in its place no index on it would serve. */
export const REPLAYED: Rank = 2;

export interface DueDelivery {
  readonly id: number;
  readonly subscriber: number;
  /** What must stay in order: a purchase's row id, or 0. */
  readonly lane: number;
  /** The event's position: the order within the lane, where what is replayed comes after what is not. */
  readonly position: number;
  readonly shard: number;
  readonly rank: Rank;
  readonly dueAt: Instant;
  readonly attempts: number;
  /** Those of them that its schedule does not count: before it was last asked to be sent again, and failures of ours. */
  readonly attemptsBefore: number;
  readonly event: { readonly id: string; readonly type: string; readonly body: string; readonly createdAt: Instant };
  /** The pending delivery right before it in its lane, if there is one: it must wait for that, which waits for those before it. */
  readonly behind: { readonly id: number; readonly dueAt: Instant; readonly rank: Rank } | null;
}

/** How many more are wanted for one subscriber. */
export interface Wanted {
  readonly subscriber: number;
  readonly room: number;
  /** The ranks that are read. Who has much of the lower ones still gets on with the higher ones: they are wanted apart. */
  readonly from: Rank;
  readonly upTo: Rank;
  /**
   * Of rank 0, what was due before is known to be read; the epoch's beginning when nothing is. What was delivered stands in
   * the index until it is vacuumed, and is passed over entry by entry.
   */
  readonly dueSince: Instant;
}

/** Whose deliveries are read. */
export interface Reading {
  readonly shards: readonly number[];
  readonly now: Instant;
}

/**
 * The due deliveries of some subscribers in the given shards, but for those in memory already: per subscriber the lower
 * ranks first, then the oldest, an index range per shard and rank, whatever waits elsewhere. One statement for all of
 * them, because this follows every commit. What is left out is a subquery, which is hashed; a list would be searched from its
 * beginning for each row. Answers with them for whom there may be more, and until when what was due of
 * rank 0 is read with this.
 */
export async function loadDueDeliveries(
  sql: Queries,
  { wanted, except }: { wanted: readonly Wanted[]; except: readonly number[] },
  { shards, now }: Reading,
): Promise<{ rows: DueDelivery[]; more: Map<number, Instant> }> {
  if (shards.length === 0 || wanted.length === 0) return { rows: [], more: new Map() };
  // Enough for the room when they lie evenly, and a bounded read when they do not.
  const perShard = wanted.map(({ room }) => Math.max(Math.ceil((1.25 * room) / shards.length), 16));
  type Row = Omit<DueDelivery, 'event' | 'behind'> & {
    eventId: string;
    type: string;
    body: string;
    createdAt: Instant;
    behindId: number | null;
    behindDueAt: Instant | null;
    behindRank: Rank | null;
  };
  const rows = await sql<Row[]>`
    select d.id::float8 as id, d.subscriber, d.lane::float8 as lane, d.event::float8 as position, d.shard, d.rank, d.attempts,
      d.due_at as "dueAt", d.attempts_before as "attemptsBefore",
      e.id as "eventId", e.type, e.body, e.created_at as "createdAt",
      b.id::float8 as "behindId", b.due_at as "behindDueAt", b.rank as "behindRank"
    from ${columns(sql, wanted, 'w', {
      subscriber: ['integer', (w) => w.subscriber],
      room: ['integer', (w) => w.room],
      per_shard: ['integer', (_, index) => perShard[index]],
      up_to: ['integer', (w) => w.upTo],
      due_since: ['timestamptz', (w) => w.dueSince],
      from_rank: ['integer', (w) => w.from],
    })}
    cross join lateral (
      select due.* from unnest(${shards as number[]}::smallint[]) as s (shard)
      cross join generate_series(w.from_rank, w.up_to) as k (rank)
      cross join lateral (
        select q.id, q.subscriber, q.lane, q.event, q.shard, q.rank, q.attempts, q.attempts_before, q.due_at from purchase_watch_internal.deliveries q
        where q.subscriber = w.subscriber and q.shard = s.shard and q.rank = k.rank and q.status = 'pending'
          and q.due_at >= case k.rank when 0 then w.due_since else '-infinity' end
          and q.due_at <= ${now}::timestamptz and q.id not in (select unnest(${except as number[]}::bigint[]))
        order by q.due_at, q.event limit w.per_shard) due
      order by due.rank, due.due_at, due.event limit w.room) d
    -- One by one: as a join the planner may read all events.
    cross join lateral (
      select id, type, body, created_at from purchase_watch_internal.events where position = d.event limit 1) e
    left join lateral (
      select f.id, f.due_at, f.rank from purchase_watch_internal.deliveries f
      where f.subscriber = d.subscriber and f.lane = d.lane and f.status = 'pending' and (f.rank = 2, f.event) < (d.rank = 2, d.event)
      order by f.rank = 2 desc, f.event desc limit 1) b on true
    order by d.rank = 2, d.event`;
  // Each field by name: taking some out of a row and spreading the rest costs more than all of this.
  const due = rows.map(
    (row): DueDelivery => ({
      id: row.id,
      subscriber: row.subscriber,
      lane: row.lane,
      position: row.position,
      shard: row.shard,
      rank: row.rank,
      dueAt: row.dueAt,
      attempts: row.attempts,
      attemptsBefore: row.attemptsBefore,
      event: { id: row.eventId, type: row.type, body: row.body, createdAt: row.createdAt },
      behind:
        row.behindId === null || row.behindDueAt === null || row.behindRank === null
          ? null
          : { id: row.behindId, dueAt: row.behindDueAt, rank: row.behindRank },
    }),
  );
  return { rows: due, more: withMore(due, wanted, perShard) };
}

/** For whom the reading ended at a limit, of the room or of a shard's rank, and how far it came in rank 0. */
function withMore(rows: readonly DueDelivery[], wanted: readonly Wanted[], perShard: readonly number[]): Map<number, Instant> {
  const more = new Map<number, Instant>();
  const groups = Map.groupBy(rows, ({ subscriber }) => subscriber);
  for (const [index, { subscriber, room, from, upTo }] of wanted.entries()) {
    const own = (groups.get(subscriber) ?? []).filter(({ rank }) => rank >= from && rank <= upTo);
    const dueOf = (some: readonly DueDelivery[]): Instant => Math.max(...some.map(({ dueAt }) => dueAt));
    const fresh = own.filter(({ rank }) => rank === 0);
    // Rank 0 comes first: it is cut off only when nothing else came.
    const ends = own.length >= room ? [fresh.length === own.length ? dueOf(own) : Number.POSITIVE_INFINITY] : [];
    for (const some of Map.groupBy(own, ({ shard, rank }) => shard * 4 + rank).values())
      if (some.length >= perShard[index]!) ends.push(some[0]!.rank === 0 ? dueOf(some) : Number.POSITIVE_INFINITY);
    if (ends.length > 0) more.set(subscriber, Math.min(more.get(subscriber) ?? Number.POSITIVE_INFINITY, ...ends));
  }
  return more;
}

/** When the next delivery after now is due to any of the subscribers in the given shards, or null. */
export async function nextDue(
  sql: Queries,
  { subscribers, shards, now }: { subscribers: readonly number[]; shards: readonly number[]; now: Instant },
): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant | null }[]>`
    select min(due.due_at) as at
    from unnest(${subscribers as number[]}::integer[]) as u (subscriber)
    cross join unnest(${shards as number[]}::smallint[]) as s (shard)
    cross join unnest(${RANKS as number[]}::smallint[]) as k (rank)
    cross join lateral (
      select due_at from purchase_watch_internal.deliveries q
      where q.subscriber = u.subscriber and q.shard = s.shard and q.rank = k.rank and q.status = 'pending'
        and q.due_at > ${now}::timestamptz
      order by q.due_at, q.event limit 1) due`;
  return row?.at ?? null;
}

/** What stands first in a lane and is due later, so that what is behind it has to wait as long. */
export interface LaneHead {
  /** The delivery that stands first. */
  readonly head: number;
  readonly subscriber: number;
  readonly lane: number;
  /** What comes after this position waits; of what is replayed when it is itself, otherwise of the rest and all that is replayed. */
  readonly position: number;
  readonly isReplayed: boolean;
  readonly dueAt: Instant;
  /** What waits behind it is of no lower rank: it would be read before what it has to wait for, again and again. */
  readonly rank: Rank;
}

/** No purchase changes so often; the limit keeps the order, and with it the index. */
export const LONGEST_LANE = 100_000;

/**
 * Puts off what waits behind a delivery in its lane until that one is due. Only while that one waits for so long: a statement
 * that runs late puts nothing off behind what has been sent meanwhile.
 */
export async function putOff(sql: Queries, heads: readonly LaneHead[]): Promise<void> {
  if (heads.length === 0) return;
  await sql`
    update purchase_watch_internal.deliveries d set due_at = greatest(d.due_at, r.due), rank = greatest(d.rank, r.rank)
    from ${columns(sql, heads, 'r', {
      subscriber: ['integer', (h) => h.subscriber],
      lane: ['bigint', (h) => h.lane],
      position: ['bigint', (h) => h.position],
      replayed: ['boolean', (h) => h.isReplayed],
      due: ['timestamptz', (h) => h.dueAt],
      rank: ['smallint', (h) => h.rank],
      head: ['bigint', (h) => h.head],
    })}
    cross join lateral (
      select from purchase_watch_internal.deliveries h
      where h.id = r.head and h.settled_at is null and h.due_at >= r.due - interval '1 second' limit 1) first
    cross join lateral (
      select f.id from purchase_watch_internal.deliveries f
      where f.subscriber = r.subscriber and f.lane = r.lane and f.status = 'pending' and (f.rank = 2, f.event) > (r.replayed, r.position)
        and (f.due_at < r.due or f.rank < r.rank)
      order by f.rank = 2, f.event limit ${LONGEST_LANE}) waiting
    where d.id = waiting.id and d.settled_at is null`;
}
