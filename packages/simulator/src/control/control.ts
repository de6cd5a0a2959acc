/** Controls by which demos and tests change a namespace of the service. Their calls over HTTP are in the files *-routes.ts. */
import type { ClockView, Control, PageSpec } from '../contract/control.ts';
import { SimulatorError } from '../contract/error.ts';
import type { NegotiationSpec, PurchaseView, Site } from '../contract/purchases.ts';
import { act } from '../purchases/acts.ts';
import type { PageSelection } from '../purchases/pages.ts';
import { putIntoState, viewOf } from '../purchases/purchase.ts';
import type { Purchases } from '../purchases/purchases.ts';
import type { Access } from '../service/access.ts';
import type { Counters } from '../service/counters.ts';
import type { Faults } from '../service/faults.ts';
import type { Clock } from '../values/clock.ts';
import { milliseconds } from '../values/duration.ts';
import { nameOfState, PAGE_STATES, stateIn } from '../values/states.ts';

export interface Parts {
  /** The service's clock, which no control advances. */
  readonly now: () => number;
  /** The clock of the purchases. */
  readonly clock: Clock;
  readonly sites: readonly Site[];
  readonly timeScale: number;
  readonly purchases: Purchases;
  readonly access: Access;
  readonly counters: Counters;
  readonly faults: Faults;
  /** By how many milliseconds every answer of the service is held back. */
  readonly latency: { ms: number };
  /** The listener of the whole simulator; null in a namespace that shares it. */
  readonly listener: Listener | null;
  /** The load at the start, per minute. */
  readonly load: number;
  /** The base address of the namespace. */
  readonly url: () => string;
}

interface Listener {
  open(): Promise<void>;
  close(outage: number | null): Promise<void>;
}

/** Joins the parts of a namespace behind one set of controls. */
export function createControl(parts: Parts): Control {
  const { purchases, access, counters, faults, latency } = parts;
  return {
    ...purchaseControls(parts),
    ...listControls(purchases),
    advance(by) {
      parts.clock.advance(milliseconds(by, 'by'));
      purchases.arrive();
      return clockView(parts.clock);
    },
    reset() {
      purchases.reset(parts.load);
      faults.clear();
      counters.reset();
      latency.ms = 0;
      parts.clock.reset();
    },
    breakPage: (spec) => purchases.pages.breakPage(selectionOf(spec)),
    fixPage: (spec) => purchases.pages.fixPage(selectionOf(spec)),
    setLoad: (perMinute) => purchases.load.set(amountIn('perMinute', perMinute, 'purchases per minute')),
    fail: faults.add,
    clearFaults: faults.clear,
    setLatency(ms) {
      latency.ms = amountIn('ms', ms, 'milliseconds');
    },
    down: async ({ for: outage } = {}) =>
      listenerOf(parts.listener).close(outage === undefined ? null : milliseconds(outage, 'for')),
    up: async () => listenerOf(parts.listener).open(),
    expireTokens: access.expireTokens,
    counters: counters.counts,
    callsOf: counters.callsOf,
    callsPerPurchase: counters.callsPerPurchase,
    resetCounters: counters.reset,
    sensitiveValues: () => [...new Set([...access.secrets(), ...purchases.personalValues()])],
    settings() {
      purchases.arrive();
      return {
        sites: parts.sites,
        timeScale: parts.timeScale,
        load: purchases.load.perMinute(),
        latency: latency.ms,
        brokenPages: purchases.pages.broken().map(({ site, state }) => ({ site, state: nameOfState(state) })),
        faults: faults.list(parts.now()),
        purchases: purchases.count(),
        clock: clockView(parts.clock),
      };
    },
  };
}

/** Controls of one purchase. */
function purchaseControls({ purchases, sites, timeScale, url }: Parts) {
  return {
    negotiate({ returnUrl, ...spec }: NegotiationSpec = {}) {
      const usual = { site: sites[0]?.code, script: 'waits-for-customer', paymentMethod: 'card' } as const;
      const purchase = purchases.add({ ...usual, ...given(spec) }, returnUrlIn(returnUrl));
      return { ...viewOf(purchase), pageUrl: `${url()}/control/checkout/${encodeURIComponent(purchase.id)}` };
    },
    customer: (purchaseId, doing) =>
      viewOf(purchases.change(purchaseId, (purchase, now) => act(purchase, doing, { now, timeScale }))),
    add: (spec = {}) => viewOf(purchases.add(spec)),
    addMany: (count, spec = {}) => Array.from({ length: count }, () => viewOf(purchases.add(spec))),
    get(purchaseId) {
      const purchase = purchases.find(purchaseId);
      return purchase === null ? null : viewOf(purchase);
    },
    setState(purchaseId, state) {
      const value = stateIn('state', state);
      return viewOf(purchases.change(purchaseId, (purchase, now) => putIntoState(purchase, value, now)));
    },
    onPurchase: purchases.onPurchase,
  } satisfies Partial<Control>;
}

function listControls(purchases: Purchases) {
  const newestFirst = () => {
    purchases.arrive();
    return purchases.newestFirst();
  };
  return {
    list({ limit = 100, site, state, finished } = {}) {
      const wanted = state === undefined ? null : stateIn('state', state);
      return newestFirst()
        .map(viewOf)
        .filter((view) => site === undefined || view.site === site)
        .filter((view) => wanted === null || view.state.value === wanted)
        .filter((view) => finished === undefined || view.finished === finished)
        .take(limit)
        .toArray();
    },
    recent({ after = 0, limit = 1_000 } = {}) {
      const newer: PurchaseView[] = [];
      for (const purchase of newestFirst()) {
        if (purchase.number <= after) break;
        newer.push(viewOf(purchase));
      }
      const oldest = newer.reverse().slice(0, limit);
      return { purchases: oldest, last: oldest.at(-1)?.number ?? after };
    },
  } satisfies Partial<Control>;
}

function selectionOf({ site, states }: PageSpec = {}): PageSelection {
  return {
    site: site ?? null,
    states: states === undefined ? PAGE_STATES : states.map((state, at) => stateIn(`states[${at}]`, state)),
  };
}

function clockView(clock: Clock): ClockView {
  return { now: clock.now(), advanced: clock.advanced() };
}

function amountIn(field: string, value: number, unit: string): number {
  if (typeof value === 'number' && value >= 0 && Number.isFinite(value)) return value;
  throw new SimulatorError('invalid_request', `must be a number of ${unit}, zero or more`, { field, value });
}

function listenerOf(listener: Listener | null): Listener {
  if (listener === null) throw sharedListener();
  return listener;
}

/** The listener of all namespaces is none's own. */
export function sharedListener(): SimulatorError {
  const detail =
    'all namespaces share one listener, so only the controls without a namespace close it; let calls fail with the fault "reset"';
  return new SimulatorError('shared_listener', detail);
}

function returnUrlIn(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  const detail = 'is not a complete http or https address; write it like https://shop.example/thanks';
  throw new SimulatorError('invalid_request', detail, { field: 'returnUrl', value: text });
}

/** Without the fields that are there and have no value. */
function given<T extends object>(spec: T): T {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined)) as T;
}
