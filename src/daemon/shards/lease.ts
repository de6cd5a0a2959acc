/** How long this replica's lease lasts and how often it is renewed, by clocks that a step of the database's clock does not change. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { FollowingClock } from '../../runtime/clock.ts';

const RENEW_EVERY: Milliseconds = 2_000;

/** How often a lease is renewed, and how long it is: an attempt that began in time ends in time, although a few renewals failed. */
export function leaseTimes(longestAttempt: Milliseconds) {
  return { renewEvery: RENEW_EVERY, ttl: longestAttempt + 4 * RENEW_EVERY };
}

/** The wall clock runs on while a virtual machine is suspended, the monotonic clock does not: so far apart, a lease is void. */
const LARGEST_JUMP: Milliseconds = 5_000;

/** A lease that has ended. */
export function createLease(clock: Pick<FollowingClock, 'monotonic'> & Partial<Pick<FollowingClock, 'wall'>>, ttl: Milliseconds) {
  let endsAt = Number.NEGATIVE_INFINITY;
  /** How far this machine's wall clock was ahead of its monotonic clock when the lease was renewed. */
  let wallAhead = 0;
  const wallAheadNow = (): Milliseconds => (clock.wall === undefined ? 0 : clock.wall() - clock.monotonic());
  return {
    /** The database is asked to renew the lease; what it returns is to be called once memory holds what the answer says. */
    renew: (): (() => void) => {
      const asked = { at: clock.monotonic(), wallAhead: wallAheadNow() };
      return () => {
        endsAt = asked.at + ttl;
        wallAhead = asked.wallAhead;
      };
    },
    /** Whether the lease is longer than `need`. */
    outlasts: (need: Milliseconds): boolean =>
      clock.monotonic() + need < endsAt && Math.abs(wallAheadNow() - wallAhead) < LARGEST_JUMP,
  };
}
