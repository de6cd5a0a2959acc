/** The order among a subscriber's lanes: by rank, and within a rank first come, first served. */
import { type DueDelivery, RANKS, type Rank } from '../../../postgres/deliveries/deliveries.ts';
import { createQueue } from './queue.ts';

export interface Lane {
  readonly id: number;
  readonly waiting: DueDelivery[];
  /** How many deliveries at the front are being sent. */
  sending: number;
  /** The list of ready lanes in which the lane stands; null while it is being sent, or dropped. Written by this file alone. */
  readyAt: Rank | null;
}

/** One in so many deliveries is a retry or replay, if one waits, so that new ones never starve them. */
const TURN_OF_THE_LATE = 8;
const LATE_FIRST: readonly Rank[] = [1, 2, 0];

export function createReadyLanes() {
  /** Some entries are stale: see `readyAt`. */
  const ready = RANKS.map(() => createQueue<Lane>());
  let count = 0;
  let turn = 0;

  const remove = (lane: Lane): void => {
    if (lane.readyAt !== null) count -= 1;
    lane.readyAt = null;
  };
  const take = (rank: Rank): Lane | null => {
    for (let lane = ready[rank]!.shift(); lane !== undefined; lane = ready[rank]!.shift()) {
      if (lane.readyAt !== rank) continue;
      remove(lane);
      return lane;
    }
    return null;
  };

  return {
    get isEmpty() {
      return count === 0;
    },
    /** Adds a lane whose first delivery may be sent, behind the others of its rank or in front of them. */
    add: (lane: Lane, isFirst: boolean = false): void => {
      const rank = lane.waiting[0]!.rank;
      if (lane.readyAt === rank) return;
      if (lane.readyAt === null) count += 1;
      lane.readyAt = rank;
      if (isFirst) ready[rank]!.unshift(lane);
      else ready[rank]!.push(lane);
    },
    remove,
    /** Takes the next lane; `late`: how many retries or replays may start. */
    next: (late: number): Lane | null => {
      turn += 1;
      if (late <= 0) return take(0);
      for (const rank of turn % TURN_OF_THE_LATE === 0 ? LATE_FIRST : RANKS) {
        const lane = take(rank);
        if (lane) return lane;
      }
      return null;
    },
  };
}
