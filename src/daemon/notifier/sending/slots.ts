/**
 * Limits deliveries in flight fairly: each subscriber has slots of its own that no other can take, and may borrow from a
 * common part. Subscribers that hold their slots for long, dead or slow, take nothing from others.
 */

export type Slots = ReturnType<typeof createSlots>;

/** `most` slots in all, half of them to borrow; `parties` counts the subscribers. Each has at least one, however many there are. */
export function createSlots(most: number, parties: () => number) {
  const common = Math.ceil(most / 2);
  const taken = new Map<object, number>();
  let own = 0;
  let borrowed = 0;

  /** Each subscriber's share depends on their number, so borrowed slots are counted again when the number changes. */
  const share = (): void => {
    const now = Math.max(Math.floor((most - common) / Math.max(parties(), 1)), 1);
    if (now === own) return;
    own = now;
    borrowed = 0;
    for (const count of taken.values()) borrowed += Math.max(count - own, 0);
  };

  return {
    /** Takes a slot; false when the subscriber has to wait for one to borrow. */
    take: (party: object): boolean => {
      share();
      const count = taken.get(party) ?? 0;
      if (count >= own) {
        if (borrowed >= common) return false;
        borrowed += 1;
      }
      taken.set(party, count + 1);
      return true;
    },
    /** Gives a slot back; answers whether another subscriber can borrow it now. */
    give: (party: object): boolean => {
      const count = taken.get(party) ?? 0;
      if (count <= 1) taken.delete(party);
      else taken.set(party, count - 1);
      if (count <= own) return false;
      borrowed -= 1;
      return true;
    },
  };
}
