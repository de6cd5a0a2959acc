/** How far each shard's queue of one site has been read, in (slot, id) order. */
import type { Cursor } from '../../../postgres/polling/queue.ts';

export type Cursors = ReturnType<typeof createCursors>;

/** A cursor with this id has read its whole slot. */
const END = Number.MAX_SAFE_INTEGER;

/** No cursor: a shard has one from `gain` to `drop`. The queue begins after the slot `before`. */
export function createCursors(before = -1) {
  const cursors = new Map<number, Cursor>();
  /** Every cursor has read through this slot, so that a queue with nothing to read costs nothing. */
  let complete = before;
  const hasPassed = (shard: number, slot: number, id: number): boolean => {
    const cursor = cursors.get(shard);
    return cursor !== undefined && (slot < cursor.slot || (slot === cursor.slot && id <= cursor.id));
  };
  return {
    /** Whether a shard's cursor has passed a place: a row that is written there now must be loaded by id. */
    hasPassed,
    /** Moves the cursor of a shard back, so that it comes to this place again. Rows that it passes twice are known or loaded again. */
    rewind: (shard: number, slot: number, id: number): void => {
      if (!hasPassed(shard, slot, id)) return;
      cursors.set(shard, { shard, slot, id: id - 1 });
      complete = Math.min(complete, slot - 1);
    },
    /** Begins to read these shards from their first slot. */
    gain: (shards: readonly number[]): void => {
      complete = before;
      for (const shard of shards) cursors.set(shard, { shard, slot: before, id: 0 });
    },
    drop: (shards: readonly number[]): void => {
      for (const shard of shards) cursors.delete(shard);
    },
    /** Cursors that have not read through the slot yet. */
    behind: (through: number): Cursor[] => {
      if (through <= complete) return [];
      const behind = [...cursors.values()].filter(({ slot, id }) => slot < through || (slot === through && id !== END));
      if (behind.length === 0) complete = through;
      return behind;
    },
    /** Moves the cursors that `behind` gave to where the read ended. A cursor that was moved back meanwhile stays there. */
    moved: (from: readonly Cursor[], to: readonly Cursor[]): void => {
      from.forEach((cursor, index) => {
        if (cursors.get(cursor.shard) === cursor) cursors.set(cursor.shard, to[index]!);
      });
    },
  };
}
