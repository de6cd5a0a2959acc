/** The usual numbers of a state of a site, from counts of stays. Pure. */

/** Of fewer stays, a share says little. */
export const ENOUGH_STAYS = 100;
/** A first day that is not over yet shows how busy a state is only when so many came already: as many as make it not sparse. */
const FIRST_STAYS = 5;

/** Stays that ended well or became stuck, over some days. */
interface StayNumbers {
  readonly stays: number;
  /** Stays while no incident was open; how many of them became stuck. */
  readonly calm: number;
  readonly calmStuck: number;
  /** Since the first day of which something is known; null while nothing is. */
  readonly days: number | null;
}

/** The usual numbers, with the count of stays that they rest on. */
export interface CountedUsual extends Usual {
  /** Stays counted while no incident was open. */
  readonly counted: number;
}

export const NOTHING_KNOWN: CountedUsual = { share: null, perDay: null, counted: 0 };

/** The share is that of calm times alone, the number a day that of all: trouble is not usual, and is busy all the same. */
export function usualOf({ stays, calm, calmStuck, days }: StayNumbers): CountedUsual {
  return {
    // A stay that turned out to belong to an incident is taken back, perhaps from a day that counts no more.
    share: calm < ENOUGH_STAYS ? null : Math.max(calmStuck, 0) / calm,
    perDay: days === null || (days < 1 && stays < FIRST_STAYS) ? null : stays / Math.max(days, 1),
    counted: calm,
  };
}

/** The usual numbers of a state of a site, while nothing is wrong. */
export interface Usual {
  /** Stays that became stuck, of those that did or were left well; null while too few are known to say. */
  readonly share: number | null;
  /** Stays a day that did either; null while nothing is known. */
  readonly perDay: number | null;
}
