/** Whether each replica can read each site. */

import type { ReplicaSiteReach } from '../../domain/replicas/replica-reach.ts';
import type { Queries } from '../connection/database.ts';
import { firstRow } from '../connection/rows.ts';
import { EVERY_SHARD, FIRST_BULK_SLOT } from '../migrations/names.ts';

/** The reach of every site by every replica; there are a few rows at most. */
export const readSiteReach = (sql: Queries) => sql<ReplicaSiteReach[]>`
    select r.site, r.replica, l.leaving as is_away, r.last_read_at, r.failing_since, r.reason, r.error
    from purchase_watch_internal.site_reach r join purchase_watch_internal.replicas l on l.id = r.replica order by r.site, r.replica`;

/**
 * A watched purchase of a site that is not due soon, so that a call about it overlaps with no poll. Null when there is none.
 * Reads an index range per shard.
 */
export const purchaseToAsk = (sql: Queries, { site, after }: { site: string; after: number }) =>
  firstRow(sql<{ id: number; purchaseId: string }[]>`
    select p.id, p.purchase_id from ${sql.unsafe(EVERY_SHARD)}
    cross join lateral (
      select q.id, q.purchase_id from purchase_watch.purchases q
      where q.site = ${site} and q.shard = g.shard::smallint and q.due_slot is not null and q.due_slot > ${after} and q.due_slot < ${FIRST_BULK_SLOT}
      order by q.due_slot, q.id limit 1) p
    limit 1`);
