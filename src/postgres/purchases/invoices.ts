/** Asking for an invoice to be announced. The purchase's owner asks the service for it with the next poll. */
import { COMPLETED } from '../../domain/deciding/invoice.ts';
import type { Purchase } from '../../domain/purchases/purchase.ts';
import type { Queries } from '../connection/database.ts';

/**
 * Has the invoice of a completed purchase asked for and announced, unless that was done or is about to be: then nothing
 * changes, so that asking in quick succession cannot shut out every answer. Answers what is so from now on; null also for
 * a purchase that is not completed, or not watched any more.
 */
export async function requestInvoice(sql: Queries, id: number): Promise<Purchase['invoice']> {
  const [row] = await sql<{ invoice: Purchase['invoice'] }[]>`
    with asked as (
      update purchase_watch.purchases set invoice = 'wanted', next_poll_at = now(), next_poll_reason = 'invoice',
        due_slot = purchase_watch_internal.due_slot(now()), revision = revision + 1
      where id = ${id} and state = ${COMPLETED} and status <> 'stopped' and (invoice is null or invoice = 'none')
      returning id, shard, invoice),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from asked),
    told as (select pg_notify('purchase_watch_wake', 'purchases') from asked)
    select coalesce((select invoice from asked), p.invoice) as invoice, (select count(*) from told)
    from purchase_watch.purchases p where p.id = ${id}`;
  return row?.invoice ?? null;
}
