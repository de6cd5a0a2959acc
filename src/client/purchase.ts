/** Purchases as the API shows them. */
import { type Decimal, decimalText, type JsonObject } from './json.ts';

/** A state of the specification, `New` to `ElectronicIdValidationRequired`; `Unknown(17)` for a number it does not list. */
export interface State {
  readonly value: number;
  readonly name: string;
}

/**
 * `watching`: polled. `settled`: in a final state. `unreadable`: the service does not know the id; asked ever more
 * rarely. `expired`: given up. `stopped`: somebody stopped it.
 */
export type PurchaseStatus = 'watching' | 'settled' | 'unreadable' | 'expired' | 'stopped';

/** Times are UTC with milliseconds. */
export interface Purchase {
  readonly purchaseId: string;
  readonly site: string;
  readonly status: PurchaseStatus;
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
  readonly price: Decimal | null;
  readonly currency: string | null;
  readonly orderReference: string | null;
  /** The other fields that `store.fields` names, by the specification's names. */
  readonly details: JsonObject;
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

/** When a stay in a state becomes overdue, and what that rests on. */
export interface Limit {
  readonly limitMs: number;
  /** By the settings, from customers of this site who got on, from those of all sites, or the default: too few are known. */
  readonly source: 'configured' | 'learned' | 'pooled' | 'default';
  /** The median of customers who got on, and what 95 % of them stayed under; null while too few are known. */
  readonly usualMs: number | null;
  readonly p95Ms: number | null;
  readonly purchases: number | null;
  /** For people. */
  readonly text: string;
}

export interface PurchaseWithTransitions extends Purchase {
  /** Null in a state without a limit, and when it is not watched. */
  readonly limit: Limit | null;
  /** First to last. */
  readonly transitions: readonly Transition[];
}

/** What to watch. */
export interface Registration {
  /** The Purchase ID that the checkout service gave. */
  readonly purchaseId: string;
  /** Needed only where there are several sites and none is named `default`. */
  readonly site?: string | null | undefined;
  /** Your own name for it, such as an order number. */
  readonly reference?: string | null | undefined;
  /** Comes back in every event; up to 8 KiB. */
  readonly metadata?: JsonObject | null | undefined;
}

/** A parsed body as a purchase. */
export function purchaseOf<P extends Purchase>(body: JsonObject): P {
  return { ...body, price: decimalText(body.price) } as unknown as P;
}
