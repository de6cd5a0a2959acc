/** Loads the purchases that were changed from outside: each change leaves a nudge, which is dropped once its purchase is loaded. */

import { holdingsOf } from '../../../domain/replicas/ownership.ts';
import { type BulkBegin, dropNudges, dropNudgesOf, type QueuedPurchase, readNudged } from '../../../postgres/polling/queue.ts';
import type { Deps } from '../../deps.ts';

interface NudgedOptions extends Pick<Deps, 'sql' | 'ownership'> {
  /** Takes loaded rows into memory. */
  take(rows: readonly QueuedPurchase[]): void;
  /** Notes that a bulk registration added rows to a queue. */
  bulkBegins(begin: BulkBegin): void;
}

const NUDGES_AT_ONCE = 5_000;

export function createNudged({ sql, ownership, take, bulkBegins }: NudgedOptions) {
  const { replica, epochOf } = ownership;
  /** Gained shards whose old nudges are still there. */
  const fresh = new Set<number>();
  return {
    /** Shards were gained: their nudges are older than the rows that are about to be read. */
    gained: (shards: readonly number[]): void => {
      for (const shard of shards) fresh.add(shard);
    },
    /** Drops the old nudges of gained shards. */
    dropOld: async (): Promise<void> => {
      if (fresh.size === 0) return;
      const holdings = holdingsOf(ownership, fresh);
      await dropNudgesOf(sql, { replica, holdings });
      // A shard that was lost and gained meanwhile is fresh again.
      for (const { shard, epoch } of holdings) if (epochOf(shard) === epoch) fresh.delete(shard);
      for (const shard of fresh) if (epochOf(shard) === null) fresh.delete(shard);
    },
    /** Loads nudged purchases of these shards; answers whether there are more. */
    load: async (shards: readonly number[]): Promise<boolean> => {
      const holdings = holdingsOf(ownership, shards);
      const { rows, orphans, bulks, more } = await readNudged(sql, { shards, limit: NUDGES_AT_ONCE });
      if (rows.length + orphans.length === 0) return false;
      for (const begin of bulks) bulkBegins(begin);
      take(rows);
      // Only now, when the rows are in memory or ahead of their cursor. The statement drops no nudge of a shard that changed hands;
      // of a shard that does so afterwards, the next owner reads the whole queue.
      // Nudges of deleted purchases are dropped too, or they would fill every read in the end.
      const nudges = [...orphans, ...rows.flatMap((row) => row.nudges)];
      await dropNudges(sql, nudges, { replica, holdings });
      return more;
    },
  };
}
