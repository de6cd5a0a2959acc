/**
 * The due purchases of one site in this replica's shards, in memory and in order. It can be thrown away at any moment:
 * the rows are the truth, and the next owner of a shard reads them again.
 *
 * Each shard has a cursor: every row at or before it in (slot, id) order is in memory, or has been put beyond it. After a
 * poll, a purchase that is due again within what the cursor has passed, or soon while memory has room, stays in memory and its
 * row keeps its slot, so the queue's index is not touched; one that is due later leaves memory and is written with its true slot,
 * where the cursor comes to it.
 *
 * A full window holds what is due first: purchases of later slots leave it, and their cursors move back to them. While
 * something due has no room (pressure), a purchase leaves memory with its poll, for a later slot than the present one.
 *
 * Purchases that go first enter memory ahead of their cursor. First polls of bulk registrations have a queue, cursors and room of
 * their own, so that neither waits for the other.
 */

import { pollRank } from '../../../domain/polling/poll-rank.ts';
import type { Purchase } from '../../../domain/purchases/purchase.ts';
import type { Instant, Milliseconds } from '../../../domain/values/time.ts';
import { FIRST_BULK_SLOT } from '../../../postgres/migrations/names.ts';
import { type BulkBegin, dueSlot, isBulkSlot, LAST_SLOT, type QueuedPurchase } from '../../../postgres/polling/queue.ts';
import { type Cursors, createCursors } from './cursors.ts';
import { createEntries, type Entries, type Entry, type EntryKind, type Next } from './entries.ts';

export type Window = ReturnType<typeof createWindow>;

/** The part of a window for purchases that are not due yet; the rest is for those that a change from outside makes due. */
const AHEAD = 3 / 4;
/**
 * A purchase that is due again within this time stays in memory while a window holds less than this part of its capacity: its row is
 * not read again, and the write of its poll touches no index. Readers of the queue by slot read past such rows.
 */
const KEPT_WITHIN: Milliseconds = 120_000;
const KEPT = 1 / 8;
/** Room for first polls of bulk registrations, and for what goes first: each so much of the other room, and no less than this. */
export const BESIDE = 1 / 8;
const LEAST_BESIDE = 64;

/** Whether the id was handed out again, by a database that went back: the row is another purchase than memory's. */
const isAnother = (row: Purchase, known: Purchase): boolean => row.purchaseId !== known.purchaseId;

/** Whether a row is another version than memory: changed from outside, or written by a poll that memory does not know. */
function isNewer(row: Purchase, known: Purchase): boolean {
  return row.revision !== known.revision || row.polls > known.polls;
}

export interface WindowOptions {
  /** Purchases at most, without what goes first and first polls of bulk registrations. */
  readonly capacity: number;
  readonly epochOf: (shard: number) => number | null;
  readonly now: () => Instant;
}

const IDLE = { busy: false, digest: null, strikes: 0, gone: false, newer: null };

/** A window on one site's queue. */
export function createWindow(options: WindowOptions) {
  const entries = createEntries();
  const cursors = createCursors();
  const bulk = createCursors(FIRST_BULK_SLOT - 1);
  const rooms = roomsOf(entries, options.capacity);
  const entrance = createEntrance(entries, { cursors, bulk }, rooms, options);
  const { put, pressed } = entrance;
  const { roomAhead, roomForBulk, roomToKeep } = rooms;

  return {
    ...cursors,
    take: entries.take,
    nextTurn: entries.nextTurn,
    takeOneOf: entries.takeOneOf,
    nextDue: entries.nextDue,
    /** The queue of first polls of bulk registrations. */
    bulk,
    /** Notes that a bulk registration added rows to the queue. */
    bulkBegins: ({ shard, slot, id }: BulkBegin): void => bulk.rewind(shard, slot, id),
    gain: (shards: readonly number[]): void => {
      cursors.gain(shards);
      bulk.gain(shards);
    },
    ...rooms,
    ...entrance,
    isEmpty: (): boolean => entries.size() === 0,
    knows: (id: number): boolean => entries.get(id) !== undefined,
    /** Drops a purchase whose row is gone; its answer is dropped too. */
    remove: (id: number): void => {
      const entry = entries.get(id);
      if (entry) entries.remove(entry);
    },
    /** Where a row must lie for its next poll, and whether its entry stays in memory. */
    place: (entry: Entry, nextPollAt: Instant | null, now: Instant): { slot: number | null; stays: boolean } => {
      if (nextPollAt === null) return { slot: null, stays: false };
      const slot = dueSlot(nextPollAt);
      const { id, shard } = entry.purchase;
      // Not in the present slot again: purchases that are due in it and have no room yet come first.
      if (pressed()) return { slot: Math.max(slot, dueSlot(now) + 1), stays: false };
      if (!cursors.hasPassed(shard, slot, id)) {
        const isKept = nextPollAt - now <= KEPT_WITHIN && roomToKeep() > 0 && cursors.hasPassed(shard, entry.slot, id);
        return { slot: isKept ? entry.slot : slot, stays: isKept };
      }
      // In a window that fills up, a row is written where its purchase is due, so that it can be evicted.
      return { slot: roomAhead() > 0 ? Math.min(entry.slot, slot) : slot, stays: true };
    },
    /** A busy entry is idle again: it stays with these values, or leaves. */
    settle: (entry: Entry, next: Next | null): void => {
      if (entry.gone) return;
      const { newer } = entry;
      entry.newer = null;
      if (next === null) entries.remove(entry);
      else entries.putBack(entry, next);
      // One that was read just after the entry's record holds the same values as the record, and is left alone.
      if (newer !== null) put(newer);
    },
    /** Drops shards with their purchases. */
    drop: (shards: readonly number[]): void => {
      cursors.drop(shards);
      bulk.drop(shards);
      entries.removeShards(shards);
    },
    /** Whether something due, or of a bulk registration, had no room, and polls have made some. */
    hasRoomAgain: (): boolean => (pressed() && roomAhead() > 0) || (roomForBulk() > 0 && bulk.behind(LAST_SLOT).length > 0),
  };
}

type Queues = Readonly<Record<'cursors' | 'bulk', Cursors>>;
type Rooms = ReturnType<typeof roomsOf>;

/** Lets rows into memory. While something due has no room (`pressed`), polled purchases leave memory instead of staying. */
function createEntrance(entries: Entries, { cursors, bulk }: Queues, { room, roomFor }: Rooms, { epochOf, now }: WindowOptions) {
  let pressure = false;
  /** Evicts purchases of later slots than this one if there is less room than wanted; answers the room. */
  const makeRoom = (wanted: number, slot: number): number => {
    if (room() >= wanted) return room();
    for (const { purchase, slot: own } of entries.evict(slot)) cursors.rewind(purchase.shard, own, purchase.id);
    return room();
  };
  /** Whether a row may enter memory by its place in its queue. Without room, its cursor moves back to the row. */
  const isPassedWithRoom = (slot: number, { shard, id }: Purchase): boolean => {
    const own = isBulkSlot(slot) ? bulk : cursors;
    if (!own.hasPassed(shard, slot, id)) return false;
    if ((own === bulk ? roomFor('bulk') : makeRoom(1, slot)) > 0) return true;
    own.rewind(shard, slot, id);
    pressure ||= own === cursors;
    return false;
  };
  /** Takes over a row in place of an older version. A row beyond its cursor that does not go first, or without room, is left to the cursor. */
  const put = (row: QueuedPurchase): void => {
    const { purchase, nextPollAt, slot } = row;
    const { id, shard } = purchase;
    const known = entries.get(id);
    // The answer about a purchase that the database does not know any more is dropped.
    if (known && isAnother(purchase, known.purchase)) entries.remove(known);
    else if (known && !isNewer(purchase, known.purchase)) return;
    else if (known?.busy) {
      known.newer = row;
      return;
    } else if (known) entries.remove(known);
    const epoch = epochOf(shard);
    if (nextPollAt === null || slot === null || epoch === null) return;
    const rank = pollRank({ ...row, state: purchase.state });
    const isUrgent = rank === 0 && slot <= dueSlot(now()) + 1 && roomFor('urgent') > 0;
    if (!isUrgent && !isPassedWithRoom(slot, purchase)) return;
    entries.add({ ...IDLE, purchase, dueAt: nextPollAt, slot, rank, isBulk: row.isBulk, epoch });
  };
  return {
    makeRoom,
    put,
    pressed: (): boolean => pressure,
    setPressure: (value: boolean): void => {
      pressure = value;
    },
  };
}

function roomsOf({ count }: Pick<Entries, 'count'>, capacity: number) {
  const beside = Math.max(Math.floor(capacity * BESIDE), LEAST_BESIDE);
  const most: Readonly<Record<EntryKind, number>> = { urgent: beside, ordinary: capacity, bulk: beside };
  const roomFor = (kind: EntryKind): number => Math.max(0, most[kind] - count(kind));
  return {
    roomFor,
    /** Room for more; 0 when full. */
    room: () => roomFor('ordinary'),
    /** The part of the room for purchases that are not due yet. */
    roomAhead: () => Math.max(0, Math.ceil(capacity * AHEAD) - count('ordinary')),
    /** Room for purchases whose next poll the cursor has not come to. */
    roomToKeep: () => Math.max(0, Math.ceil(capacity * KEPT) - count('ordinary')),
    /** Room for first polls of bulk registrations; 0 while much of it is taken, because few rows are not worth a statement. */
    roomForBulk: () => (roomFor('bulk') < most.bulk / 2 ? 0 : roomFor('bulk')),
  };
}
