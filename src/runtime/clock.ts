/** The time, as everything in the daemon reads it: real, or held by a test. */

import { uptime } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { LEAST_STEP } from '../domain/values/clock-steps.ts';
import type { Instant, Milliseconds } from '../domain/values/time.ts';

export interface Clock {
  /** Epoch milliseconds of the database's clock (this process' estimate of it): decides what is due. */
  now(): Instant;
  /** Milliseconds that only ever grow, for measuring how long something took. */
  monotonic(): Milliseconds;
  /** Rests; ends early, without throwing, when the signal aborts. */
  sleep(duration: Milliseconds, signal: AbortSignal): Promise<void>;
}

/** A clock that follows the database's. */
export interface FollowingClock extends Clock {
  /**
   * Takes a reading of the database's clock, made between two monotonic moments. Answers by how much that clock stepped
   * against the monotonic one since the last reading, back when negative; 0 unless it is more than both clocks may drift.
   */
  follow(databaseNow: Instant, asked: Milliseconds, answered: Milliseconds): Milliseconds;
  /** The time of the database's clock, as that clock is known now, at a moment of the monotonic clock. */
  at(moment: Milliseconds): Instant;
  /** For how long this machine was suspended, from some moment before this process began; the monotonic clock stands still meanwhile. */
  suspended(): Milliseconds;
  /** The wall clock of this machine. Unlike the monotonic clock it runs on while a virtual machine is suspended. */
  wall(): Instant;
}

/** Node's timers overflow beyond 24.8 days; rests are short and due times live in rows. */
const LONGEST_REST = 2 ** 31 - 1;

/**
 * A reading whose answer came within this says what the time is: the first one, and later ones. Those that take longer correct
 * what they contradict; the middle of a slow reading would move the time by up to half of what the reading took.
 */
const QUICK_AT_FIRST: Milliseconds = 1_000;
const QUICK: Milliseconds = 50;

/** The real clock. Until `follow` is called it is this machine's wall clock. */
export function realClock(): FollowingClock {
  let offset = Date.now() - performance.now();
  let isFollowing = false;
  return {
    now: () => Math.round(performance.now() + offset),
    monotonic: () => performance.now(),
    follow: (databaseNow, asked, answered) => {
      const before = offset;
      const isFirst = !isFollowing;
      isFollowing = true;
      // The answer may have waited for a lock or a turn: then the middle says little, and what is not contradicted stays.
      offset =
        answered - asked <= (isFirst ? QUICK_AT_FIRST : QUICK)
          ? databaseNow - (asked + answered) / 2
          : Math.min(Math.max(offset, databaseNow - answered), databaseNow - asked);
      const step = Math.round(offset - before);
      // Less may be a slow answer, or a clock that is being slewed.
      return isFirst || Math.abs(step) < LEAST_STEP ? 0 : step;
    },
    at: (moment) => Math.round(moment + offset),
    suspended: () => uptime() * 1_000 - performance.now(),
    wall: () => Date.now(),
    sleep: async (duration, signal) => {
      if (signal.aborted) return;
      await delay(Math.min(Math.max(duration, 0), LONGEST_REST), undefined, { signal }).catch(() => undefined);
    },
  };
}
