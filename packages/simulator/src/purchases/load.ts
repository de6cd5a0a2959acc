/** The load: customers who come by themselves, so many a minute. */
import type { Random } from '../values/random.ts';

/** A clock that jumps by days must not bring millions of customers at once. */
const MOST_ARRIVALS_AT_ONCE = 10_000;

/** Starts with no load. */
export function createLoad(now: () => number, random: Random) {
  let perMinute = 0;
  let nextAt = Number.POSITIVE_INFINITY;
  return {
    /** New purchases per minute; 0 ends the load. */
    set: (wanted: number): void => {
      perMinute = wanted;
      nextAt = wanted > 0 ? now() + gap(wanted, random) : Number.POSITIVE_INFINITY;
    },
    perMinute: () => perMinute,
    /** The moments, up to now, at which customers came since the last call. */
    *arrivals(): Generator<number> {
      const until = now();
      for (let arrived = 0; nextAt <= until; arrived++) {
        if (arrived === MOST_ARRIVALS_AT_ONCE) nextAt = until;
        yield nextAt;
        nextAt += gap(perMinute, random);
      }
    },
  };
}

/** Customers come independently of each other, so the time between two of them is exponentially distributed. */
function gap(perMinute: number, random: Random): number {
  return (-Math.log(1 - random()) * 60_000) / perMinute;
}
