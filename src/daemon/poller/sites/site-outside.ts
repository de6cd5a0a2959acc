/** Whether this replica reaches the checkout services, compared with the other replicas. */

import { type NothingReached, outdone, type ReplicaSiteReach } from '../../../domain/replicas/replica-reach.ts';
import type { Instant, Milliseconds } from '../../../domain/values/time.ts';
import { purchaseToAsk, readSiteReach } from '../../../postgres/polling/site-reach.ts';
import type { Deps } from '../../deps.ts';
import type { SiteCalls } from './site-calls.ts';

interface SiteOutsideOptions extends Pick<Deps, 'sql' | 'clock' | 'replica'> {
  readonly siteCalls: ReadonlyMap<string, SiteCalls>;
}

/** From now to the next poll of a purchase that may be asked about as an extra call, at least. */
const NOT_DUE_SOON: Milliseconds = 60_000;
/** The part of a site's ceiling that such calls may take. */
const SHARE = 1 / 64;

/** See `Outside` in daemon/shards/reach.ts. */
export function createSiteOutside({ sql, clock, replica, siteCalls }: SiteOutsideOptions) {
  /** Since when this replica has failed at each site: reports that repeat the failure do not move it. */
  const since = new Map<string, Instant>();
  const sinceFirst = (row: ReplicaSiteReach): ReplicaSiteReach => {
    if (row.replica !== replica) return row;
    if (row.failingSince === null) since.delete(row.site);
    else since.set(row.site, Math.min(since.get(row.site) ?? row.failingSince, row.failingSince));
    return { ...row, failingSince: since.get(row.site) ?? null };
  };
  const failing = (): SiteCalls[] => [...siteCalls.values()].filter((calls) => calls.fails());

  /** Asks a failing site about one purchase of another replica, if the ceiling allows; nothing is recorded. */
  const ask = async (calls: SiteCalls): Promise<boolean> => {
    const purchase = await purchaseToAsk(sql, { site: calls.site.name, after: clock.now() + NOT_DUE_SOON });
    if (purchase === null) return false;
    const { wait, probe } = calls.take(SHARE);
    if (wait > 0) return false;
    calls.begin(true);
    const seen = await calls.site.pollStatus(purchase.purchaseId, null);
    calls.end();
    calls.answered(seen, { purchase: purchase.id, probe });
    return seen.kind === 'seen';
  };

  return {
    reason: 'reaches_no_site' as const,
    mayFail: (): boolean => failing().length > 0,
    outdone: async (): Promise<NothingReached | null> => outdone((await readSiteReach(sql)).map(sinceFirst), replica),
    stillFails: async (): Promise<boolean> => {
      for (const calls of failing()) if (await ask(calls)) return false;
      return failing().length > 0;
    },
  };
}
