/** Purchases one by one: what is known of them, and polling and stopping them. */
export { requestInvoice } from '../../postgres/purchases/invoices.ts';
export {
  findPurchases,
  type PurchaseName,
  type PurchaseRow,
  stopPurchase,
  type TransitionRow,
  transitionsOf,
} from '../../postgres/purchases/purchases.ts';
export { limitOfPurchase } from '../../postgres/reports/shown.ts';
