/**
 * The due purchases of this replica's shards, in memory and in order. It can be thrown away at any moment: the rows are
 * the truth, and whoever owns a shard next reads them again.
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
  readonly size: number;
  /** Room for more; 0 when full. */
  room(): number;
  /** Takes over a row, in place of what was known of it. */
  put(row: QueuedPurchase): void;
  /** The earliest entry of a site that is due, made busy; null when none is. */
  take(site: string, now: Instant): Entry | null;
  /** When the earliest entry of a site is due; null when there is none. */
  nextDue(site: string): Instant | null;
  /** Where a row must lie for its next poll, and whether its entry stays in memory. */
  place(entry: Entry, nextPollAt: Instant | null): { slot: number | null; stays: boolean };
  /** A busy entry is idle again: it stays with these values, or leaves. */
  settle(entry: Entry, next: { purchase: Purchase; dueAt: Instant; slot: number } | null): void;
  gain(shards: readonly number[]): void;
  drop(shards: readonly number[]): void;
  /** Cursors that have not read through the slot yet. */
  behind(through: number): Cursor[];
  moved(cursors: readonly Cursor[], through: number): void;
  /** More is due than fits: entries that are polled make room instead of staying. */
  setPressure(pressure: boolean): void;
  pressed(): boolean;
}

export function createWindow({ capacity, epochOf }: { capacity: number; epochOf: (shard: number) => number | null }): Window {
  const entries = new Map<number, Entry>();
  const heaps = new Map<string, Heap<Entry>>();
  const cursors = new Map<number, Cursor>();
  let pressure = false;

  const heapOf = (site: string): Heap<Entry> => {
    let heap = heaps.get(site);
    if (!heap) {
      heap = createHeap<Entry>((a, b) => a.dueAt < b.dueAt);
      heaps.set(site, heap);
    }
    return heap;
  };
  /** Entries that left stay in the heap until they come to its top. */
  const top = (site: string): Entry | undefined => {
    const heap = heapOf(site);
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

  const window: Window = {
    get size() {
      return entries.size;
    },
    room: () => Math.max(0, capacity - entries.size),
    put: (row) => {
      const { purchase, nextPollAt, slot } = row;
      const known = entries.get(purchase.id);
      // Only its owner writes a purchase, so memory is newer than a row read before, unless somebody outside raised the revision.
      if (known && known.purchase.revision === purchase.revision) return;
      if (known?.busy) {
        known.newer = row;
        return;
      }
      if (known) forget(known);
      const epoch = epochOf(purchase.shard);
      if (nextPollAt === null || slot === null || epoch === null) return;
      const entry: Entry = {
        purchase,
        dueAt: nextPollAt,
        slot,
        epoch,
        busy: false,
        digest: null,
        strikes: 0,
        gone: false,
        newer: null,
      };
      entries.set(purchase.id, entry);
      heapOf(purchase.site).push(entry);
    },
    take: (site, now) => {
      const entry = top(site);
      if (!entry || entry.dueAt > now) return null;
      heapOf(site).pop();
      entry.busy = true;
      return entry;
    },
    nextDue: (site) => top(site)?.dueAt ?? null,
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
      const { newer } = entry;
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
      heapOf(entry.purchase.site).push(entry);
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
    moved: (read, through) => {
      for (const cursor of read) if (cursors.has(cursor.shard)) cursors.set(cursor.shard, cursor);
      pressure = window.behind(through).length > 0;
    },
    setPressure: (value) => {
      pressure = value;
    },
    pressed: () => pressure,
  };
  return window;
}
