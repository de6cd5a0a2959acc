/** Events as webhooks and the feed bring them, distinguished by `type`. */
import type { WatchEvent } from './contract.ts';
import { withText } from './invoice.ts';
import { decimalText, type JsonObject } from './json.ts';

export type WatchEventType = WatchEvent['type'];

/** Attributes of a CloudEvent beside `id`, `type` and `data`, for subscribers with `format: cloudevents`. */
export interface CloudEventAttributes {
  readonly specversion: '1.0';
  /** `/purchase-watch/sites/<site>`. */
  readonly source: string;
  /** The purchase id, where there is one. */
  readonly subject?: string;
  /** The same as `timestamp`. */
  readonly time: string;
  readonly datacontenttype: string;
  /** As text of ten digits; as a number it is in `data`. */
  readonly sequence?: string;
}

/** The event of a webhook, with the attributes of a CloudEvent where it came as one. */
export type WebhookEvent = WatchEvent & Partial<CloudEventAttributes>;

const INVOICE_AMOUNTS = ['totalAmount', 'totalAuthorizedAmount', 'minimumAmountToPay'];

/** A parsed body as an event, its amounts as text; null when it is none. A CloudEvent has its `time` as `timestamp`, too. */
export function eventOf(body: JsonObject): WebhookEvent | null {
  const { id, type, data, specversion, time } = body;
  const timestamp = specversion === '1.0' ? time : body.timestamp;
  if (typeof id !== 'string' || typeof type !== 'string' || typeof timestamp !== 'string') return null;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return null;
  const exact: { price?: unknown; invoice?: unknown; payments?: unknown } = { ...(data as JsonObject) };
  if ('price' in exact) exact.price = decimalText((data as JsonObject).price);
  if (type === 'purchase.invoice_ready' && typeof exact.invoice === 'object') {
    exact.invoice = withText(exact.invoice as JsonObject, INVOICE_AMOUNTS);
  }
  if (type === 'order.paid_twice' && Array.isArray(exact.payments)) {
    exact.payments = exact.payments.map((payment) => withText(payment as JsonObject, ['price']));
  }
  return { ...body, timestamp, data: exact } as unknown as WebhookEvent;
}
