/** Names that callers give. */

export const OPERATIONS = ['token', 'authorization', 'status', 'invoice'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Lives that a purchase may have; purchases/lives.ts says what happens in each. */
export const LIFE_NAMES = [
  'card-paid',
  'invoice-eid-app',
  'invoice-identity-provider',
  'mobile-payment',
  'finnish-direct-payment',
  'strong-authentication',
  'credit-approved',
  'credit-not-approved',
  'cancelled-after-completion',
  'external-payment',
  'user-cancels',
  'never-opened',
  'abandoned-in-form',
  'abandoned-at-bank',
  'abandoned-at-identity-provider',
  'stuck-at-card-payments',
  'stuck-at-identity-provider',
  'paid-at-second-poll',
  'waits-for-customer',
] as const;
export type LifeName = (typeof LIFE_NAMES)[number];

/** Numbers of PaymentMethod. The specification shows none; these are the simulator's. */
export const PAYMENT_METHOD = {
  invoice: 0,
  loan: 1,
  card: 2,
  'direct-payment': 3,
  'part-payment': 4,
  'mobile-payment': 5,
  external: 7,
  'business-invoice': 9,
} as const;
export type PaymentMethodName = keyof typeof PAYMENT_METHOD;

/** Acts of a customer, who opens the page, pays, leaves at the bank and does not come back, or cancels. */
export const CUSTOMER_ACTS = ['opens', 'pays', 'leaves', 'cancels'] as const;
export type CustomerAct = (typeof CUSTOMER_ACTS)[number];

/** Refusals: well-formed errors with this status. 429 comes with Retry-After in seconds or as a date. */
export const REFUSALS = [
  '400',
  '401',
  '403',
  '404',
  '409',
  '410',
  '422',
  '429-seconds',
  '429-date',
  '500',
  '502',
  '503',
] as const;
/** Answers that have nothing to do with the request. */
const ANY_CALL = ['redirect', 'html', 'empty', 'null', 'deep', 'endless', 'hang', 'reset'] as const;
/** Spoils of a good answer: they wait for one. */
export const GOOD_ANSWER = [
  'null-fields',
  'cut',
  'huge',
  'slow-body',
  'content-type',
  'html-type',
  'bom',
  'trailing-bytes',
  'gzip',
  'utf-16',
  'invalid-json',
  'invalid-utf8',
] as const;
/** Spoils of a good answer about a purchase. */
export const PURCHASE_ANSWER = [
  'null-state',
  'string-state',
  'unknown-state',
  'string-amount',
  'error-list',
  'other-purchase',
] as const;

export const FAULT_KINDS = [...REFUSALS, ...ANY_CALL, ...GOOD_ANSWER, ...PURCHASE_ANSWER] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];
export type RefusalKind = (typeof REFUSALS)[number];
