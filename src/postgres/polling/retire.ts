/** Ends all work that an earlier run left in the database, and keeps the history. */
import type { Sql } from '../connection/database.ts';

/**
 * Stops every purchase, ends open incidents without an alert and gives up deliveries that wait; deletes the numbers of earlier
 * customers, so that each run begins as a new shop does. For a database whose checkout service and subscribers are gone for
 * good, as the demo's are after each run; no daemon may be running on the database.
 */
export async function retireEverything(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`
      update purchase_watch.purchases set status = case when status in ('watching', 'unreadable') then 'stopped' else status end,
        stuck_since = null, next_poll_at = null, next_poll_reason = null, due_slot = null, ended_at = coalesce(ended_at, now()), revision = revision + 1
      where due_slot is not null or stuck_since is not null or status in ('watching', 'unreadable')`;
    await tx`delete from purchase_watch_internal.nudges`;
    await tx`delete from purchase_watch_internal.stays`;
    await tx`delete from purchase_watch_internal.detections`;
    await tx`delete from purchase_watch_internal.stay_days`;
    await tx`delete from purchase_watch_internal.stuck_alerts`;
    await tx`delete from purchase_watch_internal.order_payments where announced_at is null`;
    await tx`update purchase_watch_internal.incidents set ended_at = now() where ended_at is null`;
    await tx`
      update purchase_watch_internal.deliveries set status = 'suppressed', settled_at = now(), last_error = 'What it was about ended before it was sent.'
      where status = 'pending'`;
    await tx`delete from purchase_watch_internal.subscriber_health`;
    await tx`delete from purchase_watch_internal.under_way`;
    await tx`update purchase_watch_internal.sites set failing_since = null where failing_since is not null`;
  });
}
