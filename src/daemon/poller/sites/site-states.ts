/** Writes how this replica calls each site, so that every replica's pages and the commands read the same. */

import type { SiteCallsNow } from '../../../domain/polling/site-calls.ts';
import type { Ownership } from '../../../domain/replicas/ownership.ts';
import { type Milliseconds, SECOND } from '../../../domain/values/time.ts';
import { writeSiteCalls } from '../../../postgres/polling/site-calls.ts';
import type { Deps } from '../../deps.ts';
import type { SiteCalls } from './site-calls.ts';

interface SiteStatesOptions extends Pick<Deps, 'sql' | 'clock'> {
  readonly ownership: Pick<Ownership, 'replica' | 'share'>;
  readonly siteCalls: ReadonlyMap<string, SiteCalls>;
}

export function createSiteStates({ sql, clock, ownership, siteCalls }: SiteStatesOptions) {
  let countedAt: Milliseconds = clock.monotonic();
  let counted: ReadonlyMap<string, number> = new Map();
  /** By site, as JSON. */
  const written = new Map<string, string>();

  /** Writes the sites of which something changed since the last write; without calls or changes it writes nothing. */
  const write = async (): Promise<void> => {
    const now = clock.monotonic();
    const seconds = Math.max(now - countedAt, 1) / SECOND;
    const rows = [...siteCalls.values()].map(({ site, seen }) => ({ site, ...seen() }));
    const states = rows.map(({ site, calls, ...breaker }): SiteCallsNow => {
      const rate = (calls - (counted.get(site.name) ?? 0)) / seconds;
      return {
        site: site.name,
        ...breaker,
        callsPerSecond: Math.round(rate * 100) / 100,
        ceiling: Math.round(site.maxRps * ownership.share() * 100) / 100,
        token: site.token(),
      };
    });
    countedAt = now;
    counted = new Map(rows.map(({ site, calls }) => [site.name, calls]));
    const changed = states.filter((state) => state.callsPerSecond > 0 || written.get(state.site) !== JSON.stringify(state));
    if (changed.length === 0) return;
    const sites = new Set(await writeSiteCalls(sql, ownership.replica, changed));
    for (const state of changed.filter(({ site }) => sites.has(site))) written.set(state.site, JSON.stringify(state));
  };
  return {
    write,
    /** The next write writes every site: another database answers than before. */
    forget: (): void => written.clear(),
  };
}
