/** Fills the memory of subscribers from the outbox: for all that have room in one statement, because it follows every commit. */
import type { Ownership } from '../core/ownership.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Sql } from '../store/database.ts';
import { type LaneHead, loadDueDeliveries, putOff, RANKS, type Rank } from '../store/deliveries.ts';
import type { Ladder } from './ladder.ts';
import type { Outlet } from './outlet.ts';

/** Deliveries in memory, of one subscriber and of all, at most. */
const MOST_OF_ONE = 4_096;
const MOST_IN_MEMORY = 16_384;
/** One that is tried, or begins slowly, needs no more than this many for each delivery it may have in flight. */
const PER_FLIGHT = 64;
const LEAST = 16;

export interface Loader {
  /** Reads what is due for those who have room. `late` also reads what is not new. */
  load(outlets: readonly Outlet[], late: boolean): Promise<void>;
  /** Whether there is something to read for it, and room. */
  wants(outlet: Outlet, parties: number): boolean;
}

export function createLoader({
  sql,
  clock,
  ownership,
  ladder,
}: {
  sql: Sql;
  clock: Clock;
  ownership: Ownership;
  ladder: Ladder;
}): Loader {
  const capacity = (parties: number): number => Math.min(MOST_OF_ONE, Math.max(Math.floor(MOST_IN_MEMORY / parties), 2 * LEAST));
  const room = (outlet: Outlet, parties: number): number => {
    const most = capacity(parties);
    // In halves: a little room is not worth a question.
    if (ladder.pausedUntil(outlet) !== null || outlet.size >= most / 2) return 0;
    return Math.min(most - outlet.size, Math.max(PER_FLIGHT * outlet.standing.allowance, LEAST));
  };

  return {
    wants: (outlet, parties) => outlet.mayHoldMore && room(outlet, parties) > 0,
    load: async (outlets, late) => {
      const shards = ownership.owned();
      const parties = Math.max(outlets.length, 1);
      const chosen = new Map<number, Outlet>();
      const wanted = [];
      for (const outlet of outlets) {
        const free = shards.length === 0 ? 0 : room(outlet, parties);
        // Whoever makes room looks again; gaining a shard does too.
        if (free === 0) outlet.mayHoldMore = shards.length > 0;
        else {
          outlet.mayHoldMore = false;
          chosen.set(outlet.recipient.id, outlet);
          wanted.push({ subscriber: outlet.recipient.id, room: free });
        }
      }
      const now = clock.now();
      const except = [...chosen.values()].flatMap((outlet) => [...outlet.ids()]);
      const ranks: readonly Rank[] = late ? RANKS : [0];
      const { rows, more } = await loadDueDeliveries(sql, { wanted, except }, { shards, ranks, now });
      const blocked: LaneHead[] = [];
      for (const row of rows) {
        const outlet = chosen.get(row.subscriber)!;
        // It was paused meanwhile, and forgot what waits.
        if (ladder.pausedUntil(outlet) !== null) outlet.mayHoldMore = true;
        else if (outlet.has(row.id)) continue;
        else if (row.behind === null || outlet.has(row.behind.id)) outlet.add(row);
        else {
          // Its blocker was settled just now, or is due itself and was beyond the limit.
          if (row.behind.dueAt <= now) outlet.mayHoldMore = true;
          const { subscriber, lane, rank, position, behind } = row;
          blocked.push({ subscriber, lane, rank, position: position - 1, dueAt: behind.dueAt });
        }
      }
      for (const id of more) chosen.get(id)!.mayHoldMore = true;
      await putOff(sql, blocked);
    },
  };
}
