/** The controls as functions. The same over HTTP is in ../control/. Each throws SimulatorError for what it cannot do. */
import type { CustomerAct, FaultKind, Operation } from './names.ts';
import type { Negotiated, NegotiationSpec, PurchaseSpec, PurchaseView, Site } from './purchases.ts';

/** A page to break or fix. Without `site` every site's; `states` by name or number, both waiting states by default. */
export interface PageSpec {
  readonly site?: string | undefined;
  readonly states?: readonly (string | number)[] | undefined;
}

/** Which purchases to list, newest first. */
export interface ListFilter {
  readonly limit?: number | undefined;
  readonly site?: string | undefined;
  readonly state?: string | number | undefined;
  /** Only those with a life still before them (false), or only those without (true). */
  readonly finished?: boolean | undefined;
}

/** Which calls fail and how. Without `times` and `for`, one call. */
export interface FaultSpec {
  readonly kind: FaultKind;
  /** How many calls fail. */
  readonly times?: number | undefined;
  /** All calls during this time, for example `30s`; with `times`, at most that number of them. */
  readonly for?: number | string | undefined;
  /** Only calls of this operation. */
  readonly only?: Operation | undefined;
  /** Only calls about this purchase. */
  readonly purchaseId?: string | undefined;
  /** Only this share of the calls, drawn at random: 0.1 is every tenth. */
  readonly share?: number | undefined;
  /** Seconds, for 429 and 503. */
  readonly retryAfter?: number | undefined;
  /** The state in `unknown-state`. */
  readonly state?: number | undefined;
  /** The code and the message of an error. */
  readonly code?: string | number | undefined;
  readonly message?: string | undefined;
}

export interface Fault extends FaultSpec {
  readonly id: number;
  /** Calls that are still to fail; infinite when only time ends it. */
  remaining: number;
  /** Epoch milliseconds; infinite when only calls end it. */
  readonly until: number;
}

/** Calls that came in. */
export interface Counts {
  readonly calls: Readonly<Record<Operation, number>>;
  /** Requests to addresses that are none of the operations, for example after a redirect. */
  readonly elsewhere: number;
  /** Calls that were made to fail. */
  readonly faults: number;
  /** Most calls in any window of one second: of all operations together, and of each. */
  readonly mostPerSecond: Readonly<Record<Operation | 'all', number>>;
  readonly inFlight: number;
  readonly mostInFlight: number;
  /** Most calls about one and the same purchase at a time, and which purchases had more than one (the first 20). */
  readonly mostInFlightPerPurchase: number;
  readonly overlapping: readonly string[];
}

export interface Settings {
  readonly sites: readonly Site[];
  readonly timeScale: number;
  /** New purchases per minute. */
  readonly load: number;
  /** Milliseconds. */
  readonly latency: number;
  readonly brokenPages: readonly { readonly site: string; readonly state: string }[];
  readonly faults: readonly Fault[];
  /** How many there are. */
  readonly purchases: number;
  /** The clock of the purchases. */
  readonly clock: ClockView;
}

/** Epoch milliseconds of the purchases' clock, and by how many milliseconds it was advanced. */
export interface ClockView {
  readonly now: number;
  readonly advanced: number;
}

export interface Control {
  /** Negotiates a purchase, as a shop does first. The specification does not say how, so this is the simulator's own call. */
  negotiate(spec?: NegotiationSpec): Negotiated;
  /** Lets the customer of a purchase act, as on the page. */
  customer(purchaseId: string, act: CustomerAct): PurchaseView;
  /** Moves the purchases' clock by a duration (`30m`, or milliseconds) and lets everything happen that is due by then. */
  advance(by: number | string): ClockView;
  /**
   * Forgets purchases, faults, broken pages and counters, and sets load, latency and clock as they were at the start. Tokens stay
   * valid, and ids that are drawn never come again.
   */
  reset(): void;
  /** Adds a purchase and answers it as it is now. */
  add(spec?: PurchaseSpec): PurchaseView;
  /** Adds several of the same kind. */
  addMany(count: number, spec?: Omit<PurchaseSpec, 'purchaseId'>): PurchaseView[];
  /** A purchase as it is now, with the true times of its changes; null when there is none of this id. */
  get(purchaseId: string): PurchaseView | null;
  /** Purchases from the newest to the oldest, 100 by default. */
  list(filter?: ListFilter): PurchaseView[];
  /** Purchases made after the one with this number (from the first on by default), oldest first, and the number to ask with next. */
  recent(query?: { after?: number | undefined; limit?: number | undefined }): { purchases: PurchaseView[]; last: number };
  /** Calls back with every new purchase, of the load too; call the result to end it. */
  onPurchase(callback: (purchase: PurchaseView) => void): () => void;
  /** Puts a purchase into a state, given by name or number (unknown numbers too), and ends its life there. */
  setState(purchaseId: string, state: string | number): PurchaseView;
  /** Customers who wait where the page is needed, or arrive there, do not come back until it is fixed. */
  breakPage(spec?: PageSpec): void;
  /** Customers come back 2 to 20 seconds later (at the time scale), those of `stuck-…` lives too. */
  fixPage(spec?: PageSpec): void;
  /** New purchases per minute of the clock, whatever the time scale. */
  setLoad(perMinute: number): void;
  /** Lets calls fail; one call unless `times` or `for` is given. */
  fail(spec: FaultSpec): Fault;
  clearFaults(): void;
  /** Milliseconds by which every answer is held back. */
  setLatency(ms: number): void;
  /** Closes the listener and all connections: the service refuses connections until `up`, or for the given time. */
  down(outage?: { for?: number | string | undefined }): Promise<void>;
  /** Listens again on the same port. */
  up(): Promise<void>;
  expireTokens(): void;
  counters(): Counts;
  /** Calls about a purchase so far, of both operations. */
  callsOf(purchaseId: string): number;
  /** Calls about every purchase that was asked about. */
  callsPerPurchase(): Map<string, number>;
  resetCounters(): void;
  /** Personal data and secrets that answers have shown, of the purchases still kept: none may turn up anywhere else. */
  sensitiveValues(): string[];
  settings(): Settings;
}
