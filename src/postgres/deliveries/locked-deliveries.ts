/** Rows of deliveries that other sessions have locked. */

import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';
import { LONGEST_LANE } from './deliveries.ts';
import { freeing, type Settlement } from './settle.ts';

/**
 * The ids of the deliveries whose results cannot be written at once: another session has locked the delivery's row, or the row
 * of a delivery behind it that becomes due with it.
 */
export async function lockedDeliveries(sql: Queries, batch: readonly Settlement[]): Promise<Set<number>> {
  const rows = await sql<{ id: number }[]>`
    with asked as materialized (
      select head as id, head from ${columns(sql, batch, 'own', { head: ['bigint', (s) => s.delivery.id] })}
      union all
      select f.id, r.head from ${columns(sql, batch.filter(freeing), 'r', {
        head: ['bigint', (s) => s.delivery.id],
        subscriber: ['integer', (s) => s.delivery.subscriber],
        lane: ['bigint', (s) => s.delivery.lane],
        at: ['timestamptz', (s) => s.at],
      })}
      cross join lateral (
        select f.id from purchase_watch_internal.deliveries f
        where f.subscriber = r.subscriber and f.lane = r.lane and f.status = 'pending' and (f.due_at > r.at or f.rank = 1)
        order by f.rank = 2, f.event limit ${LONGEST_LANE}) f),
    unlocked as materialized (
      select d.id from purchase_watch_internal.deliveries d
      where d.id = any(array(select id from asked)) for no key update skip locked)
    select distinct a.head::float8 as id from asked a join purchase_watch_internal.deliveries d on d.id = a.id
    where not exists (select from unlocked u where u.id = a.id)`;
  return new Set(rows.map(({ id }) => id));
}
