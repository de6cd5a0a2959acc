/**
 * The due purchases of one site in this replica's shards, in memory and in order. It can be thrown away at any moment:
 * the rows are the truth, and whoever owns a shard next reads them again.
 *
 * Each shard has a cursor: every row at or before it in (slot, id) order is either in memory or lies behind it by now.
 * After a poll, a purchase that is due again before the cursor's slot ends stays in memory and its row keeps its slot,
 * so the queue's index is not touched; one that is due later leaves memory and is written with its true slot, where the
 * cursor will come to it.
 */
import type { Instant, Purchase } from '../core/purchase.ts';
import { type Cursor, dueSlot, type QueuedPurchase } from '../store/queue.ts';
import { createHeap, type Heap } from './heap.ts';

export interface Entry {
  purchase: Purchase;
  dueAt: Instant;
  /** Of the row in the queue. */
  slot: number;
  /** The shard's epoch when the entry was loaded. */
  readonly epoch: number;
  /** Being asked or recorded: not in the heap. */
  busy: boolean;
  /** Digest of the last good answer, to recognise the same one; null when none is known. */
  digest: string | null;
  /** Failures in a row that looked like the site's. */
  strikes: number;
  /** The shard or the purchase is not ours any more: whatever comes back is dropped. */
  gone: boolean;
  /** The row as it was read while this entry was busy; it replaces the entry afterwards. */
  newer: QueuedPurchase | null;
}

export interface Window {
  /** Room for more; 0 when full. */
  room(): number;
  /** Takes over a row, in place of what was known of it; a full window leaves it to its cursor instead. */
  put(row: QueuedPurchase): void;
  knows(id: number): boolean;
  /** The row is gone: whatever comes back of it is dropped. */
  remove(id: number): void;
  /** The earliest entry that is due, made busy; null when none is. */
  take(now: Instant): Entry | null;
  /** The first of some purchases that is in memory, idle and usable, due or not, made busy; null when none is. */
  takeOneOf(ids: readonly number[], isUsable: (purchase: Purchase) => boolean): Entry | null;
  /** When the earliest entry is due; null when there is none. */
  nextDue(): Instant | null;
  /** Where a row must lie for its next poll, and whether its entry stays in memory. */
  place(entry: Entry, nextPollAt: Instant | null): { slot: number | null; stays: boolean };
  /** A busy entry is idle again: it stays with these values, or leaves. */
  settle(entry: Entry, next: { purchase: Purchase; dueAt: Instant; slot: number } | null): void;
  /** Whether the cursor has passed a slot: a row that comes to lie there now is found by nobody. */
  hasPassed(shard: number, slot: number): boolean;
  gain(shards: readonly number[]): void;
  drop(shards: readonly number[]): void;
  /** Cursors that have not read through the slot yet. */
  behind(through: number): Cursor[];
  /** The cursors that `behind` gave have been read from, to where the others stand now. One that was set back meanwhile stays there. */
  moved(from: readonly Cursor[], to: readonly Cursor[], through: number): void;
  /** More is due than fits: entries that are polled make room instead of staying. */
  setPressure(pressure: boolean): void;
  pressed(): boolean;
}

/** Whether a row that was read is another version than memory: changed from outside, or written by a poll that memory does not know. */
function isNewer(row: Purchase, known: Purchase): boolean {
  return row.revision !== known.revision || row.polls > known.polls;
}

/** A window on one site's queue. */
export function createWindow({ capacity, epochOf }: { capacity: number; epochOf: (shard: number) => number | null }): Window {
  const entries = new Map<number, Entry>();
  const heap: Heap<Entry> = createHeap<Entry>((a, b) => a.dueAt < b.dueAt);
  const cursors = new Map<number, Cursor>();
  let pressure = false;

  /** Entries that left stay in the heap until they come to its top. */
  const top = (): Entry | undefined => {
    for (;;) {
      const entry = heap.peek();
      if (!entry || (!entry.gone && !entry.busy)) return entry;
      heap.pop();
    }
  };
  const forget = (entry: Entry): void => {
    entry.gone = true;
    entries.delete(entry.purchase.id);
  };
  /** Lets the cursor come by a row again. What it passes a second time is known, or is read anew. */
  const rewind = (shard: number, slot: number, id: number): void => {
    const cursor = cursors.get(shard);
    if (cursor && (cursor.slot > slot || (cursor.slot === slot && cursor.id >= id)))
      cursors.set(shard, { shard, slot, id: id - 1 });
    pressure = true;
  };

  const window: Window = {
    room: () => Math.max(0, capacity - entries.size),
    knows: (id) => entries.has(id),
    remove: (id) => {
      const entry = entries.get(id);
      if (entry) forget(entry);
    },
    put: (row) => {
      const { purchase, nextPollAt, slot } = row;
      const known = entries.get(purchase.id);
      if (known && !isNewer(purchase, known.purchase)) return;
      if (known?.busy) {
        known.newer = row;
        return;
      }
      if (known) forget(known);
      const epoch = epochOf(purchase.shard);
      if (nextPollAt === null || slot === null || epoch === null) return;
      if (entries.size >= capacity) {
        rewind(purchase.shard, slot, purchase.id);
        return;
      }
      const idle = { busy: false, digest: null, strikes: 0, gone: false, newer: null };
      const entry: Entry = { purchase, dueAt: nextPollAt, slot, epoch, ...idle };
      entries.set(purchase.id, entry);
      heap.push(entry);
    },
    take: (now) => {
      const entry = top();
      if (!entry || entry.dueAt > now) return null;
      heap.pop();
      entry.busy = true;
      return entry;
    },
    takeOneOf: (ids, isUsable) => {
      const known = ids.map((id) => entries.get(id)).find((entry) => entry && !entry.busy && isUsable(entry.purchase));
      if (known === undefined) return null;
      // The heap holds the entry somewhere below its top and drops one that is gone, so another takes its place.
      const entry: Entry = { ...known, busy: true };
      known.gone = true;
      entries.set(entry.purchase.id, entry);
      return entry;
    },
    nextDue: () => top()?.dueAt ?? null,
    place: (entry, nextPollAt) => {
      if (nextPollAt === null) return { slot: null, stays: false };
      const slot = dueSlot(nextPollAt);
      const read = cursors.get(entry.purchase.shard)?.slot ?? -1;
      if (slot > read) return { slot, stays: false };
      if (pressure) return { slot: read + 1, stays: false };
      return { slot: Math.min(entry.slot, slot), stays: true };
    },
    settle: (entry, next) => {
      if (entry.gone) return;
      // A row that was read just after it was recorded says no more than the record.
      const newer = entry.newer !== null && next !== null && !isNewer(entry.newer.purchase, next.purchase) ? null : entry.newer;
      entry.busy = false;
      entry.newer = null;
      if (newer !== null || next === null) {
        forget(entry);
        if (newer !== null) window.put(newer);
        return;
      }
      entry.purchase = next.purchase;
      entry.dueAt = next.dueAt;
      entry.slot = next.slot;
      heap.push(entry);
    },
    hasPassed: (shard, slot) => {
      const cursor = cursors.get(shard);
      return cursor !== undefined && slot <= cursor.slot;
    },
    gain: (shards) => {
      for (const shard of shards) cursors.set(shard, { shard, slot: -1, id: 0 });
    },
    drop: (shards) => {
      const dropped = new Set(shards);
      for (const shard of shards) cursors.delete(shard);
      for (const entry of entries.values()) if (dropped.has(entry.purchase.shard)) forget(entry);
    },
    behind: (through) =>
      [...cursors.values()].filter(({ slot, id }) => slot < through || (slot === through && id !== Number.MAX_SAFE_INTEGER)),
    moved: (from, to, through) => {
      from.forEach((cursor, index) => {
        if (cursors.get(cursor.shard) === cursor) cursors.set(cursor.shard, to[index]!);
      });
      pressure = window.behind(through).length > 0;
    },
    setPressure: (value) => {
      pressure = value;
    },
    pressed: () => pressure,
  };
  return window;
}
