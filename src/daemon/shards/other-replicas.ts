/** The other replicas, as this one sees them: whose lease has ended, and which take shards. */

import type { Milliseconds } from '../../domain/values/time.ts';
import { expireReplica, forgetReplica, type OtherReplica } from '../../postgres/shards/replicas.ts';
import type { Clock } from '../../runtime/clock.ts';
import { isGone } from '../../runtime/process/process-identity.ts';
import type { Deps } from '../deps.ts';

interface OtherReplicasOptions extends Pick<Deps, 'sql' | 'log'> {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The length of this replica's lease: another one may be longer. */
  readonly ttl: Milliseconds;
}

/**
 * A function that deletes replicas whose process or lease ended, and answers those that take shards. A lease ended once its row
 * has stood unchanged for the lease's length by this process' own clock. The database's clock does not count, for it may step
 * by hours.
 */
export function createOtherReplicas({ sql, clock, log, ttl }: OtherReplicasOptions) {
  let seen = new Map<string, { readonly renewal: string; readonly since: Milliseconds }>();

  /** Whether the replica still takes shards. */
  const takesShards = async (row: OtherReplica, now: Milliseconds): Promise<boolean> => {
    const leaseMs = Math.max(row.leaseMs, ttl);
    if (isGone(row.process)) {
      log.warn({ otherReplica: row.id }, 'replica.gone');
      await forgetReplica(sql, row.id);
      return false;
    }
    if (now - seen.get(row.id)!.since >= leaseMs && (await expireReplica(sql, row))) {
      const detail = 'It did not renew its lease in time. The other replicas take over its purchases and deliveries.';
      log.warn({ otherReplica: row.id, leaseMs, detail }, 'replica.expired');
      return false;
    }
    return !row.leaving;
  };

  return async (rows: readonly OtherReplica[]): Promise<readonly OtherReplica[]> => {
    const now = clock.monotonic();
    seen = new Map(
      rows.map(({ id, renewal }) => {
        const before = seen.get(id);
        return [id, before?.renewal === renewal ? before : { renewal, since: now }];
      }),
    );
    const taking: OtherReplica[] = [];
    for (const row of rows) if (await takesShards(row, now)) taking.push(row);
    return taking;
  };
}
