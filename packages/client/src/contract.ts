/** Written by `npm run contract` from the schemas of the API and of the events; change those instead. */
import type { Decimal, JsonObject, JsonValue } from './json.ts';

/** Times are UTC with milliseconds. */
export interface Purchase {
  readonly purchaseId: string;
  readonly site: string;
  readonly status: PurchaseStatus;
  /** The outcome so far, in a word for lists. `paid_late`: paid after it had been stuck. */
  readonly outcome: 'stuck' | 'waiting' | 'paid' | 'paid_late' | 'not_paid' | 'unreadable' | 'expired' | 'stopped';
  /** Null until the first good answer. */
  readonly state: State | null;
  readonly stateSince: string | null;
  /** Null while it is not stuck. */
  readonly stuckSince: string | null;
  readonly reference: string | null;
  readonly metadata: JsonObject | null;
  readonly registeredAt: string;
  readonly lastPolledAt: string | null;
  readonly nextPollAt: string | null;
  readonly polls: number;
  /** Failed polls in a row. */
  readonly failures: number;
  readonly lastError: string | null;
  /** As the service sent it, a long text cut; null when it is not stored. */
  readonly price: Decimal | null;
  /** As the service sent it, a long text cut; null when it is not stored. */
  readonly currency: string | null;
  /** As the service sent it, a long text cut; null when it is not stored. */
  readonly orderReference: string | null;
  /** The other fields that `store.fields` names, by the specification's names. */
  readonly details: JsonObject;
}

/** `watching`: polled. `settled`: in a final state. `unreadable`: the service does not know the id, or its answers cannot be used or recorded. `expired`: given up. `stopped`: a person or program stopped it. */
export type PurchaseStatus = 'watching' | 'settled' | 'unreadable' | 'expired' | 'stopped';

/** A state of the specification; `Unknown(17)` for a number that it does not list. */
export interface State {
  readonly value: number;
  readonly name: string;
}

/** Times are UTC with milliseconds. */
export type PurchaseWithTransitions = Purchase & {
  /** Null in a state without a limit, and when it is not watched. */
  readonly limit: Limit | null;
  /** First to last. */
  readonly transitions: readonly Transition[];
};

/** When a stay in a state becomes stuck, and what that rests on. */
export interface Limit {
  /** Time in the state after which it is stuck; time in which the site could not be polled does not count. */
  readonly limitMs: number;
  /** `configured`: by the settings. `learned`: from customers of this site who got on. `pooled`: from those of all sites. `default`: too few are known yet. */
  readonly source: 'configured' | 'learned' | 'pooled' | 'default';
  /** The median of customers who got on; null while too few are known. */
  readonly usualMs: number | null;
  /** 95 % of them were faster than this. */
  readonly p95Ms: number | null;
  /** How many purchases of the last 14 days this is known from. */
  readonly purchases: number | null;
  /** The same for people; the words may change. */
  readonly text: string;
}

/** A change of state: after `notBefore`, no later than `notAfter`. */
export interface Transition {
  readonly sequence: number;
  /** Null on the first observation. */
  readonly from: State | null;
  readonly to: State;
  readonly notBefore: string | null;
  readonly notAfter: string;
}

export interface Registration {
  readonly purchaseId: string;
  /** A configured site. Needed only when there are several and none is named default. */
  readonly site?: string | null | undefined;
  /** Your own name for it, such as an order number. */
  readonly reference?: string | null | undefined;
  /** Any JSON object up to 8 KiB; comes back in every event. Numbers keep their digits. */
  readonly metadata?: JsonObject | null | undefined;
}

export interface BatchResult {
  readonly created: number;
  readonly existing: number;
  /** `index` counts from 0. The other entries are registered. */
  readonly rejected: readonly {
    readonly index: number;
    readonly code: string;
    readonly detail: string;
  }[];
}

export interface Invoice {
  readonly purchaseId: string;
  readonly site: string;
  readonly state: State;
  readonly completed: string | null;
  /** With the digits the service sent. */
  readonly totalAmount: Decimal | null;
  /** With the digits the service sent. */
  readonly totalAuthorizedAmount: Decimal | null;
  /** With the digits the service sent. */
  readonly minimumAmountToPay: Decimal | null;
  /** A date of the service's calendar, as it wrote it, without an offset. */
  readonly invoiceDate: string | null;
  /** A date of the service's calendar, as it wrote it, without an offset. */
  readonly dueDate: string | null;
  readonly bankAccount: string | null;
  readonly accountNumber: string | null;
  readonly aliasAccount: string | null;
  readonly receiver: string | null;
  readonly invoicingFirstName: string | null;
  readonly invoicingLastName: string | null;
  readonly invoicingAddressLine1: string | null;
  readonly invoicingAddressLine2: string | null;
  readonly invoicingZip: string | null;
  readonly invoicingCity: string | null;
  readonly debitItems: readonly InvoiceItem[];
  readonly creditItems: readonly InvoiceItem[];
}

export interface InvoiceItem {
  readonly description: string | null;
  readonly notes: string | null;
  /** With the digits the service sent. */
  readonly amount: Decimal | null;
  /** As the service sent it; its type is not specified. */
  readonly taxCode: JsonValue;
  /** With the digits the service sent. */
  readonly taxAmount: Decimal | null;
}

/** The problem of one field. */
export interface ProblemField {
  readonly field: string;
  readonly value?: string | number | boolean | null | undefined;
  readonly detail: string;
}

/** Fields of every event of a purchase. */
export interface PurchaseEventData {
  readonly site: string;
  readonly purchaseId: string;
  /** 1, 2, 3 … for each purchase, without gaps. */
  readonly sequence: number;
  /** As given when the purchase was registered; so is `metadata`. */
  readonly reference: string | null;
  readonly metadata: JsonObject | null;
  /** Null where the service sent none, or `store.fields` does not name it. */
  readonly price: Decimal | null;
  readonly currency: string | null;
  readonly orderReference: string | null;
}

/** The state changed; `from` and `notBefore` are null on the first observation. */
export interface StateChangedEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'purchase.state_changed';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: PurchaseEventData & {
    readonly from: State | null;
    readonly to: State;
    /** The change happened after this and no later than `notAfter`. */
    readonly notBefore: string | null;
    readonly notAfter: string;
    /** Whether the purchase is polled no more, except for rechecks. */
    readonly final: boolean;
  };
}

/** A poll found the purchase in the same state for too long. */
export interface StuckEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'purchase.stuck';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: PurchaseEventData & {
    readonly state: State;
    readonly stateSince: string;
    readonly stuckSince: string;
  };
}

/** A stuck purchase is worth enough by the settings, and its session is about to end; at most once for each stay in a state. */
export interface AtRiskEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'purchase.at_risk';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: PurchaseEventData & {
    readonly state: State;
    readonly stateSince: string;
    readonly stuckSince: string;
    /** When the session is expected to end: reckoned, for the service does not say it. */
    readonly sessionEndsAt: string;
  };
}

/** A stuck purchase moved. */
export interface RecoveredEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'purchase.recovered';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: PurchaseEventData & {
    readonly from: State;
    readonly to: State;
    readonly stateSince: string | null;
    readonly stuckSince: string;
  };
}

/** The service does not know this id, or its answers about it could not be used for some minutes, or the database refused to record them. */
export interface UnreadableEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'purchase.unreadable';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: PurchaseEventData & {
    /** The last one that was seen; null when none was. */
    readonly state: State | null;
    /** Polls in a row without a usable answer. */
    readonly tries: number;
    /** A stable word, such as `no_such_purchase`, `http_400`, `wrong_shape`, `not_utf8`, `unrecordable`. Later versions may add words. */
    readonly reason: string;
    /** Codes of the errors that the last answer listed: short words and digits. Absent, as `lastError`, in events of older versions. */
    readonly codes?: readonly string[] | undefined;
    /** The reason in a sentence. */
    readonly lastError?: string | undefined;
  };
}

/** An unreadable purchase can be read again. */
export interface ReadableEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'purchase.readable';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: PurchaseEventData & {
    readonly state: State | null;
  };
}

/** Polling was given up. */
export interface ExpiredEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'purchase.expired';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: PurchaseEventData & {
    readonly state: State | null;
    readonly stateSince: string | null;
    readonly watchedSince: string;
  };
}

/** A completed purchase has an invoice. The invoice itself, with the name of a person, is at `GET /v1/purchases/{id}/invoice`. */
export interface InvoiceReadyEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'purchase.invoice_ready';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: PurchaseEventData & {
    readonly invoice: {
      readonly totalAmount: Decimal | null;
      readonly totalAuthorizedAmount: Decimal | null;
      readonly minimumAmountToPay: Decimal | null;
      /** A date of the service's calendar, as it wrote it; so is `dueDate`. */
      readonly invoiceDate: string | null;
      readonly dueDate: string | null;
      /** A moment, in UTC. */
      readonly completed: string | null;
      /** How many there are; so is `creditItems`. */
      readonly debitItems: number;
      readonly creditItems: number;
      /** The fields that `store.fields` names, by the specification's names; absent when it names none of an invoice. */
      readonly details?: JsonObject | undefined;
    };
  };
}

/** No purchase of a site can be read. */
export interface SiteUnreachableEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'site.unreachable';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: {
    readonly site: string;
    readonly since: string;
    readonly reason: SiteTroubleReason | null;
    readonly lastError: string | null;
  };
}

/** Why no purchase of a site can be read. Later versions may add reasons. */
export type SiteTroubleReason = 'throttled' | 'malformed' | 'unknown' | 'refused' | 'unreachable' | 'not_configured' | 'not_moved';

/** Purchases of a site can be read again. */
export interface SiteReachableEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'site.reachable';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: {
    readonly site: string;
    readonly since: string;
    readonly until: string | null;
    readonly reason: SiteTroubleReason | null;
  };
}

/** A purchase has a state that the specification does not list; once for each site and number. */
export interface UnknownStateEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'site.unknown_state';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: {
    readonly site: string;
    readonly state: State;
    readonly purchaseId: string;
  };
}

/** Two or more completed purchases of a site are of one order. A payment that comes later brings one more event, which names all. */
export interface OrderPaidTwiceEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'order.paid_twice';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: {
    readonly site: string;
    /** The earliest first. */
    readonly payments: readonly {
      readonly purchaseId: string;
      readonly reference: string | null;
      readonly orderReference: string | null;
      readonly price: Decimal | null;
      readonly currency: string | null;
      readonly completedAt: string;
    }[];
  };
}

/** A person tests whether a subscriber can be reached. Only that subscriber receives the event. */
export interface TestEvent {
  /** `evt_…`: the same in the feed, in every webhook and on every repeat. Ignore one that was seen before. */
  readonly id: string;
  readonly type: 'subscriber.test';
  /** UTC with milliseconds. */
  readonly timestamp: string;
  readonly data: {
    readonly subscriber: string;
    readonly note: string;
  };
}

/** Every event there is. Later versions may add types: end a `switch` with a `default` that ignores them. */
export type WatchEvent =
  | StateChangedEvent
  | StuckEvent
  | AtRiskEvent
  | RecoveredEvent
  | UnreadableEvent
  | ReadableEvent
  | ExpiredEvent
  | InvoiceReadyEvent
  | SiteUnreachableEvent
  | SiteReachableEvent
  | UnknownStateEvent
  | OrderPaidTwiceEvent
  | TestEvent;
