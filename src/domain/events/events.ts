/**
 * What subscribers receive (contract, "Events and webhooks"). A body is made once, kept as text and never made again:
 * the field order here is the order on the wire.
 */

import { parseMetadata } from '../purchases/metadata.ts';
import type { Attached, Details, Purchase } from '../purchases/purchase.ts';
import { namedState } from '../purchases/states.ts';
import { cutJson, isAmount } from '../values/bounds.ts';
import { type Decimal, isDecimal, type JsonValue, parseExact, stringifyExact } from '../values/exact-json.ts';
import { type Instant, isoTime } from '../values/time.ts';

/** Types that webhook subscribers and the feed see, in the contract's order. */
export const EVENT_TYPES = [
  'purchase.state_changed',
  'purchase.stuck',
  'purchase.recovered',
  'purchase.unreadable',
  'purchase.readable',
  'purchase.expired',
  'purchase.invoice_ready',
  'site.unreachable',
  'site.reachable',
  'site.unknown_state',
  'subscriber.test',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Types for channels that speak to people: one per thing said about an incident. Not in the feed, not sent to webhooks. */
export type IncidentEventType =
  `incident.${'opened' | 'reopened' | 'grew' | 'reminder' | 'ended' | 'first_look' | 'digest' | 'checkouts'}`;

/** An event before it has an id: its place in the purchase's order (null for events of a site) and what it says. */
export interface EventDraft {
  readonly type: EventType | IncidentEventType;
  readonly sequence: number | null;
  readonly at: Instant;
  /** The state it is about, for subscribers that want to hear of some states only; null when it is about none. */
  readonly state: number | null;
  readonly data: { readonly [key: string]: JsonValue };
}

/** The text that is stored, signed, sent, fed and replayed unchanged. */
export function eventBody(id: string, draft: EventDraft): string {
  return stringifyExact({ id, type: draft.type, timestamp: isoTime(draft.at), data: draft.data });
}

/** What every event of a purchase begins with. */
export function purchaseHead(purchase: Purchase, sequence: number): { [key: string]: JsonValue } {
  return { site: purchase.site, purchaseId: purchase.purchaseId, sequence };
}

/**
 * Completes the events of a purchase: each ends with what the merchant attached and the amounts that `store.fields` allows.
 * `seen` are the details of the answer that led to the events; null when it brought none, and the stored ones hold.
 */
export function completedEvents(events: readonly EventDraft[], seen: Details | null, attached: Attached): EventDraft[] {
  const { reference, metadata, details } = attached;
  const stored = (): Details => (details === null ? {} : (parseExact(details) as Details));
  const tail = {
    reference,
    metadata: metadata === null ? null : parseMetadata(metadata),
    ...highlights(seen ?? stored()),
  };
  return events.map((event) => ({ ...event, data: { ...event.data, ...tail } }));
}

/** The three fields that purchases and events show by their own names; null when not stored. */
function highlights({ Price = null, CurrencyCode = null, OrderReference = null }: Details): {
  price: Decimal | JsonValue;
  currency: JsonValue;
  orderReference: JsonValue;
} {
  // An older version may have stored any length.
  const price = isDecimal(Price) && !isAmount(Price) ? null : Price;
  return { price, currency: cutJson(CurrencyCode), orderReference: cutJson(OrderReference) };
}

/** A state as the events show it; null before the first observation. */
export function stateOrNull(value: number | null): JsonValue {
  return value === null ? null : { ...namedState(value) };
}
