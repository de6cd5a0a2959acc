/** The time, as everything in the daemon reads it: real, or held by a test. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Instant, Milliseconds } from '../core/purchase.ts';

export interface Clock {
  /** Epoch milliseconds of the database's clock (this process' estimate of it): decides what is due. */
  now(): Instant;
  /** Milliseconds that only ever grow, for measuring how long something took. */
  monotonic(): Milliseconds;
  /** Rests; ends early, without throwing, when the signal aborts. */
  sleep(duration: Milliseconds, signal: AbortSignal): Promise<void>;
}

/** A clock that follows the database's: `follow` takes a reading of `now()` there, made at the given monotonic moment. */
export interface FollowingClock extends Clock {
  follow(databaseNow: Instant, readAt: Milliseconds): void;
}

/** Node's timers overflow beyond 24.8 days; rests are short and due times live in rows. */
const LONGEST_REST = 2 ** 31 - 1;

/** The real clock. Until `follow` is called it is this machine's wall clock. */
export function realClock(): FollowingClock {
  let offset = Date.now() - performance.now();
  return {
    now: () => Math.round(performance.now() + offset),
    monotonic: () => performance.now(),
    follow: (databaseNow, readAt) => {
      offset = databaseNow - readAt;
    },
    sleep: async (duration, signal) => {
      if (signal.aborted) return;
      await delay(Math.min(Math.max(duration, 0), LONGEST_REST), undefined, { signal }).catch(() => undefined);
    },
  };
}
