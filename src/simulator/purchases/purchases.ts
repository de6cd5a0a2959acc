/** All purchases: how they come to be, by request or as the load, and how the oldest are forgotten. */
import { ControlError } from '../values/control-error.ts';
import { between, pick, type Random, uuid } from '../values/random.ts';
import { createBrokenPages } from './broken-pages.ts';
import { customerOf, personalValues } from './customer.ts';
import { drawLifeName } from './lives.ts';
import { createLoad } from './load.ts';
import {
  advance,
  comeBack,
  enter,
  isFinished,
  type Purchase,
  type PurchaseView,
  putIntoState,
  type Site,
  viewOf,
} from './purchase.ts';
import { drawPrice, lifeOf, type PurchaseSpec, paymentMethodOf, priceOf } from './purchase-spec.ts';

/** Which page of which site breaks or is fixed: without a site all of them, without states both kinds of page. */
export interface PageSelection {
  readonly site: string | null;
  readonly states: readonly number[];
}

export interface Purchases {
  add(spec: PurchaseSpec): Purchase;
  /** The purchase as it is now, or null when there is none of this id. */
  find(id: string): Purchase | null;
  /** Another purchase than the one given; null when there is no other. */
  otherThan(id: string): Purchase | null;
  /** From the newest to the oldest, as they are now. */
  newestFirst(): Generator<Purchase>;
  putIntoState(id: string, state: number): Purchase;
  breakPage(selection: PageSelection): void;
  fixPage(selection: PageSelection): void;
  /** Broken pages as pairs of site code and state. */
  broken(): { site: string; state: number }[];
  /** New purchases per minute. */
  setLoad(perMinute: number): void;
  load(): number;
  /** Lets the customers of the load arrive who are due by now. */
  arrive(): void;
  onPurchase(callback: (purchase: PurchaseView) => void): () => void;
  /** Personal values of all purchases whose customers were shown in an answer. */
  personalValues(): Iterable<string>;
  count(): number;
}

export interface PurchasesOptions {
  readonly now: () => number;
  readonly random: Random;
  readonly timeScale: number;
  readonly sites: readonly Site[];
  /** So many purchases are kept; beyond, the oldest finished ones are forgotten. */
  readonly keep: number;
  readonly onForget: (id: string) => void;
}

/** Starts with no purchases and no load. */
export function createPurchases({ now, random, timeScale, sites, keep, onForget }: PurchasesOptions): Purchases {
  const byId = new Map<string, Purchase>();
  const pages = createBrokenPages();
  const load = createLoad(now, random);
  const listeners = new Set<(purchase: PurchaseView) => void>();
  let lastNumber = 0;
  let tidyAt = keep;

  const current = (purchase: Purchase): Purchase => {
    advance(purchase, now(), pages.keeps);
    return purchase;
  };

  const siteOf = (code: string | undefined): Site => (code === undefined ? pick(random, sites) : siteNamed(code, sites));

  function create(spec: PurchaseSpec, at: number): Purchase {
    const site = siteOf(spec.site);
    const id = spec.purchaseId ?? uuid(random);
    if (byId.has(id)) throw new ControlError(409, `purchase ${id} exists already`);
    const purchase = newPurchase(spec, { id, number: lastNumber + 1, site, at, random, timeScale });
    enter(purchase, purchase.steps[0]?.state ?? 0, at);
    lastNumber += 1;
    byId.set(id, purchase);
    if (byId.size > tidyAt) forgetOldest();
    for (const listener of listeners) listener(viewOf(purchase));
    return purchase;
  }

  function forgetOldest(): void {
    let surplus = byId.size - Math.floor(keep * 0.9);
    for (const purchase of byId.values()) {
      if (surplus <= 0) break;
      if (!isFinished(current(purchase))) continue;
      byId.delete(purchase.id);
      onForget(purchase.id);
      surplus -= 1;
    }
    // When too many are still under way, looking again at each new one would be slow.
    tidyAt = Math.max(keep, Math.ceil(byId.size * 1.05));
  }

  function selected({ site, states }: PageSelection): { site: Site; state: number }[] {
    const chosen = site === null ? sites : [siteOf(site)];
    return chosen.flatMap((each) => states.map((state) => ({ site: each, state })));
  }

  return {
    add: (spec) => current(create(spec, now())),
    find(id) {
      const purchase = byId.get(id);
      return purchase === undefined ? null : current(purchase);
    },
    otherThan(id) {
      for (const purchase of byId.values()) if (purchase.id !== id) return current(purchase);
      return null;
    },
    *newestFirst() {
      for (const purchase of [...byId.values()].reverse()) yield current(purchase);
    },
    putIntoState(id, state) {
      const purchase = byId.get(id);
      if (purchase === undefined) throw new ControlError(404, `there is no purchase ${id}`);
      putIntoState(current(purchase), state, now());
      return purchase;
    },
    breakPage(selection) {
      // A customer who was due back before this moment was on time.
      for (const purchase of byId.values()) current(purchase);
      pages.break(selected(selection));
    },
    fixPage(selection) {
      const fixed = selected(selection);
      const isFixed = ({ site, state }: Purchase): boolean => fixed.some((page) => page.site === site && page.state === state);
      for (const purchase of byId.values())
        if (isFixed(current(purchase))) comeBack(purchase, now(), between(random, 2_000, 20_000) / timeScale);
      pages.fix(fixed);
    },
    broken: pages.list,
    setLoad: load.set,
    load: load.perMinute,
    arrive() {
      for (const at of load.arrivals()) {
        const site = pick(random, sites);
        create({ site: site.code, script: drawLifeName(random, site.country) }, at);
      }
    },
    onPurchase(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    *personalValues() {
      for (const { customerShown, seed, site } of byId.values())
        if (customerShown) yield* personalValues(customerOf(seed, site.country));
    },
    count: () => byId.size,
  };
}

function siteNamed(code: string, sites: readonly Site[]): Site {
  const site = sites.find((known) => known.code === code);
  if (site !== undefined) return site;
  throw new ControlError(404, `there is no site "${code}"; there are ${sites.map((known) => known.code).join(', ')}`);
}

/** A purchase that has entered no state yet. */
function newPurchase(
  spec: PurchaseSpec,
  about: { id: string; number: number; site: Site; at: number; random: Random; timeScale: number },
): Purchase {
  const { id, number, site, at, random, timeScale } = about;
  const { life, steps, usualMethod } = lifeOf(spec.script, site, random, timeScale);
  return {
    id,
    number,
    site,
    seed: Math.floor(random() * 2 ** 31),
    life,
    paymentMethod: paymentMethodOf(spec.paymentMethod) ?? usualMethod,
    price: priceOf(spec.price) ?? drawPrice(random),
    currency: spec.currency ?? site.currency,
    createdAt: at,
    steps,
    next: 1,
    state: 0,
    enteredAt: at,
    shown: 0,
    backAt: null,
    beingProcessedAt: null,
    completedAt: null,
    cancelledAt: null,
    customerShown: false,
    history: [],
  };
}
