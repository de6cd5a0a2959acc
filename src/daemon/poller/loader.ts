/** Loads purchases that are due soon, or were changed from outside, into the windows. */

import type { Holding, Ownership } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import {
  dropNudges,
  dropNudgesOf,
  dueSlot,
  loadDue,
  loadPurchases,
  type QueuedPurchase,
  type QueueRead,
  readNudged as readNudges,
} from '../../postgres/polling/queue.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
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
  /** Loads once; answers whether there is more to load at once. Calls must not overlap. */
  load(): Promise<boolean>;
  /** Notes that a purchase was written and left its window: a load under way may hold an older row of it. */
  left(id: number): void;
  /** Loads a purchase's row again after a pause, whatever memory knows. */
  readAgain(id: number, rest: Milliseconds): void;
}

const NUDGES_AT_ONCE = 5_000;
const ROWS_PER_SHARD = 300;
/** Room for fewer rows than this is worth a query only while no poll is due. */
const FEWEST_ROWS = 64;
/** What one statement reads at most: index ranges, and rows. */
const MOST_RANGES = 4_096;
const MOST_ROWS = 20_000;
/** How often to look for overdue purchases that no cursor comes to, from how many slots of delay on, and how many of a shard. */
const PATROL_EVERY: Milliseconds = 60_000;
const OVERDUE_SLOTS = 6;
const PATROL_ROWS = 10;

/** What is to be read into a window. */
interface WindowRead extends QueueRead {
  readonly window: Window;
}

/** Reads of many sites in as few statements as their ranges and rows allow, in order. */
function inStatements(reads: readonly WindowRead[]): WindowRead[][] {
  const statements: WindowRead[][] = [];
  let ranges = 0;
  let rows = 0;
  for (const read of reads) {
    const { length } = read.cursors;
    ranges += length;
    rows += length * read.limit;
    if (statements.length === 0 || ranges > MOST_RANGES || rows > MOST_ROWS) {
      statements.push([]);
      ranges = length;
      rows = length * read.limit;
    }
    statements.at(-1)!.push(read);
  }
  return statements;
}

export function createLoader({ sql, clock, log, ownership, windows }: LoaderOptions): Loader {
  /** Gained shards whose nudges are older than the rows that are about to be read. */
  const fresh = new Set<number>();
  /** Purchases whose rows are to be read again, and from when on. */
  const again = new Map<number, Milliseconds>();
  /** Purchases that left their window during a load: the loaded row may be older than the written one. */
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
    // A purchase that leaves its window from here on is read once more.
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
    // Only now, when the rows are in memory or ahead of their cursor. A shard that changed hands meanwhile keeps its nudges.
    const kept = holdings.filter(({ shard, epoch }) => ownership.epochOf(shard) === epoch);
    // Nudges of deleted purchases are dropped too, or they would fill every read in the end.
    const nudges = [...orphans, ...rows.flatMap((row) => row.nudges)];
    await dropNudges(sql, nudges, { replica: ownership.replica, holdings: kept });
    return more;
  };

  /** The next read of a site's queue, or null when there is nothing to read or no room. */
  const nextRead = (site: string, window: Window): WindowRead | null => {
    const slot = dueSlot(clock.now());
    // Overdue purchases first, whatever their age; then those due in this slot; then those due soon.
    const through = [slot - 1, slot, slot + 1].find((each) => window.behind(each).length > 0);
    if (through === undefined) return null;
    const behind = window.behind(through);
    const room = through > slot ? window.roomAhead() : window.makeRoom(Math.max(behind.length, FEWEST_ROWS), through);
    // A few rows are not worth a query while polls are making room.
    const isWaiting = room < FEWEST_ROWS && (window.nextDue() ?? Number.POSITIVE_INFINITY) <= clock.now();
    if (room === 0 || isWaiting) return null;
    // With little room, only some shards: those that are furthest behind.
    const cursors = behind.length <= room ? behind : behind.toSorted((a, b) => a.slot - b.slot || a.id - b.id).slice(0, room);
    return { window, site, cursors, through, limit: Math.min(Math.floor(room / cursors.length), ROWS_PER_SHARD) };
  };

  /** Reads on in the queues; answers whether there is more to read at once. */
  const readDue = async (): Promise<boolean> => {
    const reads: WindowRead[] = [];
    for (const [site, window] of windows) {
      const read = nextRead(site, window);
      if (read !== null) reads.push(read);
    }
    for (const together of inStatements(reads)) {
      const results = await loadDue(sql, together);
      results.forEach(({ rows, cursors }, index) => {
        together[index]!.window.moved(together[index]!.cursors, cursors);
        // Purchases that pause are read by id when their pause is over.
        take(rows.filter(({ purchase: { id } }) => !again.has(id)));
      });
    }
    const slot = dueSlot(clock.now());
    let more = false;
    for (const [site, window] of windows) {
      const isReadable = nextRead(site, window) !== null;
      window.setPressure(!isReadable && window.behind(slot).length > 0);
      if (isReadable) more = true;
    }
    return more;
  };

  /**
   * Loads rows that are long overdue, but in no replica's memory and beyond no cursor, and logs them, because that is a bug.
   */
  const patrol = async (owned: readonly number[]): Promise<void> => {
    if (clock.monotonic() < patrolAt || !ownership.outlasts(0)) return;
    patrolAt = clock.monotonic() + PATROL_EVERY;
    const through = dueSlot(clock.now()) - OVERDUE_SLOTS;
    const holdings = holdingsOf(owned);
    const epochs = new Map(holdings.map(({ shard, epoch }) => [shard, epoch]));
    // A shard that was released meanwhile left memory with all its purchases, and once the lease has ended others may have written its rows.
    const isHeld = (shard: number): boolean => {
      const epoch = epochs.get(shard);
      return epoch !== undefined && ownership.mayGoOn(shard, epoch, 0);
    };
    const reads = [...windows]
      .filter(([, window]) => !window.pressed() && window.behind(through).length === 0)
      .map(([site, window]): WindowRead => {
        const cursors = holdings.map(({ shard }) => ({ shard, slot: -1, id: 0 }));
        return { window, site, cursors, through, limit: PATROL_ROWS };
      });
    for (const together of inStatements(reads)) {
      const results = await loadDue(sql, together);
      results.forEach(({ rows }, index) => {
        const { site, window } = together[index]!;
        const lost = rows.filter(
          ({ purchase: { id, shard } }) => isHeld(shard) && !window.knows(id) && !leavers.has(id) && !again.has(id),
        );
        if (lost.length === 0) return;
        log.warn({ site, purchases: lost.length }, 'queue.found_overdue');
        take(lost);
      });
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
        if (await readDue()) more = true;
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
