/**
 * How many deliveries are in flight in all, shared fairly: each subscriber has slots of its own that nobody can take, and
 * may borrow from a common part beyond them. Subscribers that keep their slots long, dead or slow, take nothing from others.
 */

export interface Slots<Party extends object> {
  /** Takes a slot; false when it has to wait for one to borrow. */
  take(party: Party): boolean;
  /** Gives one back; whether somebody can borrow it now. */
  give(party: Party): boolean;
}

/** `most` in all, half of them to be borrowed; `parties` counts who shares. Everybody has one, however many they are. */
export function createSlots<Party extends object>(most: number, parties: () => number): Slots<Party> {
  const common = Math.ceil(most / 2);
  const taken = new Map<Party, number>();
  let own = most - common;
  let borrowed = 0;

  /** The share of each changes with their number, and with it who borrows how many. */
  const share = (): void => {
    const now = Math.max(Math.floor((most - common) / Math.max(parties(), 1)), 1);
    if (now === own) return;
    own = now;
    borrowed = 0;
    for (const count of taken.values()) borrowed += Math.max(count - own, 0);
  };

  return {
    take: (party) => {
      share();
      const count = taken.get(party) ?? 0;
      if (count >= own) {
        if (borrowed >= common) return false;
        borrowed += 1;
      }
      taken.set(party, count + 1);
      return true;
    },
    give: (party) => {
      const count = taken.get(party) ?? 0;
      if (count <= 1) taken.delete(party);
      else taken.set(party, count - 1);
      if (count <= own) return false;
      borrowed -= 1;
      return true;
    },
  };
}
