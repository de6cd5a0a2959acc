/** Purchases of one site in memory, by id and by the time at which they are due. */
import TinyQueue from 'tinyqueue';
import type { Purchase } from '../../../domain/purchases/purchase.ts';
import type { Instant } from '../../../domain/values/time.ts';
import { dueSlot, type QueuedPurchase } from '../../../postgres/polling/queue.ts';

export interface Entry {
  /** `putBack` changes this object: code that needs the values for longer than a poll copies them. */
  readonly purchase: Purchase;
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

/** What a busy entry becomes. */
export type Next = Pick<Entry, 'purchase' | 'dueAt' | 'slot'>;

export interface Entries {
  readonly size: number;
  get(id: number): Entry | undefined;
  add(entry: Entry): void;
  /** Drops an entry; an answer about its purchase is dropped too. */
  remove(entry: Entry): void;
  removeShards(shards: readonly number[]): void;
  /** The earliest entry that is due, made busy; null when none is. */
  take(now: Instant): Entry | null;
  /** The first of some purchases that is in memory, idle and usable, due or not, made busy; null when none is. */
  takeOneOf(ids: readonly number[], isUsable: (purchase: Purchase) => boolean): Entry | null;
  /** When the earliest idle entry is due; null when there is none. */
  nextDue(): Instant | null;
  /** Makes a busy entry idle again, with new values. */
  putBack(entry: Entry, next: Next): void;
  /** Removes the idle entries of later slots than this one; answers them. */
  evict(slot: number): Entry[];
}

/** No entries. */
export function createEntries(): Entries {
  const entries = new Map<number, Entry>();
  const emptyHeap = () => new TinyQueue<Entry>([], (a, b) => a.dueAt - b.dueAt);
  let heap = emptyHeap();
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
  const push = (entry: Entry): void => {
    latest = Math.max(latest, entry.slot);
    heap.push(entry);
  };
  const remove = (entry: Entry): void => {
    entry.gone = true;
    entries.delete(entry.purchase.id);
  };

  return {
    get size() {
      return entries.size;
    },
    get: (id) => entries.get(id),
    add: (entry) => {
      entries.set(entry.purchase.id, entry);
      push(entry);
    },
    remove,
    removeShards: (shards) => {
      const removed = new Set(shards);
      for (const entry of entries.values()) if (removed.has(entry.purchase.shard)) remove(entry);
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
    putBack: (entry, { purchase, dueAt, slot }) => {
      entry.busy = false;
      // In place of the old object, which has long been in the heap's old generation: a new one for each poll would be garbage
      // there after the next poll, which only a collection of the whole heap removes.
      Object.assign(entry.purchase, purchase);
      entry.dueAt = dueAt;
      entry.slot = slot;
      push(entry);
    },
    evict: (slot) => {
      if (latest <= slot) return [];
      const evicted: Entry[] = [];
      heap = emptyHeap();
      for (const entry of entries.values()) {
        if (entry.busy) continue;
        if (isBeyond(entry, slot)) evicted.push(entry);
        else heap.push(entry);
      }
      for (const entry of evicted) remove(entry);
      latest = slot;
      return evicted;
    },
  };
}

/**
 * Whether the cursor can come to an entry of a later slot again. Only if its slot is that of its due time: to a row with an
 * earlier slot, or whose next try only memory knows, the cursor would come too early.
 */
function isBeyond({ slot: own, dueAt }: Entry, slot: number): boolean {
  return own > slot && dueSlot(dueAt) === own;
}
