/** Ends waits of purchases that have lost their reason: the polls that failed did so because the site could not be read. */
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

/** Rows examined in one statement: more would hold locks for long. */
const AT_ONCE = 2_000;

/**
 * Makes the next poll of a site's purchases due now whose last poll failed at or after `since`; answers how many. Failures
 * stay counted: a purchase that fails again goes on waiting as long as before. Only rows with failures are looked through,
 * which have an index of their own; each statement takes a bounded part and passes over rows that are being written.
 */
export async function bringPollsForward(
  sql: Queries,
  { site, since, now }: { readonly site: string; readonly since: Instant; readonly now: Instant },
): Promise<number> {
  let moved = 0;
  let last = 0;
  for (;;) {
    const [batch] = await sql<{ moved: number; examined: number; last: number | null }[]>`
      with failing as materialized (
        select id, last_polled_at, next_poll_at from purchase_watch.purchases
        where site = ${site} and failures > 0 and id > ${last} order by id limit ${AT_ONCE}),
      free as materialized (
        select p.id from purchase_watch.purchases p
        where p.id = any(array(select id from failing
            where last_polled_at >= ${since}::timestamptz and next_poll_at > ${now}::timestamptz))
          and p.failures > 0 and p.next_poll_at is not null
        for update skip locked),
      moved as (
        update purchase_watch.purchases p set next_poll_at = ${now}::timestamptz, next_poll_reason = 'site_readable',
          due_slot = purchase_watch_internal.due_slot(${now}::timestamptz), revision = p.revision + 1
        from free where p.id = free.id returning p.id, p.shard),
      nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from moved)
      select (select count(*) from moved) as moved, count(*) as examined, max(id) as last from failing`;
    moved += batch!.moved;
    if (batch!.examined < AT_ONCE) break;
    last = batch!.last!;
  }
  if (moved > 0) await sql`select pg_notify('purchase_watch_wake', 'purchases')`;
  return moved;
}
