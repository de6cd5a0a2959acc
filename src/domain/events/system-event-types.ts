/** The events that systems receive: webhooks, brokers and the feed. The order of fields is the order on the wire. */
import { z } from 'zod';
import { amount, count, jsonObject, state, timeText } from './fields.ts';

/** The fields that every event of a purchase begins with. */
const HEAD = {
  site: z.string(),
  purchaseId: z.string(),
  sequence: z.int().min(1).describe('1, 2, 3 … for each purchase, without gaps.'),
};

/** The fields that every event of a purchase ends with. */
const ATTACHED = {
  reference: z.string().nullable().describe('As given when the purchase was registered; so is `metadata`.'),
  metadata: jsonObject.nullable(),
  price: amount.nullable().describe('Null where the service sent none, or `store.fields` does not name it.'),
  currency: z.string().nullable(),
  orderReference: z.string().nullable(),
};

const purchaseData = <Own extends z.ZodRawShape>(own: Own) => z.object({ ...HEAD, ...own, ...ATTACHED });

/** The fields that every event of a purchase has. */
export const purchaseEventData = purchaseData({}).meta({
  id: 'PurchaseEventData',
  description: 'Fields of every event of a purchase.',
});

const invoiceFacts = z.object({
  totalAmount: amount.nullable(),
  totalAuthorizedAmount: amount.nullable(),
  minimumAmountToPay: amount.nullable(),
  invoiceDate: z.string().nullable().describe("A date of the service's calendar, as it wrote it; so is `dueDate`."),
  dueDate: z.string().nullable(),
  completed: timeText.nullable().describe('A moment, in UTC.'),
  debitItems: count.describe('How many there are; so is `creditItems`.'),
  creditItems: count,
  details: jsonObject
    .exactOptional()
    .describe("The fields that `store.fields` names, by the specification's names; absent when it names none of an invoice."),
});

/** The facts about an invoice in `purchase.invoice_ready`. No name, address or account is among them. */
export type InvoiceFacts = Readonly<z.input<typeof invoiceFacts>>;

/** Why no purchase of a site can be read. */
const siteTrouble = z
  .enum(['throttled', 'malformed', 'unknown', 'refused', 'unreachable', 'not_configured', 'not_moved'])
  .meta({ id: 'SiteTroubleReason', description: 'Why no purchase of a site can be read. Later versions may add reasons.' });

function event<Type extends string, Data extends z.ZodType>(type: Type, id: string, description: string, data: Data) {
  return z
    .object({
      id: z
        .string()
        .describe('`evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before.'),
      type: z.literal(type),
      timestamp: timeText.describe('UTC with milliseconds.'),
      data,
    })
    .meta({ id, description });
}

/** The schema of each type of event, in the contract's order. */
export const SYSTEM_EVENTS = {
  'purchase.state_changed': event(
    'purchase.state_changed',
    'StateChangedEvent',
    'The state changed; `from` and `notBefore` are null on the first observation.',
    purchaseData({
      from: state.nullable(),
      to: state,
      notBefore: timeText.nullable().describe('The change happened after this and no later than `notAfter`.'),
      notAfter: timeText,
      final: z.boolean().describe('Whether the purchase is polled no more, except for rechecks.'),
    }),
  ),
  'purchase.stuck': event(
    'purchase.stuck',
    'StuckEvent',
    'A poll found the purchase in the same state for too long.',
    purchaseData({ state, stateSince: timeText, stuckSince: timeText }),
  ),
  'purchase.at_risk': event(
    'purchase.at_risk',
    'AtRiskEvent',
    'A stuck purchase is worth enough by the settings, and its session is about to end; at most once for each stay in a state.',
    purchaseData({
      state,
      stateSince: timeText,
      stuckSince: timeText,
      sessionEndsAt: timeText.describe('When the session is expected to end: reckoned, for the service does not say it.'),
    }),
  ),
  'purchase.recovered': event(
    'purchase.recovered',
    'RecoveredEvent',
    'A stuck purchase moved.',
    purchaseData({ from: state, to: state, stateSince: timeText.nullable(), stuckSince: timeText }),
  ),
  'purchase.unreadable': event(
    'purchase.unreadable',
    'UnreadableEvent',
    'The service does not know this id, or its answers about it could not be used for some minutes, or the database refused to record them.',
    purchaseData({
      state: state.nullable().describe('The last one that was seen; null when none was.'),
      tries: count.describe('Polls in a row without a usable answer.'),
      reason: z
        .string()
        .describe(
          'A stable word, such as `no_such_purchase`, `http_400`, `wrong_shape`, `not_utf8`, `unrecordable`. Later versions may add words.',
        ),
      codes: z
        .array(z.string())
        .exactOptional()
        .describe(
          'Codes of the errors that the last answer listed: short words and digits. Absent, as `lastError`, in events of older versions.',
        ),
      lastError: z.string().exactOptional().describe('The reason in a sentence.'),
    }),
  ),
  'purchase.readable': event(
    'purchase.readable',
    'ReadableEvent',
    'An unreadable purchase can be read again.',
    purchaseData({ state: state.nullable() }),
  ),
  'purchase.expired': event(
    'purchase.expired',
    'ExpiredEvent',
    'Polling was given up.',
    purchaseData({ state: state.nullable(), stateSince: timeText.nullable(), watchedSince: timeText }),
  ),
  'purchase.invoice_ready': event(
    'purchase.invoice_ready',
    'InvoiceReadyEvent',
    'A completed purchase has an invoice. The invoice itself, with the name of a person, is at `GET /v1/purchases/{id}/invoice`.',
    purchaseData({ invoice: invoiceFacts }),
  ),
  'site.unreachable': event(
    'site.unreachable',
    'SiteUnreachableEvent',
    'No purchase of a site can be read.',
    z.object({ site: z.string(), since: timeText, reason: siteTrouble.nullable(), lastError: z.string().nullable() }),
  ),
  'site.reachable': event(
    'site.reachable',
    'SiteReachableEvent',
    'Purchases of a site can be read again.',
    z.object({ site: z.string(), since: timeText, until: timeText.nullable(), reason: siteTrouble.nullable() }),
  ),
  'site.unknown_state': event(
    'site.unknown_state',
    'UnknownStateEvent',
    'A purchase has a state that the specification does not list; once for each site and number.',
    z.object({ site: z.string(), state, purchaseId: z.string() }),
  ),
  'order.paid_twice': event(
    'order.paid_twice',
    'OrderPaidTwiceEvent',
    'Two or more completed purchases of a site are of one order. A payment that comes later brings one more event, which names all.',
    z.object({
      site: z.string(),
      payments: z
        .array(
          z.object({
            purchaseId: z.string(),
            reference: z.string().nullable(),
            orderReference: z.string().nullable(),
            price: amount.nullable(),
            currency: z.string().nullable(),
            completedAt: timeText,
          }),
        )
        .describe('The earliest first.'),
    }),
  ),
  'subscriber.test': event(
    'subscriber.test',
    'TestEvent',
    'A person tests whether a subscriber can be reached. Only that subscriber receives the event.',
    z.object({ subscriber: z.string(), note: z.string() }),
  ),
} as const;

export type EventType = keyof typeof SYSTEM_EVENTS;
export type PurchaseEventType = Extract<EventType, `purchase.${string}`>;

/** Types that webhook subscribers and the feed see, in the contract's order. */
export const EVENT_TYPES = Object.keys(SYSTEM_EVENTS) as [EventType, ...EventType[]];

/** The data of an event of a type. */
export type EventData<Type extends EventType> = z.input<(typeof SYSTEM_EVENTS)[Type]>['data'];

/** The data of an event without the fields that every event of a purchase has. */
export type OwnData<Type extends PurchaseEventType> = Omit<EventData<Type>, keyof typeof HEAD | keyof typeof ATTACHED>;

/** A type of event for systems with its data. */
export type SystemEvent = { [Type in EventType]: { readonly type: Type; readonly data: EventData<Type> } }[EventType];

/** The event of a type and its data; null where the type is not known, or its schema does not fit. */
export function readSystemEvent(type: string, data: unknown): SystemEvent | null {
  const known = EVENT_TYPES.find((each) => each === type);
  const read = known === undefined ? null : SYSTEM_EVENTS[known].shape.data.safeParse(data);
  return read?.success ? ({ type, data: read.data } as SystemEvent) : null;
}
