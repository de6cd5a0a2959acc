/** What demos and tests can do to the service, as functions. The same over HTTP is in control-api.ts. */

import { type PurchaseView, type Site, viewOf } from '../purchases/purchase.ts';
import type { PurchaseSpec } from '../purchases/purchase-spec.ts';
import type { PageSelection, Purchases } from '../purchases/purchases.ts';
import type { Access } from '../service/access.ts';
import type { Counters, Counts } from '../service/counters.ts';
import type { Fault, FaultSpec, Faults } from '../service/faults.ts';
import { ControlError } from '../values/control-error.ts';
import { milliseconds } from '../values/duration.ts';
import { nameOfState, numberOfState, PAGE_STATES } from '../values/states.ts';

/** A page to break or fix. Without `site` every site's; `states` by name or number, both waiting states by default. */
interface PageSpec {
  readonly site?: string | undefined;
  readonly states?: readonly (string | number)[] | undefined;
}

/** Which purchases to list, newest first. */
interface ListFilter {
  readonly limit?: number | undefined;
  readonly site?: string | undefined;
  readonly state?: string | number | undefined;
  /** Only those with a life still before them (false), or only those without (true). */
  readonly finished?: boolean | undefined;
}

/** How the service is set at the moment. */
interface Settings {
  readonly sites: readonly Site[];
  readonly timeScale: number;
  readonly load: number;
  readonly latency: number;
  readonly brokenPages: readonly { readonly site: string; readonly state: string }[];
  readonly faults: readonly Fault[];
  readonly purchases: number;
}

export interface Control {
  /** Adds a purchase and says what it is now. */
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
  /** They come back 2 to 20 seconds later (at the time scale), those of `stuck-…` lives too. */
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
  /** The same for every purchase that was asked about. */
  callsPerPurchase(): Map<string, number>;
  resetCounters(): void;
  /** Personal data and secrets that answers have shown, of the purchases still kept: none may turn up anywhere else. */
  sensitiveValues(): string[];
  settings(): Settings;
}

export interface ControlParts {
  readonly now: () => number;
  readonly sites: readonly Site[];
  readonly timeScale: number;
  readonly purchases: Purchases;
  readonly access: Access;
  readonly counters: Counters;
  readonly faults: Faults;
  readonly latency: { get(): number; set(ms: number): void };
  readonly listener: { open(): Promise<void>; close(outage: number | null): Promise<void> };
}

/** Joins the parts of the simulator behind one set of controls. */
export function createControl({
  now,
  sites,
  timeScale,
  purchases,
  access,
  counters,
  faults,
  latency,
  listener,
}: ControlParts): Control {
  const arrived = (): Purchases => {
    purchases.arrive();
    return purchases;
  };
  const control: Control = {
    add: (spec = {}) => viewOf(purchases.add(spec)),
    addMany: (count, spec = {}) => Array.from({ length: count }, () => viewOf(purchases.add(spec))),
    get(purchaseId) {
      const purchase = purchases.find(purchaseId);
      return purchase === null ? null : viewOf(purchase);
    },
    list({ limit = 100, site, state, finished } = {}) {
      const wanted = state === undefined ? null : stateOf(state);
      return arrived()
        .newestFirst()
        .map(viewOf)
        .filter((view) => site === undefined || view.site === site)
        .filter((view) => wanted === null || view.state.value === wanted)
        .filter((view) => finished === undefined || view.finished === finished)
        .take(limit)
        .toArray();
    },
    recent({ after = 0, limit = 1_000 } = {}) {
      const newer: PurchaseView[] = [];
      for (const purchase of arrived().newestFirst()) {
        if (purchase.number <= after) break;
        newer.push(viewOf(purchase));
      }
      const oldest = newer.reverse().slice(0, limit);
      return { purchases: oldest, last: oldest.at(-1)?.number ?? after };
    },
    onPurchase: purchases.onPurchase,
    setState: (purchaseId, state) => viewOf(purchases.putIntoState(purchaseId, stateOf(state))),
    breakPage: (spec) => purchases.breakPage(selectionOf(spec)),
    fixPage: (spec) => purchases.fixPage(selectionOf(spec)),
    setLoad(perMinute) {
      if (!(perMinute >= 0 && Number.isFinite(perMinute)))
        throw new ControlError(400, `"${perMinute}" is not a load; give purchases per minute`);
      purchases.setLoad(perMinute);
    },
    fail: faults.add,
    clearFaults: faults.clear,
    setLatency: latency.set,
    down: ({ for: outage } = {}) => listener.close(outage === undefined ? null : milliseconds(outage)),
    up: listener.open,
    expireTokens: access.expireTokens,
    counters: counters.counts,
    callsOf: counters.callsOf,
    callsPerPurchase: counters.callsPerPurchase,
    resetCounters: counters.reset,
    sensitiveValues: () => [...new Set([...access.secrets(), ...purchases.personalValues()])],
    settings: () => ({
      sites,
      timeScale,
      load: purchases.load(),
      latency: latency.get(),
      brokenPages: purchases.broken().map(({ site, state }) => ({ site, state: nameOfState(state) })),
      faults: faults.list(now()),
      purchases: arrived().count(),
    }),
  };
  return control;
}

function selectionOf({ site, states }: PageSpec = {}): PageSelection {
  return { site: site ?? null, states: states === undefined ? PAGE_STATES : states.map(stateOf) };
}

function stateOf(state: string | number): number {
  const value = numberOfState(state);
  if (value === null) throw new ControlError(400, `"${state}" is not a state; give a name like Completed or a number`);
  return value;
}
