/** What was written before the database's clock was set back lies in the future. Pure. */
import type { Instant, Milliseconds, Purchase } from '../purchases/purchase.ts';

/** Two readings of the database's clock differ by less; by more only after the clock stepped. */
export const LEAST_STEP: Milliseconds = 10_000;

/** Whether an instant was written before the clock was set back. */
export function isAhead(at: Instant, now: Instant): boolean {
  return at > now + LEAST_STEP;
}

/** Whether something is still waited for, `length` from a past instant on. An instant ahead of the clock ends the wait. */
export function isWaiting(from: Instant, length: Milliseconds, now: Instant): boolean {
  return now < from + length && !isAhead(from, now);
}

/** When a wait from a past instant on is over: at once when the instant is ahead of the clock. */
export function dueAfter(from: Instant, length: Milliseconds, now: Instant): Instant {
  return isAhead(from, now) ? now : from + length;
}

/**
 * The purchase as the clock says now when it was last seen ahead of the clock. Times ahead of the clock move back with it.
 * Earlier ones stay, for a step forward may have followed them: its time, which the stay was excused for, is taken back.
 */
export function notAhead(purchase: Purchase, now: Instant): Purchase {
  const { seenAt, stateSince, stuckSince, watchedSince, excused } = purchase;
  if (seenAt === null || !isAhead(seenAt, now)) return purchase;
  const by = seenAt - now;
  const moved = <T extends Instant | null>(at: T): T | Instant => (at === null || at <= now ? at : Math.min(at - by, now));
  return {
    ...purchase,
    seenAt: now,
    stateSince: moved(stateSince),
    stuckSince: moved(stuckSince),
    watchedSince: moved(watchedSince),
    excused: stateSince === null || stateSince > now ? excused : Math.max(excused - by, 0),
  };
}
