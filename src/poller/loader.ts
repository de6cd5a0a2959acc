/** Brings into the windows what is due soon and what changed from outside. */
import type { Holding, Ownership } from '../core/ownership.ts';
import type { Milliseconds } from '../core/purchase.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sql } from '../store/database.ts';
import {
  dropNudges,
  dropNudgesOf,
  dueSlot,
  loadDue,
  loadPurchases,
  type QueuedPurchase,
  readNudged as readNudges,
} from '../store/queue.ts';
import type { Window } from './window.ts';

export interface LoaderOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ownership: Ownership;
  /** By site. Purchases of sites that are not configured keep their rows and are left alone. */
  readonly windows: ReadonlyMap<string, Window>;
}

export interface Loader {
  /** Reads once; answers whether there is more to read at once. Calls must not overlap. */
  load(): Promise<boolean>;
  /** A purchase was written and left its window: what is being read of it just now may be older than that. */
  left(id: number): void;
  /** Reads a purchase's row again after a rest, whatever memory knew of it. */
  readAgain(id: number, rest: Milliseconds): void;
}

const NUDGES_AT_ONCE = 5_000;
const ROWS_PER_SHARD = 1_000;
/** Room for fewer rows a shard than this is not worth a query. */
const FEWEST_ROWS_PER_SHARD = 2;
/** How often to look for overdue purchases that no cursor will come to, and from how many slots of delay on. */
const PATROL_EVERY: Milliseconds = 60_000;
const OVERDUE_SLOTS = 6;

export function createLoader({ sql, clock, log, ownership, windows }: LoaderOptions): Loader {
  /** Shards whose nudges are older than what is about to be read. */
  const fresh = new Set<number>();
  /** Purchases whose rows are to be read again, and from when on. */
  const again = new Map<number, Milliseconds>();
  /** Purchases that left their window while rows were being read: what was read may be older than what was written. */
  const leavers = new Set<number>();
  let loading = false;
  let patrolAt = clock.monotonic() + PATROL_EVERY;

  ownership.onChange(({ gained, lost }) => {
    for (const window of windows.values()) {
      window.drop(lost);
      window.gain(gained);
    }
    for (const shard of gained) fresh.add(shard);
  });

  const take = (rows: readonly QueuedPurchase[]): void => {
    for (const row of rows) if (!leavers.has(row.purchase.id)) windows.get(row.purchase.site)?.put(row);
  };

  /** What this replica holds of some shards, as of now. */
  const holdingsOf = (shards: Iterable<number>): Holding[] =>
    [...shards].flatMap((shard) => {
      const epoch = ownership.epochOf(shard);
      return epoch === null ? [] : [{ shard, epoch }];
    });

  const forgetOldNudges = async (): Promise<void> => {
    if (fresh.size === 0) return;
    const holdings = holdingsOf(fresh);
    await dropNudgesOf(sql, { replica: ownership.replica, holdings });
    // A shard that was lost and gained meanwhile is fresh again.
    for (const { shard, epoch } of holdings) if (ownership.epochOf(shard) === epoch) fresh.delete(shard);
    for (const shard of fresh) if (ownership.epochOf(shard) === null) fresh.delete(shard);
  };

  const readWrittenAgain = async (): Promise<boolean> => {
    const now = clock.monotonic();
    const ids = [...again].filter(([, from]) => from <= now).map(([id]) => id);
    if (ids.length === 0) return false;
    // Whoever leaves from here on is read once more.
    for (const id of ids) leavers.delete(id);
    const rows = await loadPurchases(sql, ids);
    for (const id of ids) again.delete(id);
    take(rows);
    return true;
  };

  const readNudged = async (shards: readonly number[]): Promise<boolean> => {
    const holdings = holdingsOf(shards);
    const { rows, orphans, more } = await readNudges(sql, { shards, limit: NUDGES_AT_ONCE });
    if (rows.length + orphans.length === 0) return false;
    take(rows);
    // Only now: the rows are in memory, or their cursor will come by. A shard that changed hands meanwhile keeps its nudges.
    const kept = holdings.filter(({ shard, epoch }) => ownership.epochOf(shard) === epoch);
    // Left where they are, orphans would be read with every tick, and in the end nothing else.
    const nudges = [...orphans, ...rows.flatMap((row) => row.nudges)];
    await dropNudges(sql, nudges, { replica: ownership.replica, holdings: kept });
    return more;
  };

  /**
   * Reads on in a site's queue. First all that is overdue, whatever its age: it leaves memory again with its poll. Only
   * then what is due soon, so that memory is never filled with what can wait while something overdue is not read.
   */
  const readDue = async (site: string, window: Window): Promise<boolean> => {
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
    const { rows, cursors } = await loadDue(sql, { site, cursors: behind, through, limit: perShard });
    window.moved(behind, cursors, through);
    take(rows);
    return window.behind(slot + 1).length > 0;
  };

  /** The net below the rope: what is long overdue and in nobody's memory is taken up, and said, for it should not happen. */
  const patrol = async (owned: readonly number[]): Promise<void> => {
    if (clock.monotonic() < patrolAt) return;
    patrolAt = clock.monotonic() + PATROL_EVERY;
    const through = dueSlot(clock.now()) - OVERDUE_SLOTS;
    for (const [site, window] of windows) {
      if (window.pressed() || window.behind(through).length > 0) continue;
      const cursors = owned.map((shard) => ({ shard, slot: -1, id: 0 }));
      const { rows } = await loadDue(sql, { site, cursors, through, limit: FEWEST_ROWS_PER_SHARD * 5 });
      const lost = rows.filter(({ purchase: { id } }) => !window.knows(id) && !leavers.has(id));
      if (lost.length === 0) continue;
      log.warn({ site, purchases: lost.length }, 'queue.found_overdue');
      take(lost);
    }
  };

  return {
    load: async () => {
      loading = true;
      try {
        await forgetOldNudges();
        const owned = ownership.owned();
        if (owned.length === 0) return false;
        let more = await readWrittenAgain();
        if (await readNudged(owned)) more = true;
        for (const [site, window] of windows) if (await readDue(site, window)) more = true;
        await patrol(owned);
        return more || leavers.size > 0;
      } finally {
        loading = false;
        for (const id of leavers) again.set(id, 0);
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
