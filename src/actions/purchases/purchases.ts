/** Purchases one by one and by site: what is known of them, and stopping and polling them. */
export { stopPurchasesOf } from '../../postgres/polling/rename.ts';
export { countSettled, type WatchSettled, watchSettled } from '../../postgres/polling/watch-settled.ts';
export {
  findPurchases,
  type PurchaseRow,
  requestPoll,
  stopPurchase,
  type TransitionRow,
  transitionsOf,
} from '../../postgres/purchases/purchases.ts';
export { countPolled, countPurchases } from '../../postgres/reports/counts.ts';
export { deliveriesOfPurchase, idsFrom, type PurchaseDelivery } from '../../postgres/reports/overview.ts';
export { limitOfPurchase } from '../../postgres/reports/shown.ts';
