/** Loads rows that have been due for long, but in no replica's memory and beyond no cursor, and logs them, because that is a bug. */

import { holdingsOf } from '../../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../../domain/values/time.ts';
import { FIRST_BULK_SLOT } from '../../../postgres/migrations/names.ts';
import { dueSlot, loadDue, type QueuedPurchase } from '../../../postgres/polling/queue.ts';
import type { Deps } from '../../deps.ts';
import { inStatements, type WindowRead, type Windows } from './due-reads.ts';

interface PatrolOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'ownership'> {
  readonly windows: Windows;
  /** Whether a purchase waits to be loaded by id, or has just left memory. */
  isElsewhere(id: number): boolean;
  /** Takes loaded rows into memory. */
  take(rows: readonly QueuedPurchase[]): void;
}

const EVERY: Milliseconds = 60_000;
/** How late a purchase must be, and how many of a shard are loaded. */
const OVERDUE: Milliseconds = 60_000;
const ROWS_PER_SHARD = 10;

/** A function that looks once a minute at the shards that this replica owned when the load began. */
export function createPatrol(options: PatrolOptions): (owned: readonly number[]) => Promise<void> {
  const { sql, clock, log, ownership, windows, isElsewhere, take } = options;
  let nextAt = clock.monotonic() + EVERY;

  /** Only of queues whose cursors have read what is looked for. */
  const readsOf = (shards: readonly number[], slot: number): WindowRead[] =>
    [...windows].flatMap(([site, window]) => {
      const ordinary = { queue: window, before: -1, through: slot, isRead: !window.pressed() };
      const bulk = { queue: window.bulk, before: FIRST_BULK_SLOT - 1, through: FIRST_BULK_SLOT + slot, isRead: true };
      return [ordinary, bulk].flatMap(({ queue, before, through, isRead }) => {
        if (!isRead || queue.behind(through).length > 0) return [];
        const cursors = shards.map((shard) => ({ shard, slot: before, id: 0 }));
        return { window, queue, site, cursors, through, limit: ROWS_PER_SHARD };
      });
    });

  return async (owned) => {
    if (clock.monotonic() < nextAt || !ownership.outlasts(0)) return;
    nextAt = clock.monotonic() + EVERY;
    const epochs = new Map(holdingsOf(ownership, owned).map(({ shard, epoch }) => [shard, epoch]));
    // A shard that was released meanwhile left memory with all its purchases, and once the lease has ended others may have written its rows.
    const isHeld = (shard: number): boolean => {
      const epoch = epochs.get(shard);
      return epoch !== undefined && ownership.mayGoOn(shard, epoch, 0);
    };
    const overdueBefore = clock.now() - OVERDUE;
    for (const together of inStatements(readsOf([...epochs.keys()], dueSlot(overdueBefore)))) {
      const results = await loadDue(sql, together, overdueBefore);
      results.forEach(({ rows }, index) => {
        const { site, window } = together[index]!;
        const lost = rows.filter(({ purchase: { id, shard } }) => isHeld(shard) && !window.knows(id) && !isElsewhere(id));
        if (lost.length === 0) return;
        log.warn({ site, purchases: lost.length }, 'queue.found_overdue');
        take(lost);
      });
    }
  };
}
