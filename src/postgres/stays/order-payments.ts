/** Completed purchases by their order: noted by the statement that records the poll, and read with what names them. */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import { MOST_PAYMENTS, type OrderPayment } from '../../domain/incidents/paid-twice.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { jsonInstant } from '../connection/instants.ts';
import { MOST_OF_ONE_ORDER, sharersOfOrder } from './evidence.ts';
import { isOfFirstLoad } from './first-load.ts';

/** SQL: the completed purchases `o` of the order of the purchases row `p` at its site, the row itself included; none when its order is not known. */
export const paymentsOfOrder = (sql: Queries): Fragment => sql`
    select o.* from (select distinct s.id from (${sharersOfOrder(sql)}) s where s.sharing <= ${MOST_OF_ONE_ORDER}) s
    join purchase_watch.purchases o on o.id = s.id
    where o.site = p.site and o.state = ${COMPLETED}`;

/** A completed purchase of an order, with what names it and its money. */
export interface StoredPayment extends OrderPayment {
  readonly purchaseId: string;
  readonly reference: string | null;
  readonly orderReference: string | null;
  /** The amount's exact digits. */
  readonly price: string | null;
  readonly currency: string | null;
  readonly completedAt: Instant;
}

/** The part of a recording statement that notes purchases that became Completed, from its part `transition`. */
export const notingPayments = (sql: Queries): Fragment => sql`
    payment as (
      insert into purchase_watch_internal.order_payments (purchase, paid_at)
      select purchase, not_after from transition where to_state = ${COMPLETED} on conflict do nothing)`;

/** SQL: whether the completed purchase `p` of the site `s` came with the site's first load and was paid already at its first poll. `firstAt` as in `isOfFirstLoad`. */
export const isOldPayment = (sql: Queries, firstAt?: Fragment): Fragment => sql`
    (${isOfFirstLoad(sql, firstAt)} and (
      select count(*) from (select from purchase_watch_internal.purchase_transitions t where t.purchase = p.id limit 2) changes) = 1)`;

/** SQL: what is read of each completed purchase of the order of the row `p`, as JSON, the earliest first. */
export const paymentsJson = (sql: Queries, isLater: Fragment): Fragment => sql`
    select json_agg(json_build_object('id', q.id, 'purchaseId', q.purchase_id, 'reference', q.reference,
        'orderReference', nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'OrderReference')), ''),
        'price', purchase_watch_internal.stored_number(d.fields, 'Price')::text,
        'currency', nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'CurrencyCode')), ''),
        'completedAt', ${sql.unsafe(jsonInstant('q.state_since'))}, 'isLater', ${isLater}) order by q.state_since, q.id)
    from (select * from (${paymentsOfOrder(sql)}) o order by o.state_since, o.id limit ${MOST_PAYMENTS + 1}) q
    left join purchase_watch_internal.purchase_details d on d.purchase = q.id`;
