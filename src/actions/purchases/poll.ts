/** Having a purchase polled now. This only makes it due; its shard's owner polls it. */

import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { countPolls, type PurchaseName } from '../../postgres/purchases/purchases.ts';
import { waitUntil } from '../../runtime/loops/wait-until.ts';
import { replicasDiffer, runningReplicas } from '../running-replicas.ts';

export { requestPoll } from '../../postgres/purchases/purchases.ts';

/** Waits until a purchase has more polls than `than`; false when the time is over, or the signal comes, before that. */
export const waitForPoll = (
  sql: Sql,
  purchase: PurchaseName,
  { than, ...limits }: { than: number; within: Milliseconds; signal?: AbortSignal },
): Promise<boolean> => waitUntil(async () => (await countPolls(sql, purchase)) > than, limits);

/** Facts that decide about polls of a site: its row, null when it is gone, and turns of daemons whose settings differ. */
export async function pollingOf(sql: Sql, name: string) {
  const [sites, replicas] = await Promise.all([listSites(sql), runningReplicas(sql)]);
  return { site: sites.find((each) => each.name === name) ?? null, turns: replicasDiffer(replicas)?.turns ?? null };
}
