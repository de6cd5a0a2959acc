/** The next and the latest deliveries of a channel for people: read before each message, of which there are few. */

import { LEAST_STEP } from '../../domain/values/clock-steps.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { type DueDelivery, type DueRow, dueDelivery } from './deliveries.ts';

/** The pending deliveries of one lane of a subscriber, due or not, in order; at most so many. */
export async function waitingInLane(
  sql: Queries,
  { subscriber, lane, shard, most }: Pick<DueDelivery, 'subscriber' | 'lane' | 'shard'> & { readonly most: number },
): Promise<DueDelivery[]> {
  const rows = await sql<DueRow[]>`
    select d.id, d.mark, d.subscriber, d.lane, d.event as position, d.shard, d.rank, d.attempts, d.due_at, d.attempts_before,
      e.id as event_id, e.type, e.body, e.created_at
    from (
      select q.* from purchase_watch_internal.deliveries q
      where q.subscriber = ${subscriber} and q.lane = ${lane} and q.shard = ${shard} and q.status = 'pending'
      order by q.rank = 2, q.event limit ${most}) d
    -- Events one by one: for a join the planner may read the whole table.
    cross join lateral (
      select id, type, body, created_at from purchase_watch_internal.events where position = d.event limit 1) e
    order by d.rank = 2, d.event`;
  return rows.map((row) => dueDelivery(row, null));
}

/**
 * When a channel took its last messages, the newest first: the moments from `since` to `now` at which deliveries were settled.
 * Deliveries that left in one message share a moment. A moment after `now` was written before the clock was set back, and is left
 * out. The statement skips from moment to moment in the index, so its cost grows with the number of messages only.
 */
export async function messagesTaken(
  sql: Queries,
  { subscriber, since, now, most }: { subscriber: number; since: Instant; now: Instant; most: number },
): Promise<Instant[]> {
  const taken = sql`
    from purchase_watch_internal.deliveries d
    where d.subscriber = ${subscriber} and d.status = 'delivered' and d.lane <= 0
      and d.settled_at <= ${now + LEAST_STEP}::timestamptz`;
  const rows = await sql<{ at: Instant }[]>`
    with recursive message (at, number) as (
      (select d.settled_at, 1 ${taken} and d.settled_at > ${since}::timestamptz order by d.settled_at desc limit 1)
      union all
      select n.settled_at, m.number + 1 from message m cross join lateral (
        select d.settled_at ${taken} and d.settled_at < m.at and d.settled_at > ${since}::timestamptz order by d.settled_at desc limit 1) n
      where m.number < ${most})
    select at from message order by at desc`;
  return rows.map(({ at }) => at);
}
