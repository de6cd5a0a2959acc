/** Which customer a purchase belongs to, as purchases of one order are one customer's, and in which slices of customers that one is. */
import type { Fragment, Queries } from '../connection/database.ts';
import { MOST_OF_ONE_ORDER } from './evidence.ts';

/**
 * SQL: a number for the customer of the purchases row `p`, computed from its reference, else from its OrderReference, else from
 * its own id. A reference that more purchases share than one order has names no customer. Reads a few index entries for each row.
 */
export const customerOf = (sql: Queries): Fragment => sql`coalesce(
    case when p.reference is not null and (
      select count(*) from (select from purchase_watch.purchases q where q.reference = p.reference limit ${MOST_OF_ONE_ORDER + 1}) q) <= ${MOST_OF_ONE_ORDER}
      then hashtextextended(p.reference, 0) end,
    (select k.key from (
        select purchase_watch_internal.order_key(fields) as key from purchase_watch_internal.purchase_details where purchase = p.id offset 0) k
      where k.key is not null and (
        select count(*) from (
          select from purchase_watch_internal.purchase_details q where purchase_watch_internal.order_key(q.fields) = k.key limit ${MOST_OF_ONE_ORDER + 1}) q) <= ${MOST_OF_ONE_ORDER}),
    hashtextextended(p.purchase_id, 0))`;

/** SQL: the stored text of a field by which customers are kept apart; `d` is the row of details. */
export const sliced = (sql: Queries, field: string): Fragment =>
  sql`left(nullif(btrim(purchase_watch_internal.stored_text(d.fields, ${field})), ''), 20)`;
