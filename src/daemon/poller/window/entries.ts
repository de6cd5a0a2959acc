/** Purchases of one site in memory, by id, by rank and by the time at which they are due. */
import { type PollRank, pollRank } from '../../../domain/polling/poll-rank.ts';
import type { Purchase } from '../../../domain/purchases/purchase.ts';
import type { Instant } from '../../../domain/values/time.ts';
import { dueSlot, isBulkSlot, type QueuedPurchase } from '../../../postgres/polling/queue.ts';
import { createRankedHeaps } from './ranked-heaps.ts';

export interface Entry {
  /** `putBack` changes this object: code that needs the values for longer than a poll copies them. */
  readonly purchase: Purchase;
  dueAt: Instant;
  /** Of the row in the queue. */
  slot: number;
  rank: PollRank;
  /** Whether it was registered together with many others. */
  readonly isBulk: boolean;
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

/** The fields that a busy entry gets when it is put back. */
export type Next = Pick<Entry, 'purchase' | 'dueAt' | 'slot'>;

/** Each kind has room of its own: purchases that go first, purchases of a bulk registration before their first poll, and all others. */
export type EntryKind = 'urgent' | 'ordinary' | 'bulk';

export type Entries = ReturnType<typeof createEntries>;

export function createEntries() {
  const entries = new Map<number, Entry>();
  const counts: Record<EntryKind, number> = { urgent: 0, ordinary: 0, bulk: 0 };
  const heaps = createRankedHeaps<Entry>();
  /** No entry that could be evicted lies in a later slot. */
  let latest = 0;

  const push = (entry: Entry): void => {
    if (kindOf(entry) === 'ordinary') latest = Math.max(latest, entry.slot);
    heaps.push(entry);
  };
  const remove = (entry: Entry): void => {
    entry.gone = true;
    if (entries.delete(entry.purchase.id)) counts[kindOf(entry)] -= 1;
  };

  return {
    count: (kind: EntryKind): number => counts[kind],
    /** Of all kinds. */
    size: (): number => entries.size,
    get: (id: number): Entry | undefined => entries.get(id),
    add: (entry: Entry): void => {
      entries.set(entry.purchase.id, entry);
      counts[kindOf(entry)] += 1;
      push(entry);
    },
    /** Drops an entry; an answer about its purchase is dropped too. */
    remove,
    removeShards: (shards: readonly number[]): void => {
      const removed = new Set(shards);
      for (const entry of entries.values()) if (removed.has(entry.purchase.shard)) remove(entry);
    },
    /** Of the entries that are due, the earliest of the rank whose turn it is, made busy; null when none is. */
    take: (now: Instant): Entry | null => {
      const entry = heaps.pop(now);
      if (entry !== null) entry.busy = true;
      return entry;
    },
    /** A poll has left: another rank may have its turn. */
    nextTurn: heaps.nextTurn,
    /** The first of some purchases that is in memory, idle and usable, due or not, made busy; null when none is. */
    takeOneOf: (ids: readonly number[], isUsable: (purchase: Purchase) => boolean): Entry | null => {
      const known = ids.map((id) => entries.get(id)).find((entry) => entry && !entry.busy && isUsable(entry.purchase));
      if (known === undefined) return null;
      // The heap holds the entry somewhere below its top and drops one that is gone, so another takes its place.
      const entry: Entry = { ...known, busy: true };
      known.gone = true;
      entries.set(entry.purchase.id, entry);
      return entry;
    },
    /** When the earliest idle entry is due; null when there is none. */
    nextDue: heaps.nextDue,
    /** Makes a busy entry idle again, with new values. */
    putBack: (entry: Entry, { purchase, dueAt, slot }: Next): void => {
      entry.busy = false;
      counts[kindOf(entry)] -= 1;
      // Asked for, or the first one, until the poll is recorded.
      if (purchase.polls > entry.purchase.polls)
        entry.rank = pollRank({ reason: null, state: purchase.state, isBulk: entry.isBulk });
      // In place of the old object, which has long been in the heap's old generation: a new one for each poll would be garbage
      // there after the next poll, which only a collection of the whole heap removes.
      Object.assign(entry.purchase, purchase);
      entry.dueAt = dueAt;
      entry.slot = slot;
      counts[kindOf(entry)] += 1;
      push(entry);
    },
    /** Removes the idle ordinary entries of later slots than this one; answers them. */
    evict: (slot: number): Entry[] => {
      if (latest <= slot) return [];
      const evicted: Entry[] = [];
      heaps.clear();
      for (const entry of entries.values()) {
        if (entry.busy) continue;
        if (kindOf(entry) === 'ordinary' && isBeyond(entry, slot)) evicted.push(entry);
        else heaps.push(entry);
      }
      for (const entry of evicted) remove(entry);
      latest = slot;
      return evicted;
    },
  };
}

function kindOf({ rank, slot }: Pick<Entry, 'rank' | 'slot'>): EntryKind {
  if (rank === 0) return 'urgent';
  return isBulkSlot(slot) ? 'bulk' : 'ordinary';
}

/**
 * Whether the cursor can come to an entry of a later slot again. Only if its slot is that of its due time: to a row with an
 * earlier slot, or whose next try only memory knows, the cursor would come too early.
 */
function isBeyond({ slot: own, dueAt }: Entry, slot: number): boolean {
  return own > slot && dueSlot(dueAt) === own;
}
