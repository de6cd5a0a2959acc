/** The merchants' pages: while one is broken, customers who are on it do not come back. */
import type { Site } from '../contract/purchases.ts';
import { comeBack, type Purchase } from './purchase.ts';
import { siteNamed } from './purchase-spec.ts';

/** Which page of which site breaks or is fixed; `site` null: of every site. */
export interface PageSelection {
  readonly site: string | null;
  readonly states: readonly number[];
}

/**
 * Pages of these sites, none of them broken. `all` are the purchases as they are now, `comeBackIn` the milliseconds until a customer is
 * back once the page is fixed.
 */
export function createPages({
  sites,
  now,
  all,
  comeBackIn,
}: {
  readonly sites: readonly Site[];
  readonly now: () => number;
  readonly all: () => IteratorObject<Purchase>;
  readonly comeBackIn: () => number;
}) {
  const broken = new Map<string, { site: string; state: number }>();
  const keyOf = (site: string, state: number): string => `${state} ${site}`;
  const selected = ({ site, states }: PageSelection) =>
    (site === null ? sites : [siteNamed(site, sites)]).flatMap(({ code }) =>
      states.map((state) => [keyOf(code, state), { site: code, state }] as const),
    );
  return {
    keeps: ({ code }: Site, state: number): boolean => broken.size > 0 && broken.has(keyOf(code, state)),
    breakPage(selection: PageSelection): void {
      const pages = selected(selection);
      // A customer who was due back before this moment was on time.
      all().toArray();
      for (const [key, page] of pages) broken.set(key, page);
    },
    fixPage(selection: PageSelection): void {
      const keys = new Set(selected(selection).map(([key]) => key));
      for (const purchase of all()) {
        if (keys.has(keyOf(purchase.site.code, purchase.state))) comeBack(purchase, now(), comeBackIn());
      }
      for (const key of keys) broken.delete(key);
    },
    fixAll: () => broken.clear(),
    /** Pairs of site code and state. */
    broken: () => [...broken.values()],
  };
}
