/** Ends waits that have lost their reason: the subscriber takes events again, or we reach it again. */
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { EVERY_SHARD } from '../migrations/names.ts';

/** So many at once: more would hold locks for long. */
const AT_ONCE = 2_000;

/**
 * Which of a subscriber's deliveries go out now that would wait for longer: all of them; those that failed through us; or
 * after trouble that lasted so long those that wait because of it.
 */
export type Which =
  | { readonly kind: 'all' }
  | { readonly kind: 'ours' }
  | { readonly kind: 'explained'; readonly since: Instant; readonly attempts: number };

/**
 * How many times as long as the trouble lasted a wait may be that it explains. Waits grow from one to the next, by the
 * default schedule less than sevenfold compared with all that was waited before.
 */
const EXPLAINED = 8;

/** The condition on a delivery `q`. What waits behind another in its lane is put off once more if that one is not among them. */
function meant(sql: Queries, which: Which, now: Instant): Fragment {
  if (which.kind === 'all') return sql`true`;
  // Those that wait behind them are let go when they are through.
  if (which.kind === 'ours') return sql`q.attempts > 0 and q.attempts = q.attempts_before`;
  // A receiver that fails every other minute must not use up schedules made for days: the later half keeps its time
  // unless the trouble was long enough to account for it.
  return sql`(2 * (q.attempts - q.attempts_before) <= ${which.attempts}
    or q.due_at <= ${now + EXPLAINED * (now - which.since)}::timestamptz)`;
}

/**
 * Makes deliveries of a subscriber due now that would have to wait, and has all replicas read them; answers how many. They
 * keep their attempts and their order. Each statement takes a bounded part of index ranges, and passes over what is being
 * settled at that moment: it waits for nobody.
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
