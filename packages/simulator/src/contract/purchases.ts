/** Purchases as callers ask for them and see them. */
import type { LifeName, PaymentMethodName } from './names.ts';

/** One merchant account. */
export interface Site {
  readonly code: string;
  /** Three capital letters, such as `SEK`. */
  readonly currency: string;
  /** ISO 3166-1 alpha-3, such as `SWE`. */
  readonly country: string;
  /** IANA name, such as `Europe/Stockholm`: the service writes its dates in it. */
  readonly timeZone: string;
}

/** A step of a life. `after` is a duration, or `page-fixed`. */
export interface ScriptStep {
  /** By name or number; numbers that the specification does not have are allowed. */
  readonly state: number | string;
  /** How long the state before it lasts: text like `5s`, milliseconds, or `page-fixed`. */
  readonly after?: number | string | undefined;
  /** Instead of a time: how many answers show the state before this one. */
  readonly afterPolls?: number | undefined;
}

/** A new purchase; everything that is missing is drawn. */
export interface PurchaseSpec {
  readonly purchaseId?: string | undefined;
  /** Code of the site. */
  readonly site?: string | undefined;
  /** The name of a life, or its steps. */
  readonly script?: LifeName | readonly ScriptStep[] | undefined;
  /** By name, or any number. */
  readonly paymentMethod?: PaymentMethodName | number | undefined;
  /** A text like `249.50` keeps its digits; a number gets two decimals. */
  readonly price?: string | number | undefined;
  /** Three capital letters. */
  readonly currency?: string | undefined;
  /** The shop's own reference: `OrderReference` in answers. */
  readonly reference?: string | undefined;
  /** `Description` in answers. */
  readonly description?: string | undefined;
}

/** The purchase that a shop negotiates: at the first site, by card, with a customer who waits for the test, unless given. */
export interface NegotiationSpec extends PurchaseSpec {
  /** Where the customer's browser goes from the page; http or https. */
  readonly returnUrl?: string | undefined;
}

/** A purchase as the controls show it: the truth, to compare with what a watcher found out. Times are epoch milliseconds. */
export interface PurchaseView {
  readonly purchaseId: string;
  /** Counts from 1 in the order of creation: the cursor of `recent`. */
  readonly number: number;
  readonly site: string;
  /** The name of its life; `script` where its steps were given. */
  readonly life: string;
  readonly state: { readonly value: number; readonly name: string };
  readonly stateSince: number;
  readonly createdAt: number;
  /** Whether nothing more will happen by itself. */
  readonly finished: boolean;
  readonly price: string;
  readonly currency: string;
  readonly reference: string;
  /** Where the page sends the customer's browser; null: nowhere. */
  readonly returnUrl: string | null;
  readonly history: readonly { readonly state: number; readonly at: number }[];
}

/** A negotiated purchase. */
export interface Negotiated extends PurchaseView {
  /** Where the customer pays, in a browser. */
  readonly pageUrl: string;
}
