/** All purchases: how they come to be, by request or as the load, and how the oldest are forgotten. */
import { SimulatorError } from '../contract/error.ts';
import type { PurchaseSpec, PurchaseView, Site } from '../contract/purchases.ts';
import type { Settled } from '../contract/simulator.ts';
import { between, pick, type Random, uuid } from '../values/random.ts';
import { customerOf, personalValues } from './customer.ts';
import { drawLifeName } from './lives.ts';
import { createLoad } from './load.ts';
import { createPages } from './pages.ts';
import { advance, enter, isFinished, type Purchase, viewOf } from './purchase.ts';
import { checkSpec, drawPrice, lifeOf, paymentMethodOf, priceOf, siteNamed } from './purchase-spec.ts';

export type Purchases = ReturnType<typeof createPurchases>;

/** Starts with no purchases and no load. `onForget` is called with the id of each purchase that is forgotten. */
export function createPurchases(
  { now, timeScale, sites, keep }: Pick<Settled, 'now' | 'timeScale' | 'sites' | 'keep'>,
  random: Random,
  onForget: (id: string) => void,
) {
  const byId = new Map<string, Purchase>();
  const load = createLoad(now, random);
  const listeners = new Set<(purchase: PurchaseView) => void>();
  let lastNumber = 0;
  let tidyAt = keep;

  const current = (purchase: Purchase): Purchase => {
    advance(purchase, now(), pages.keeps);
    return purchase;
  };

  const all = () => byId.values().map(current);
  const pages = createPages({ sites, now, all, comeBackIn: () => between(random, 2_000, 20_000) / timeScale });

  function create(spec: PurchaseSpec, at: number, returnUrl: string | null = null): Purchase {
    const site = spec.site === undefined ? pick(random, sites) : siteNamed(spec.site, sites);
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
    const surplus = byId.size - Math.floor(keep * 0.9);
    for (const { id } of all().filter(isFinished).take(surplus)) {
      byId.delete(id);
      onForget(id);
    }
    // When too many are still under way, looking again at each new one would be slow.
    tidyAt = Math.max(keep, Math.ceil(byId.size * 1.05));
  }

  function find(id: string): Purchase | null {
    const purchase = byId.get(id);
    return purchase === undefined ? null : current(purchase);
  }

  return {
    /** `returnUrl` is where the page sends the customer's browser; null: nowhere. */
    add: (spec: PurchaseSpec, returnUrl: string | null = null): Purchase => current(create(spec, now(), returnUrl)),
    /** The purchase as it is now, or null when there is none of this id. */
    find,
    /** Another purchase than the one given; null when there is no other. */
    otherThan: (id: string): Purchase | null => all().find((purchase) => purchase.id !== id) ?? null,
    /** From the newest to the oldest, as they are now. */
    newestFirst: () => [...byId.values()].reverse().values().map(current),
    /** The purchase after a change. Throws SimulatorError for an id that no purchase has. */
    change(id: string, make: (purchase: Purchase, now: number) => void): Purchase {
      const purchase = find(id);
      if (purchase === null) throw missingPurchase(id);
      make(purchase, now());
      return current(purchase);
    },
    pages,
    load,
    /** Lets the customers of the load arrive who are due by now. */
    arrive(): void {
      for (const at of load.arrivals()) {
        const site = pick(random, sites);
        create({ site: site.code, script: drawLifeName(random, site.country) }, at);
      }
    },
    onPurchase(callback: (purchase: PurchaseView) => void): () => void {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    /** Personal values of all purchases whose customers were shown in an answer. */
    *personalValues(): Generator<string> {
      for (const { customerShown, seed, site } of byId.values())
        if (customerShown) yield* personalValues(customerOf(seed, site.country));
    },
    count: () => byId.size,
    /** Forgets all purchases, fixes all pages and sets the load. What is drawn from now on continues, so that no id and no number comes again. */
    reset(perMinute: number): void {
      for (const id of byId.keys()) onForget(id);
      byId.clear();
      pages.fixAll();
      tidyAt = keep;
      load.set(perMinute);
    },
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
