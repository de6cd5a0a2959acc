/** The acts on many purchases at once; each statement has as many as it can lock for a moment. */
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { stopping } from '../polling/rename.ts';
import type { PurchaseName } from './purchases.ts';

/** A purchase that was chosen, as it is now. */
export interface Chosen extends PurchaseName {
  readonly id: number;
  /** Whether it is polled at all. */
  readonly isPolled: boolean;
  readonly isStopped: boolean;
}

/** The purchases of these names that there are. */
export const findNamed = (sql: Queries, names: readonly PurchaseName[]) => sql<Chosen[]>`
    select p.id, p.site, p.purchase_id, p.due_slot is not null as is_polled, p.status = 'stopped' as is_stopped
    from ${columns(sql, names, 'n', 'site text, purchase_id text')}
    cross join lateral (select * from purchase_watch.purchases p where p.site = n.site and p.purchase_id = n.purchase_id limit 1) p`;

/** The condition that a purchase `p` is one of these: a row id that was read before may be another purchase's by now. */
const isChosen = (sql: Queries, chosen: readonly Chosen[]): Fragment => sql`
  exists (select from ${columns(sql, chosen, 'c', { id: ['bigint', (each) => each.id], name: ['text', (each) => `${each.site}/${each.purchaseId}`] })}
    where c.id = p.id and c.name = p.site || '/' || p.purchase_id)
  and p.id = any (${chosen.map(({ id }) => id)}::bigint[])`;

/** Makes purchases due now, as `requestPoll` does with one; those that were stopped are left alone. */
export async function requestPolls(sql: Queries, chosen: readonly Chosen[]): Promise<void> {
  await sql`
    with candidate as materialized (
      select p.id from purchase_watch.purchases p
      where ${isChosen(sql, chosen)} and p.status <> 'stopped' and (p.next_poll_at is null or p.next_poll_at > now() or p.next_poll_reason is null
        or p.next_poll_reason <> 'requested' and (p.bulk or p.next_poll_reason not in ('first', 'renewed')))
      order by p.id for update of p),
    asked as (
      update purchase_watch.purchases p set next_poll_at = now(), next_poll_reason = 'requested',
        due_slot = purchase_watch_internal.due_slot(now()), revision = p.revision + 1
      from candidate c where p.id = c.id returning p.id, p.shard),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from asked)
    select pg_notify('purchase_watch_wake', 'purchases') where exists (select from asked)`;
}

/** Stops polling purchases; answers how many. Those that other sessions have locked are left alone. */
export async function stopPurchases(sql: Queries, chosen: readonly Chosen[]): Promise<number> {
  return stopping(
    sql,
    sql`select p.id from purchase_watch.purchases p where ${isChosen(sql, chosen)} and p.due_slot is not null order by p.id for update of p skip locked`,
  );
}
