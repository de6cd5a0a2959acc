/** Purchases one by one and by site: what is known of them, and polling and stopping them. */
import { readClock, type Sql } from '../../postgres/connection/database.ts';
import { type PurchaseRow, transitionsOf } from '../../postgres/purchases/purchases.ts';
import { limitOfPurchase } from '../../postgres/reports/shown.ts';
import type { StayLimits } from '../../postgres/stays/limits.ts';

export { requestInvoice } from '../../postgres/purchases/invoices.ts';
export {
  findPurchases,
  type PurchaseName,
  stopPurchase,
  type TransitionRow,
} from '../../postgres/purchases/purchases.ts';
export { countPolled, countPurchases } from '../../postgres/reports/counts.ts';
export { deliveriesOfPurchase, idsFrom, type PurchaseDelivery } from '../../postgres/reports/overview.ts';
export type { PurchaseRow };

/** The changes of state of a purchase, first to last, and its limit where it is now. */
export async function historyOf(sql: Sql, purchase: PurchaseRow, limits: StayLimits) {
  const [transitions, { now }] = await Promise.all([transitionsOf(sql, purchase.id), readClock(sql)]);
  return { now, transitions, limit: limitOfPurchase(purchase, now, limits) };
}
