/** A purchase after the database's clock was set back. Pure. */

import { isAhead } from '../values/clock-ahead.ts';
import type { Instant } from '../values/time.ts';
import type { Purchase } from './purchase.ts';

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
