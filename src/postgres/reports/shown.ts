/** The limit of a purchase where it is now, with its working. */

import { stuckClock } from '../../domain/explain/poll.ts';
import { type ShownLimit, shownLimit } from '../../domain/stays/dwell.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { PurchaseRow } from '../purchases/purchases.ts';
import type { Limits } from '../stays/limits.ts';

/** Null while no limit holds: in a state without one, before the first good answer, and when it is not watched. */
export function limitOfPurchase(purchase: PurchaseRow, now: Instant, limits: Limits): ShownLimit | null {
  const { site, state, status } = purchase;
  const clock = status === 'watching' ? stuckClock({ purchase, now }, limits.policyFor(site)) : null;
  return clock === null || state === null ? null : shownLimit(limits.limitOf(site, state), clock.counted);
}
