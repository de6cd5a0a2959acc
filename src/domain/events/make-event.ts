/** Makes events; their types are in system-event-types.ts and people-event-types.ts. A body is made once, kept as text and never made again: the fields of its data keep their order. */

import { parseMetadata } from '../purchases/metadata.ts';
import type { Attached, Details, Purchase } from '../purchases/purchase.ts';
import { type NamedState, namedState } from '../purchases/states.ts';
import { cutJson, isAmount } from '../values/bounds.ts';
import { type Decimal, isDecimal, type JsonValue, parseExact, stringifyExact } from '../values/exact-json.ts';
import { type Instant, isoTime } from '../values/time.ts';
import type { IncidentEventData, IncidentEventType } from './people-event-types.ts';
import type { EventData, EventType, OwnData, PurchaseEventType } from './system-event-types.ts';

/** An event before it has an id: its place in the purchase's order (null for events of a site) and what it holds. */
export interface EventDraft {
  readonly type: EventType | IncidentEventType;
  readonly sequence: number | null;
  readonly at: Instant;
  /** The state it is about, for subscribers that want events of some states only; null when it is about none. */
  readonly state: number | null;
  readonly data: { readonly [key: string]: JsonValue };
}

export type PurchaseDraft = EventDraft & { readonly type: PurchaseEventType };

/** A draft of an event of no purchase, whose data must be what the schema of its type says. */
export function draftOf<Type extends Exclude<EventType, PurchaseEventType> | IncidentEventType>(
  type: Type,
  { at, state = null }: { readonly at: Instant; readonly state?: number | null },
  data: Type extends EventType ? EventData<Type> : Type extends IncidentEventType ? IncidentEventData<Type> : never,
): EventDraft {
  return { type, sequence: null, at, state, data: data as unknown as EventDraft['data'] };
}

/** A draft of an event of a purchase: what its type has of its own, after what every such event begins with. */
export function purchaseDraftOf<Type extends PurchaseEventType>(
  type: Type,
  {
    purchase,
    sequence,
    at,
    state,
  }: Pick<EventDraft, 'at' | 'state'> & { readonly purchase: Purchase; readonly sequence: number },
  data: OwnData<Type>,
): PurchaseDraft {
  return { type, sequence, at, state, data: { ...purchaseHead(purchase, sequence), ...(data as unknown as EventDraft['data']) } };
}

/** The text that is stored, signed, sent, fed and replayed unchanged. */
export function eventBody(id: string, draft: EventDraft): string {
  return stringifyExact({ id, type: draft.type, timestamp: isoTime(draft.at), data: draft.data });
}

/** The fields that every event of a purchase begins with. */
function purchaseHead(purchase: Purchase, sequence: number): { [key: string]: JsonValue } {
  return { site: purchase.site, purchaseId: purchase.purchaseId, sequence };
}

/**
 * Completes the events of a purchase: each ends with what the merchant attached and the amounts that `store.fields` allows.
 * `seen` are the details of the answer that led to the events; null when it brought none, and the stored ones hold.
 */
export function completedEvents<Draft extends EventDraft>(
  events: readonly Draft[],
  seen: Details | null,
  attached: Attached,
): Draft[] {
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
export function stateOrNull(value: number | null): NamedState | null {
  return value === null ? null : namedState(value);
}
