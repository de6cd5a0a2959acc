/**
 * How many deliveries are in flight in all, shared fairly: each subscriber has slots of its own that nobody can take, and
 * may borrow from a common part beyond them. Subscribers that keep their slots long, dead or slow, take nothing from others.
 */

export type Slot = 'own' | 'borrowed';

export interface Slots {
  /** A slot for one that has so many in flight already, or null when it has to wait for a borrowed one. */
  take(inFlight: number): Slot | null;
  give(slot: Slot): void;
}

/** `most` in all, half of them to be borrowed; `parties` counts who shares. */
export function createSlots(most: number, parties: () => number): Slots {
  const common = Math.ceil(most / 2);
  let borrowed = 0;
  return {
    take: (inFlight) => {
      if (inFlight < Math.max(Math.floor((most - common) / Math.max(parties(), 1)), 1)) return 'own';
      if (borrowed >= common) return null;
      borrowed += 1;
      return 'borrowed';
    },
    give: (slot) => {
      if (slot === 'borrowed') borrowed -= 1;
    },
  };
}
