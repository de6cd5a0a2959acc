/** Loads purchases that are due soon, or were changed from outside, into the windows. */

import { loadDue, loadPurchases, type QueuedPurchase } from '../../../postgres/polling/queue.ts';
import type { Deps } from '../../deps.ts';
import { inStatements, nextReads, setPressures, type Windows } from './due-reads.ts';
import { createNudged } from './nudged.ts';
import { createPatrol } from './patrol.ts';
import { createRereads } from './rereads.ts';

interface PurchaseLoaderOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'ownership'> {
  /** Purchases of sites that are not configured keep their rows and are left alone. */
  readonly windows: Windows;
  /** Wakes the loop that loads. */
  wake(): void;
}

export type PurchaseLoader = ReturnType<typeof createPurchaseLoader>;

export function createPurchaseLoader({ sql, clock, log, ownership, windows, wake }: PurchaseLoaderOptions) {
  const rereads = createRereads(clock);
  const take = (rows: readonly QueuedPurchase[]): void => {
    for (const row of rows) if (!rereads.hasLeft(row.purchase.id)) windows.get(row.purchase.site)?.put(row);
  };
  const nudged = createNudged({ sql, ownership, take, bulkBegins: (begin) => windows.get(begin.site)?.bulkBegins(begin) });
  const isElsewhere = (id: number): boolean => rereads.hasLeft(id) || rereads.has(id);
  const patrol = createPatrol({ sql, clock, log, ownership, windows, isElsewhere, take });

  ownership.onChange(({ gained, lost }) => {
    for (const window of windows.values()) {
      window.drop(lost);
      window.gain(gained);
    }
    nudged.gained(gained);
    wake();
  });

  const loadById = async (): Promise<boolean> => {
    const ids = rereads.takeDue();
    if (ids.length === 0) return false;
    const rows = await loadPurchases(sql, ids);
    rereads.done(ids);
    take(rows);
    return true;
  };

  /** Reads on in the queues; answers whether there is more to read at once. */
  const readDue = async (): Promise<boolean> => {
    for (const together of inStatements(nextReads(windows, clock.now()))) {
      const results = await loadDue(sql, together);
      results.forEach(({ rows, cursors }, index) => {
        together[index]!.queue.moved(together[index]!.cursors, cursors);
        // Purchases that pause are loaded by id when their pause is over.
        take(rows.filter(({ purchase: { id } }) => !rereads.has(id)));
      });
    }
    return setPressures(windows, clock.now());
  };

  return {
    /** Loads once; answers whether there is more to load at once. Calls must not overlap. */
    load: async (): Promise<boolean> => {
      rereads.begin();
      try {
        await nudged.dropOld();
        const owned = ownership.owned();
        if (owned.length === 0) {
          // Nothing that is due can get room here.
          for (const window of windows.values()) window.setPressure(false);
          return false;
        }
        const more = [await loadById(), await nudged.load(owned), await readDue()];
        await patrol(owned);
        return more.includes(true) || rereads.haveSomeLeft;
      } finally {
        rereads.end();
      }
    },
    /** Notes that a purchase was written and left its window: a load under way may hold an older row of it. */
    left: rereads.left,
    /** Loads a purchase's row again after a pause, whatever memory knows. */
    readAgain: rereads.add,
  };
}
