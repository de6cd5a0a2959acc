/** Ends waits that have lost their reason: the subscriber takes events again, or a daemon reaches the subscriber again. */
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { EVERY_SHARD } from '../migrations/names.ts';

/** Deliveries that one statement moves at most: more would hold locks for long. */
const AT_ONCE = 2_000;

/**
 * Which of a subscriber's waiting deliveries become due now: all; those whose attempts all failed for a reason on the daemon's
 * side (`ours`); or those whose wait the subscriber's trouble explains, which lasted since `since` (`explained`).
 */
export type Which =
  | { readonly kind: 'all' }
  | { readonly kind: 'ours' }
  | { readonly kind: 'explained'; readonly since: Instant; readonly attempts: number };

/**
 * A trouble explains waits up to this many times its own length. In the default schedule a wait is less than seven times as
 * long as all earlier waits together.
 */
const EXPLAINED = 8;

/** The condition that a delivery `q` becomes due now. A delivery behind another in its lane is put off again unless the other becomes due, too. */
function meant(sql: Queries, which: Which, now: Instant): Fragment {
  if (which.kind === 'all') return sql`true`;
  // The deliveries behind these in a lane become due when these are settled.
  if (which.kind === 'ours') return sql`q.attempts > 0 and q.attempts = q.attempts_before`;
  // A receiver that fails every other minute must not use up schedules made for days: a delivery in the later half of its
  // schedule keeps its due time unless the trouble was long enough to explain the wait.
  return sql`(2 * (q.attempts - q.attempts_before) <= ${which.attempts}
    or q.due_at <= ${now + EXPLAINED * (now - which.since)}::timestamptz)`;
}

/**
 * Makes waiting deliveries of a subscriber due now, and wakes all replicas to load them; answers how many. The deliveries keep
 * their attempts and their order. Each statement takes a bounded part of index ranges, and skips rows that another statement
 * has locked, so it never waits for a lock.
 */
export async function bringForward(sql: Queries, subscriber: number, which: Which, now: Instant): Promise<number> {
  let count = 0;
  for (;;) {
    const rows = await sql`
      with waiting as materialized (
        select w.id from ${sql.unsafe(EVERY_SHARD)} cross join generate_series(0, 2) k (rank)
        cross join lateral (
          select q.id from purchase_watch_internal.deliveries q
          where q.subscriber = ${subscriber} and q.shard = g.shard::smallint and q.rank = k.rank::smallint and q.status = 'pending'
            and q.due_at > ${now}::timestamptz and ${meant(sql, which, now)}
          order by q.due_at, q.event limit ${AT_ONCE} for update skip locked) w
        limit ${AT_ONCE})
      update purchase_watch_internal.deliveries d set due_at = ${now}::timestamptz
      where d.id = any(array(select id from waiting)) and d.settled_at is null returning 1`;
    count += rows.length;
    if (rows.length < AT_ONCE) break;
  }
  if (count > 0) await sql`select pg_notify('purchase_watch_wake', 'replays')`;
  return count;
}
