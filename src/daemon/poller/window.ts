/**
 * The due purchases of one site in this replica's shards, in memory and in order. It can be thrown away at any moment:
 * the rows are the truth, and the next owner of a shard reads them again.
 *
 * Each shard has a cursor: every row at or before it in (slot, id) order is in memory, or has been put beyond it. After a
 * poll, a purchase that is due again within what the cursor has passed stays in memory and its row keeps its slot, so the
 * queue's index is not touched; one that is due later leaves memory and is written with its true slot, where the cursor
 * comes to it.
 *
 * A full window holds what is due first: purchases of later slots leave it, and their cursors move back to them. While
 * something due has no room (pressure), a purchase leaves memory with its poll, for a later slot than the present one.
 */

import type { Purchase } from '../../domain/purchases/purchase.ts';
import type { Instant } from '../../domain/values/time.ts';
import { type Cursor, dueSlot, type QueuedPurchase } from '../../postgres/polling/queue.ts';
import { createHeap, type Heap } from './heap.ts';

export interface Entry {
  purchase: Purchase;
  dueAt: Instant;
  /** Of the row in the queue. */
  slot: number;
  /** The shard's epoch when the entry was loaded. */
  readonly epoch: number;
  /** Being polled or recorded: not in the heap. */
  busy: boolean;
  /** Digest of the last good answer, to recognise the same one; null when none is known. */
  digest: string | null;
  /** Failures in a row that looked like the site's. */
  strikes: number;
  /** The shard was lost or the purchase erased: its answer is dropped. */
  gone: boolean;
  /** The row as it was read while this entry was busy; it replaces the entry afterwards. */
  newer: QueuedPurchase | null;
}

export interface Window {
  /** Room for more; 0 when full. */
  room(): number;
  /** The part of the room for purchases that are not due yet. */
  roomAhead(): number;
  /** Evicts purchases of later slots than this one if there is less room than wanted; answers the room. */
  makeRoom(wanted: number, slot: number): number;
  /** Takes over a row in place of an older version. A row beyond its cursor, or without room, is left to the cursor. */
  put(row: QueuedPurchase): void;
  knows(id: number): boolean;
  /** Drops a purchase whose row is gone; its answer is dropped too. */
  remove(id: number): void;
  /** The earliest entry that is due, made busy; null when none is. */
  take(now: Instant): Entry | null;
  /** The first of some purchases that is in memory, idle and usable, due or not, made busy; null when none is. */
  takeOneOf(ids: readonly number[], isUsable: (purchase: Purchase) => boolean): Entry | null;
  /** When the earliest entry is due; null when there is none. */
  nextDue(): Instant | null;
  /** Where a row must lie for its next poll, and whether its entry stays in memory. */
  place(entry: Entry, nextPollAt: Instant | null, now: Instant): { slot: number | null; stays: boolean };
  /** A busy entry is idle again: it stays with these values, or leaves. */
  settle(entry: Entry, next: { purchase: Purchase; dueAt: Instant; slot: number } | null): void;
  /** Whether the cursor has passed a place: a row that is written there now must be loaded by id. */
  hasPassed(shard: number, slot: number, id: number): boolean;
  /** Moves the cursor of a shard back, so that it comes to this place again. Rows that it passes twice are known or loaded again. */
  rewind(shard: number, slot: number, id: number): void;
  gain(shards: readonly number[]): void;
  drop(shards: readonly number[]): void;
  /** Cursors that have not read through the slot yet. */
  behind(through: number): Cursor[];
  /** Moves the cursors that `behind` gave to where the read ended. A cursor that was moved back meanwhile stays there. */
  moved(from: readonly Cursor[], to: readonly Cursor[]): void;
  /** Sets that something due has no room: polled purchases then leave memory instead of staying. */
  setPressure(pressure: boolean): void;
  pressed(): boolean;
  /** Whether something due had no room, and polls have made some. */
  hasRoomAgain(): boolean;
}

/** A cursor with this id has read its whole slot. */
const END = Number.MAX_SAFE_INTEGER;
/** The part of a window for purchases that are not due yet; the rest is for those that a change from outside makes due. */
const AHEAD = 3 / 4;

/** Whether a row is another version than memory: changed from outside, or written by a poll that memory does not know. */
function isNewer(row: Purchase, known: Purchase): boolean {
  return row.revision !== known.revision || row.polls > known.polls;
}

/** A window on one site's queue. */
export function createWindow({ capacity, epochOf }: { capacity: number; epochOf: (shard: number) => number | null }): Window {
  const entries = new Map<number, Entry>();
  const emptyHeap = (): Heap<Entry> => createHeap<Entry>((a, b) => a.dueAt < b.dueAt);
  let heap = emptyHeap();
  const cursors = new Map<number, Cursor>();
  let pressure = false;
  /** Every cursor has read through this slot, so that a window with nothing to read costs nothing. */
  let complete = -1;
  /** No entry that could be evicted lies in a later slot. */
  let latest = -1;

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
  const passed = (shard: number, slot: number, id: number): boolean => {
    const cursor = cursors.get(shard);
    return cursor !== undefined && (slot < cursor.slot || (slot === cursor.slot && id <= cursor.id));
  };
  const rewind = (shard: number, slot: number, id: number): void => {
    if (!passed(shard, slot, id)) return;
    cursors.set(shard, { shard, slot, id: id - 1 });
    complete = Math.min(complete, slot - 1);
  };
  /**
   * Only entries whose slot is that of their due time: to a row with an earlier slot, or whose next try only memory knows,
   * the cursor would come too early.
   */
  const evict = (slot: number): void => {
    if (latest <= slot) return;
    heap = emptyHeap();
    for (const entry of entries.values()) {
      if (entry.busy) continue;
      if (entry.slot <= slot || dueSlot(entry.dueAt) !== entry.slot) heap.push(entry);
      else {
        forget(entry);
        rewind(entry.purchase.shard, entry.slot, entry.purchase.id);
      }
    }
    latest = slot;
  };

  const window: Window = {
    room: () => Math.max(0, capacity - entries.size),
    roomAhead: () => Math.max(0, Math.ceil(capacity * AHEAD) - entries.size),
    makeRoom: (wanted, slot) => {
      if (window.room() < wanted) evict(slot);
      return window.room();
    },
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
      if (nextPollAt === null || slot === null || epoch === null || !passed(purchase.shard, slot, purchase.id)) return;
      if (window.makeRoom(1, slot) === 0) {
        rewind(purchase.shard, slot, purchase.id);
        pressure = true;
        return;
      }
      latest = Math.max(latest, slot);
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
    place: (entry, nextPollAt, now) => {
      if (nextPollAt === null) return { slot: null, stays: false };
      const slot = dueSlot(nextPollAt);
      // Not in the present slot again: purchases that are due in it and have no room yet come first.
      if (pressure) return { slot: Math.max(slot, dueSlot(now) + 1), stays: false };
      if (!passed(entry.purchase.shard, slot, entry.purchase.id)) return { slot, stays: false };
      // In a window that fills up, a row is written where its purchase is due, so that it can be evicted.
      return { slot: window.roomAhead() > 0 ? Math.min(entry.slot, slot) : slot, stays: true };
    },
    settle: (entry, next) => {
      if (entry.gone) return;
      // A row that was read just after its record holds the same values as the record.
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
      latest = Math.max(latest, entry.slot);
      heap.push(entry);
    },
    hasPassed: passed,
    rewind,
    gain: (shards) => {
      if (shards.length > 0) complete = -1;
      for (const shard of shards) cursors.set(shard, { shard, slot: -1, id: 0 });
    },
    drop: (shards) => {
      const dropped = new Set(shards);
      for (const shard of shards) cursors.delete(shard);
      for (const entry of entries.values()) if (dropped.has(entry.purchase.shard)) forget(entry);
    },
    behind: (through) => {
      if (through <= complete) return [];
      const behind = [...cursors.values()].filter(
        (cursor) => cursor.slot < through || (cursor.slot === through && cursor.id !== END),
      );
      if (behind.length === 0) complete = through;
      return behind;
    },
    moved: (from, to) => {
      from.forEach((cursor, index) => {
        if (cursors.get(cursor.shard) === cursor) cursors.set(cursor.shard, to[index]!);
      });
    },
    setPressure: (value) => {
      pressure = value;
    },
    pressed: () => pressure,
    hasRoomAgain: () => pressure && window.roomAhead() > 0,
  };
  return window;
}
