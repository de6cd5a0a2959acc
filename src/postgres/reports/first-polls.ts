/** How many first polls of bulk registrations are to come, and how many calls a second the daemons make of a site's. */

import { type FirstPolls, sizedFirstPolls } from '../../domain/polling/first-polls.ts';
import type { Queries } from '../connection/database.ts';
import { EVERY_SHARD, FIRST_BULK_SLOT } from '../migrations/names.ts';

/** Rows of each shard's queue that are counted at most. */
const COUNTED_PER_SHARD = 200;
/** Purchases polled in vain that are counted at most. */
const MOST_IN_VAIN = 10_000;

/**
 * The first polls that are to come at each configured site. Reads the front of each queue; of longer ones the answer is the
 * counter of purchases that no poll has shown, without those that were polled in vain, as ids that the service does not know.
 */
export async function firstPolls(sql: Queries): Promise<FirstPolls[]> {
  const rows = await sql<{ site: string; waiting: number; ceiling: number | null }[]>`
    select s.name as site, (case when q.longest >= ${COUNTED_PER_SHARD} then greatest(q.count, t.unseen - v.polled) else q.count end)::float8 as waiting, c.ceiling
    from purchase_watch_internal.sites s
    cross join lateral (
      select coalesce(sum(n), 0) as count, max(n) as longest from ${sql.unsafe(EVERY_SHARD)}
      cross join lateral (
        select count(*) as n from (
          select from purchase_watch.purchases p where p.site = s.name and p.shard = g.shard::smallint and p.due_slot >= ${FIRST_BULK_SLOT}
          limit ${COUNTED_PER_SHARD}) front) shard) q
    cross join lateral (
      select coalesce(sum(count), 0) as unseen from purchase_watch.purchase_totals
      where site = s.name and status = 'watching' and state is null) t
    cross join lateral (
      -- The order is that of the index of failing purchases.
      select count(*) filter (where f.state is null and f.status = 'watching' and f.due_slot < ${FIRST_BULK_SLOT}) as polled from (
        select p.state, p.status, p.due_slot from purchase_watch.purchases p
        where q.longest >= ${COUNTED_PER_SHARD} and p.site = s.name and p.failures > 0 order by p.id limit ${MOST_IN_VAIN}) f) v
    cross join lateral (${ceilingOf(sql, 's.name')}) c
    where s.configured order by s.name`;
  return rows.map(sizedFirstPolls);
}

/** SQL: as `ceiling`, the calls a second that living replicas together may make to a site; null while none has said so. */
export const ceilingOf = (sql: Queries, site: string) => sql<{ ceiling: number | null }[]>`
  select sum(k.ceiling)::float8 as ceiling from purchase_watch_internal.site_calls k
  join purchase_watch_internal.replicas r on r.id = k.replica and r.expires_at > clock_timestamp() where k.site = ${sql.unsafe(site)}`;
