/** Requests that an invoice be announced. The replica that owns the purchase asks the service for the invoice with the next poll. */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import type { Purchase } from '../../domain/purchases/purchase.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';
import type { PurchaseName } from './purchases.ts';

/**
 * Requests that the invoice of a completed purchase be announced, unless it was announced or is requested already: then nothing
 * changes, because each write makes a poll under way invalid, and quick repeats would shut out every answer. Answers the
 * invoice's status after the call; null also for a purchase that is not completed, or was stopped.
 */
export const requestInvoice = (sql: Queries, { site, purchaseId }: PurchaseName) =>
  firstValue<Purchase['invoice'] | null>(sql`
    with asked as (
      update purchase_watch.purchases set invoice = 'wanted', next_poll_at = now(), next_poll_reason = 'invoice',
        due_slot = purchase_watch_internal.due_slot(now()), revision = revision + 1
      where site = ${site} and purchase_id = ${purchaseId} and state = ${COMPLETED} and status <> 'stopped' and (invoice is null or invoice = 'none')
      returning id, shard, invoice),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from asked),
    notified as (select pg_notify('purchase_watch_wake', 'purchases') from asked)
    select coalesce((select invoice from asked), p.invoice) as invoice, (select count(*) from notified)
    from purchase_watch.purchases p where p.site = ${site} and p.purchase_id = ${purchaseId}`);
