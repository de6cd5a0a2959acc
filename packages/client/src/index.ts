/**
 * purchase-watch for programs: a client of its HTTP API, verification of its webhooks, and the client of the checkout
 * service that it polls with. What is exported here is an interface and follows semantic versioning; nothing else is.
 */
export {
  type CallOptions,
  createPurchaseWatchClient,
  type ListFilter,
  type PollResult,
  type PurchaseWatchClient,
  type PurchaseWatchClientConfig,
  type WatchManyResult,
  type WatchResult,
} from './api-client.ts';
export {
  type CheckoutClient,
  type CheckoutClientConfig,
  type CheckoutTrouble,
  createCheckoutClient,
  type InvoiceDetailsResult,
  type PaymentStatusResult,
} from './checkout.ts';
export type {
  ExpiredEvent,
  Invoice,
  InvoiceItem,
  InvoiceReadyEvent,
  Limit,
  ProblemField,
  Purchase,
  PurchaseEventData,
  PurchaseStatus,
  PurchaseWithTransitions,
  ReadableEvent,
  RecoveredEvent,
  Registration,
  SiteReachableEvent,
  SiteTroubleReason,
  SiteUnreachableEvent,
  State,
  StateChangedEvent,
  StuckEvent,
  TestEvent,
  Transition,
  UnknownStateEvent,
  UnreadableEvent,
  WatchEvent,
} from './contract.ts';
export type { CloudEventAttributes, WatchEventType, WebhookEvent } from './events.ts';
export type { EventPage, FollowOptions } from './feed.ts';
export type { CheckoutInvoice, CheckoutInvoiceItem } from './invoice.ts';
export { type Decimal, decimalText, type ExactNumber, type JsonObject, type JsonValue } from './json.ts';
export type { LocalTime } from './local-time.ts';
export type { PaymentStatus } from './payment-status.ts';
export { ApiProblem } from './problem.ts';
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
  type WebhookVerificationReason,
} from './webhook.ts';
