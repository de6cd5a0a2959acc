/** Events as webhooks and the feed bring them, told apart by `type`. */
import { withText } from './invoice.ts';
import { type Decimal, decimalText, type JsonObject } from './json.ts';
import type { State } from './purchase.ts';

interface Event<Type extends string, Data> {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Drop what has been seen. */
  readonly id: string;
  readonly type: Type;
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: Data;
}

/** What every event of a purchase says. */
export interface PurchaseEventData {
  readonly site: string;
  readonly purchaseId: string;
  /** 1, 2, 3 … for each purchase, without gaps. */
  readonly sequence: number;
  /** What it was registered with. */
  readonly reference: string | null;
  readonly metadata: JsonObject | null;
  /** The three are null where the service sent none, or `store.fields` does not name them. */
  readonly price: Decimal | null;
  readonly currency: string | null;
  readonly orderReference: string | null;
}

/** The state changed; `from` and `notBefore` are null on the first observation. */
export type StateChangedEvent = Event<
  'purchase.state_changed',
  PurchaseEventData & {
    readonly from: State | null;
    readonly to: State;
    readonly notBefore: string | null;
    readonly notAfter: string;
    /** Whether the purchase is polled no more, except for rechecks. */
    readonly final: boolean;
  }
>;

/** A poll found it in the same state for too long. */
export type StuckEvent = Event<
  'purchase.stuck',
  PurchaseEventData & { readonly state: State; readonly stateSince: string; readonly stuckSince: string }
>;

/** A stuck purchase moved. */
export type RecoveredEvent = Event<
  'purchase.recovered',
  PurchaseEventData & {
    readonly from: State;
    readonly to: State;
    readonly stateSince: string | null;
    readonly stuckSince: string;
  }
>;

/** The service does not know this id, or answers about it with something else than a status. */
export type UnreadableEvent = Event<
  'purchase.unreadable',
  PurchaseEventData & { readonly state: State | null; readonly tries: number; readonly reason: string }
>;

/** An unreadable purchase can be read again. */
export type ReadableEvent = Event<'purchase.readable', PurchaseEventData & { readonly state: State | null }>;

/** Polling was given up. */
export type ExpiredEvent = Event<
  'purchase.expired',
  PurchaseEventData & { readonly state: State | null; readonly stateSince: string | null; readonly watchedSince: string }
>;

/** A completed purchase has an invoice. Who is invoiced is not said here: ask `invoice` for it. */
export type InvoiceReadyEvent = Event<
  'purchase.invoice_ready',
  PurchaseEventData & {
    readonly invoice: {
      readonly totalAmount: Decimal | null;
      readonly totalAuthorizedAmount: Decimal | null;
      readonly minimumAmountToPay: Decimal | null;
      /** Dates as the service wrote them. */
      readonly invoiceDate: string | null;
      readonly dueDate: string | null;
      /** UTC. */
      readonly completed: string | null;
      /** How many there are. */
      readonly debitItems: number;
      readonly creditItems: number;
      readonly details?: JsonObject;
    };
  }
>;

/** Why no purchase of a site can be read. Later versions may add reasons. */
export type SiteTroubleReason = 'throttled' | 'malformed' | 'unknown' | 'refused' | 'unreachable';

/** No purchase of a site can be read. */
export type SiteUnreachableEvent = Event<
  'site.unreachable',
  {
    readonly site: string;
    readonly since: string;
    readonly reason: SiteTroubleReason | null;
    readonly lastError: string | null;
  }
>;

/** It does again. */
export type SiteReachableEvent = Event<
  'site.reachable',
  {
    readonly site: string;
    readonly since: string;
    readonly until: string | null;
    readonly reason: SiteTroubleReason | null;
  }
>;

/** A state number that the specification does not list; once per site and number. */
export type UnknownStateEvent = Event<
  'site.unknown_state',
  { readonly site: string; readonly state: State; readonly purchaseId: string }
>;

/** Somebody tests whether you can be reached. */
export type TestEvent = Event<'subscriber.test', JsonObject>;

/** Every event there is. Later versions may add types: end a `switch` with a `default` that ignores them. */
export type WatchEvent =
  | StateChangedEvent
  | StuckEvent
  | RecoveredEvent
  | UnreadableEvent
  | ReadableEvent
  | ExpiredEvent
  | InvoiceReadyEvent
  | SiteUnreachableEvent
  | SiteReachableEvent
  | UnknownStateEvent
  | TestEvent;

export type WatchEventType = WatchEvent['type'];

/** What a CloudEvent says beside `id`, `type` and `data`, for subscribers with `format: cloudevents`. */
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

/** What a webhook brought: an event, and the attributes of a CloudEvent where it came as one. */
export type WebhookEvent = WatchEvent & Partial<CloudEventAttributes>;

const INVOICE_AMOUNTS = ['totalAmount', 'totalAuthorizedAmount', 'minimumAmountToPay'];

/** A parsed body as an event, its amounts as text; null when it is none. A CloudEvent has its `time` as `timestamp`, too. */
export function eventOf(body: JsonObject): WebhookEvent | null {
  const { id, type, data, specversion, time } = body;
  const timestamp = specversion === '1.0' ? time : body.timestamp;
  if (typeof id !== 'string' || typeof type !== 'string' || typeof timestamp !== 'string') return null;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return null;
  const said: { price?: unknown; invoice?: unknown } = { ...(data as JsonObject) };
  if ('price' in said) said.price = decimalText((data as JsonObject).price);
  if (type === 'purchase.invoice_ready' && typeof said.invoice === 'object') {
    said.invoice = withText(said.invoice as JsonObject, INVOICE_AMOUNTS);
  }
  return { ...body, timestamp, data: said } as unknown as WebhookEvent;
}
