/** Pages of merchants that are broken: customers who are on one do not come back. */
import type { Site } from '../contract/purchases.ts';

export interface Page {
  readonly site: Site;
  readonly state: number;
}

export interface BrokenPages {
  keeps(site: Site, state: number): boolean;
  break(pages: readonly Page[]): void;
  fix(pages: readonly Page[]): void;
  fixAll(): void;
  /** As pairs of site code and state. */
  list(): { site: string; state: number }[];
}

/** Starts with none. */
export function createBrokenPages(): BrokenPages {
  const broken = new Map<string, { site: string; state: number }>();
  const keyOf = ({ site, state }: Page): string => `${state} ${site.code}`;
  return {
    keeps: (site, state) => broken.size > 0 && broken.has(keyOf({ site, state })),
    break: (pages) => {
      for (const page of pages) broken.set(keyOf(page), { site: page.site.code, state: page.state });
    },
    fix: (pages) => {
      for (const page of pages) broken.delete(keyOf(page));
    },
    fixAll: () => broken.clear(),
    list: () => [...broken.values()],
  };
}
