/** Reads the announced history of a purchase, and writes the purchase's row to agree with that history. */

import type { History } from '../../domain/deciding/repair.ts';
import type { Purchase } from '../../domain/purchases/purchase.ts';
import type { Holding } from '../../domain/replicas/ownership.ts';
import type { Queries } from '../connection/database.ts';
import { loadPurchases } from './queue.ts';

/** A purchase's row and its history; null when there is no such row, or its id was handed out again to another purchase. */
export async function readHistory(
  sql: Queries,
  { id, site, purchaseId }: Pick<Purchase, 'id' | 'site' | 'purchaseId'>,
): Promise<{ row: Purchase; history: History } | null> {
  const [queued] = await loadPurchases(sql, [id]);
  if (queued?.purchase.site !== site || queued.purchase.purchaseId !== purchaseId) return null;
  const [lastTransition = null] = await sql<NonNullable<History['lastTransition']>[]>`
    select sequence, to_state as "to", not_after
    from purchase_watch_internal.purchase_transitions where purchase = ${id} order by sequence desc limit 1`;
  const events = await sql<History['events'][number][]>`
    select sequence, type, created_at as at
    from purchase_watch_internal.events where purchase = ${id} order by sequence`;
  return { row: queued.purchase, history: { lastTransition, events } };
}

/**
 * Writes a repaired row and makes the purchase due now; false, and nothing is written, when its shard has another owner, the
 * row was written since it was read, or another session has locked the row. A poll that is under way for the purchase is not recorded afterwards.
 */
export async function writeRepaired(
  sql: Queries,
  { id, site, purchaseId, shard, revision, polls, ...repaired }: Purchase,
  { replica, holding }: { replica: string; holding: Holding },
): Promise<boolean> {
  const { status, state, stateSince, stuckSince, atRiskSince, excused, seenAt, sequence, invoice } = repaired;
  const hasEnded = status === 'settled' || status === 'expired' || status === 'stopped';
  const isPolled = status !== 'expired' && status !== 'stopped';
  const rows = await sql`
    with held as materialized (
      select from purchase_watch_internal.shards where id = ${shard} and owner = ${replica} and epoch = ${holding.epoch} for share),
    free as materialized (
      select id from purchase_watch.purchases
      where id = ${id} and site = ${site} and purchase_id = ${purchaseId} and revision = ${revision} and polls = ${polls} for no key update skip locked)
    update purchase_watch.purchases set revision = revision + 1, status = ${status}, state = ${state},
      state_since = ${stateSince}::timestamptz, stuck_since = ${stuckSince}::timestamptz,
      at_risk_since = ${atRiskSince}::timestamptz,
      excused_ms = ${excused}, seen_at = ${seenAt}::timestamptz, sequence = ${sequence}, invoice = ${invoice},
      ended_at = case when ${hasEnded} then coalesce(ended_at, now()) end,
      next_poll_at = case when ${isPolled} then now() end,
      next_poll_reason = case when ${isPolled} then 'repaired'::purchase_watch_internal.poll_reason end,
      due_slot = case when ${isPolled} then purchase_watch_internal.due_slot(now()) end
    where id = (select id from free) and exists (select from held) returning 1`;
  return rows.length > 0;
}
