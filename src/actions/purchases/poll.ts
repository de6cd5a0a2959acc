/** Having a purchase polled now. This only makes it due; its shard's owner polls it. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { countPolls, type PurchaseName } from '../../postgres/purchases/purchases.ts';
import { replicasDiffer, runningReplicas } from '../running-replicas.ts';

export { requestPoll } from '../../postgres/purchases/purchases.ts';

/** Between two looks, growing: most polls are there after the first. */
const FIRST_LOOK: Milliseconds = 50;
const LAST_LOOK: Milliseconds = 500;

/** Waits until a purchase has more polls than `than`; false when the time is over, or the signal comes, before that. */
export async function waitForPoll(
  sql: Sql,
  purchase: PurchaseName,
  { than, within, signal = new AbortController().signal }: { than: number; within: Milliseconds; signal?: AbortSignal },
): Promise<boolean> {
  const until = performance.now() + within;
  for (let rest = FIRST_LOOK; !signal.aborted; rest = Math.min(rest * 1.5, LAST_LOOK)) {
    const left = until - performance.now();
    if (left <= 0) return false;
    await delay(Math.min(rest, left), undefined, { signal }).catch(() => undefined);
    if ((await countPolls(sql, purchase)) > than) return true;
  }
  return false;
}

/** Facts that decide about polls of a site: its row, null when it is gone, and turns of daemons whose settings differ. */
export async function pollingOf(sql: Sql, name: string) {
  const [sites, replicas] = await Promise.all([listSites(sql), runningReplicas(sql)]);
  return { site: sites.find((each) => each.name === name) ?? null, turns: replicasDiffer(replicas)?.turns ?? null };
}
