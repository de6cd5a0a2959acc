/** Whether each replica can read each site. */

import type { ReplicaSiteReach } from '../../domain/replicas/replica-reach.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstRow } from '../connection/rows.ts';
import { EVERY_SHARD, FIRST_BULK_SLOT } from '../migrations/names.ts';
import { dueSlot } from './queue.ts';

/** The reach of every site by every replica; there are a few rows at most. */
export const readSiteReach = (sql: Queries) => sql<ReplicaSiteReach[]>`
    select r.site, r.replica, l.leaving as is_away, r.last_read_at, r.failing_since, r.reason, r.error
    from purchase_watch_internal.site_reach r join purchase_watch_internal.replicas l on l.id = r.replica order by r.site, r.replica`;

/** Rows at the front of a shard's queue. */
const FRONT = 50;

/**
 * A watched purchase of a site that is due after this time, so that a call about it overlaps with no poll. Null when none is found.
 * Reads an index range per shard, and the front of each queue, where daemons leave the rows of purchases that they keep in memory.
 */
export const purchaseToAsk = (sql: Queries, { site, after }: { site: string; after: Instant }) => {
  const queued = sql`
    select q.id, q.purchase_id, q.next_poll_at from purchase_watch.purchases q
    where q.site = ${site} and q.shard = g.shard::smallint and q.due_slot is not null and q.due_slot < ${FIRST_BULK_SLOT}`;
  return firstRow(sql<{ id: number; purchaseId: string }[]>`
    select p.id, p.purchase_id from ${sql.unsafe(EVERY_SHARD)}
    cross join lateral (
      (${queued} and q.due_slot > ${dueSlot(after)} order by q.due_slot, q.id limit 1)
      union all
      (select * from (${queued} order by q.due_slot, q.id limit ${FRONT}) front where next_poll_at > ${after}::timestamptz limit 1)) p
    limit 1`);
};
