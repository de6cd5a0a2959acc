/** All purchases: how they come to be, by request or as the load, and how the oldest are forgotten. */
import { SimulatorError } from '../contract/error.ts';
import type { CustomerAct } from '../contract/names.ts';
import type { PurchaseSpec, PurchaseView, Site } from '../contract/purchases.ts';
import { between, pick, type Random, uuid } from '../values/random.ts';
import { act } from './acts.ts';
import { type BrokenPages, createBrokenPages } from './broken-pages.ts';
import { customerOf, personalValues } from './customer.ts';
import { drawLifeName } from './lives.ts';
import { createLoad } from './load.ts';
import { advance, comeBack, enter, isFinished, type Purchase, putIntoState, viewOf } from './purchase.ts';
import { checkSpec, drawPrice, lifeOf, paymentMethodOf, priceOf } from './purchase-spec.ts';

/** Which page of which site breaks or is fixed: without a site all of them, without states both kinds of page. */
export interface PageSelection {
  readonly site: string | null;
  readonly states: readonly number[];
}

export interface Purchases {
  /** `returnUrl` is where the page sends the customer's browser; null: nowhere. */
  add(spec: PurchaseSpec, returnUrl?: string | null): Purchase;
  /** The purchase as it is now, or null when there is none of this id. */
  find(id: string): Purchase | null;
  /** Another purchase than the one given; null when there is no other. */
  otherThan(id: string): Purchase | null;
  /** From the newest to the oldest, as they are now. */
  newestFirst(): Generator<Purchase>;
  putIntoState(id: string, state: number): Purchase;
  /** Lets the customer of a purchase act. */
  act(id: string, doing: CustomerAct): Purchase;
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
  /** Forgets all purchases, fixes all pages and sets the load. What is drawn from now on continues, so that no id and no number comes again. */
  reset(perMinute: number): void;
}

export interface PurchasesOptions {
  readonly now: () => number;
  readonly random: Random;
  readonly timeScale: number;
  readonly sites: readonly Site[];
  /** How many purchases each namespace keeps; beyond that number the simulator forgets the oldest finished purchases. */
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
  const all = () => byId.values().map(current);

  function create(spec: PurchaseSpec, at: number, returnUrl: string | null = null): Purchase {
    const site = siteOf(spec.site);
    const id = spec.purchaseId ?? uuid(random);
    if (byId.has(id)) throw takenId(id);
    const purchase = newPurchase(spec, { id, number: lastNumber + 1, site, at, random, timeScale, returnUrl });
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

  function known(id: string): Purchase {
    const purchase = byId.get(id);
    if (purchase === undefined) throw missingPurchase(id);
    return current(purchase);
  }

  return {
    add: (spec, returnUrl = null) => current(create(spec, now(), returnUrl)),
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
      const purchase = known(id);
      putIntoState(purchase, state, now());
      return purchase;
    },
    act(id, doing) {
      const purchase = known(id);
      act(purchase, doing, { now: now(), timeScale });
      return current(purchase);
    },
    ...pageControls({ pages, sites, comeBackIn: () => between(random, 2_000, 20_000) / timeScale, now, all }),
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
    reset(perMinute) {
      for (const id of byId.keys()) onForget(id);
      byId.clear();
      pages.fixAll();
      tidyAt = keep;
      load.set(perMinute);
    },
  };
}

interface PageParts {
  readonly pages: BrokenPages;
  readonly sites: readonly Site[];
  readonly now: () => number;
  /** Milliseconds until a customer is back once the page is fixed. */
  readonly comeBackIn: () => number;
  /** Every purchase as it is now. */
  readonly all: () => IteratorObject<Purchase>;
}

/** Breaking and fixing pages, and what that does to the customers on them. */
function pageControls({ pages, sites, now, comeBackIn, all }: PageParts): Pick<Purchases, 'breakPage' | 'fixPage' | 'broken'> {
  const selected = ({ site, states }: PageSelection): { site: Site; state: number }[] => {
    const chosen = site === null ? sites : [siteNamed(site, sites)];
    return chosen.flatMap((each) => states.map((state) => ({ site: each, state })));
  };
  return {
    breakPage(selection) {
      const broken = selected(selection);
      // A customer who was due back before this moment was on time.
      all().toArray();
      pages.break(broken);
    },
    fixPage(selection) {
      const fixed = selected(selection);
      const isFixed = ({ site, state }: Purchase): boolean => fixed.some((page) => page.site === site && page.state === state);
      for (const purchase of all()) if (isFixed(purchase)) comeBack(purchase, now(), comeBackIn());
      pages.fix(fixed);
    },
    broken: pages.list,
  };
}

/** The error about an id that no purchase has. */
export function missingPurchase(id: string): SimulatorError {
  return new SimulatorError(
    'purchase_not_found',
    `there is no purchase ${JSON.stringify(id)} here; another namespace may have it`,
  );
}

function takenId(id: string): SimulatorError {
  return new SimulatorError('purchase_exists', 'exists already; give another id, or none', { field: 'purchaseId', value: id });
}

function siteNamed(code: string, sites: readonly Site[]): Site {
  const site = sites.find((known) => known.code === code);
  if (site !== undefined) return site;
  const detail = `is not a site; there are ${sites.map((known) => known.code).join(', ')}`;
  throw new SimulatorError('unknown_site', detail, { field: 'site', value: code });
}

/** A purchase that has entered no state yet. */
function newPurchase(
  spec: PurchaseSpec,
  about: { id: string; number: number; site: Site; at: number; random: Random; timeScale: number; returnUrl: string | null },
): Purchase {
  checkSpec(spec);
  const { id, number, site, at, random, timeScale, returnUrl } = about;
  const { life, steps, usualMethod } = lifeOf(spec.script, site, random, timeScale);
  const seed = Math.floor(random() * 2 ** 31);
  return {
    id,
    number,
    site,
    seed,
    life,
    paymentMethod: paymentMethodOf(spec.paymentMethod) ?? usualMethod,
    price: priceOf(spec.price) ?? drawPrice(random),
    currency: spec.currency ?? site.currency,
    reference: spec.reference ?? orderNumber(number, seed),
    description: spec.description ?? `Order ${number} at ${site.code}`,
    returnUrl,
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

/** A store that is kept over runs of the simulator must not take a purchase for a second try at an order of an earlier run. */
function orderNumber(number: number, seed: number): string {
  const run = (seed % 36 ** 3).toString(36).padStart(3, '0').toUpperCase();
  return `ORD-${String(number).padStart(6, '0')}-${run}`;
}
