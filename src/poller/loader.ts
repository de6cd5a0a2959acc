/** Brings into the window what is due soon and what changed from outside. */
import type { Ownership } from '../core/ownership.ts';
import type { Milliseconds } from '../core/purchase.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Sql } from '../store/database.ts';
import { dropNudges, dueSlot, loadDue, loadPurchases, type QueuedPurchase, takeNudged } from '../store/queue.ts';
import type { Window } from './window.ts';

export interface LoaderOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly ownership: Ownership;
  readonly window: Window;
  /** The configured sites: purchases of others keep their rows and are left alone. */
  readonly sites: ReadonlySet<string>;
}

export interface Loader {
  /** Reads once; answers whether there is more to read at once. Calls must not overlap. */
  load(): Promise<boolean>;
  /** A purchase was written and left the window: what is being read of it just now may be older than that. */
  left(id: number): void;
  /** Reads a purchase's row again after a rest, whatever memory knew of it. */
  readAgain(id: number, rest: Milliseconds): void;
}

const NUDGES_AT_ONCE = 5_000;
const ROWS_PER_SHARD = 1_000;
/** Room for fewer rows a shard than this is not worth a query. */
const FEWEST_ROWS_PER_SHARD = 2;

export function createLoader({ sql, clock, ownership, window, sites }: LoaderOptions): Loader {
  /** Shards whose nudges are older than what is about to be read. */
  const fresh = new Set<number>();
  /** Purchases whose rows are to be read again, and from when on. */
  const again = new Map<number, Milliseconds>();
  /** Purchases that left the window while rows were being read. */
  const leavers = new Set<number>();
  let loading = false;

  ownership.onChange(({ gained, lost }) => {
    window.drop(lost);
    window.gain(gained);
    for (const shard of gained) fresh.add(shard);
  });

  const take = (rows: readonly QueuedPurchase[]): void => {
    for (const row of rows) {
      if (leavers.has(row.purchase.id)) again.set(row.purchase.id, 0);
      else if (sites.has(row.purchase.site)) window.put(row);
    }
  };

  const forgetOldNudges = async (): Promise<void> => {
    if (fresh.size === 0) return;
    const shards = [...fresh];
    await dropNudges(sql, shards);
    for (const shard of shards) fresh.delete(shard);
  };

  const readWrittenAgain = async (): Promise<boolean> => {
    const now = clock.monotonic();
    const ids = [...again].filter(([, from]) => from <= now).map(([id]) => id);
    if (ids.length === 0) return false;
    leavers.clear();
    const rows = await loadPurchases(sql, ids);
    for (const id of ids) again.delete(id);
    take(rows);
    return true;
  };

  const readNudged = async (shards: readonly number[]): Promise<boolean> => {
    const limit = Math.min(window.room(), NUDGES_AT_ONCE);
    if (limit === 0) return false;
    const rows = await takeNudged(sql, { shards, limit });
    take(rows);
    return rows.length >= limit;
  };

  /**
   * Reads on in the queue. First all that is overdue, whatever its age: it leaves memory again with its poll. Only then
   * what is due soon, so that memory is never filled with what can wait while something overdue is not read.
   */
  const readDue = async (): Promise<boolean> => {
    const slot = dueSlot(clock.now());
    const through = window.behind(slot - 1).length > 0 ? slot - 1 : slot + 1;
    const behind = window.behind(through);
    if (behind.length === 0) return false;
    const perShard = Math.min(Math.floor(window.room() / behind.length), ROWS_PER_SHARD);
    if (perShard < FEWEST_ROWS_PER_SHARD) {
      // Polls make room.
      window.setPressure(true);
      return false;
    }
    const { rows, cursors } = await loadDue(sql, { cursors: behind, through, limit: perShard });
    take(rows);
    window.moved(cursors, through);
    return window.behind(slot + 1).length > 0;
  };

  return {
    load: async () => {
      loading = true;
      try {
        await forgetOldNudges();
        const owned = ownership.owned();
        if (owned.length === 0) return false;
        const repeated = await readWrittenAgain();
        const nudged = await readNudged(owned);
        const due = await readDue();
        return repeated || nudged || due;
      } finally {
        loading = false;
        leavers.clear();
      }
    },
    left: (id) => {
      if (loading) leavers.add(id);
    },
    readAgain: (id, rest) => {
      again.set(id, clock.monotonic() + rest);
    },
  };
}
