/** The limit of a purchase in its present state, with the working of the limit. */

import { stuckClock } from '../../domain/explain/poll.ts';
import { type ShownLimit, shownLimit } from '../../domain/stays/dwell.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { PurchaseRow } from '../purchases/purchases.ts';
import type { StayLimits } from '../stays/limits.ts';

/** The limit of a purchase; null in a state without a limit, before the first good answer, and when the purchase is not watched. */
export function limitOfPurchase(purchase: PurchaseRow, now: Instant, limits: StayLimits): ShownLimit | null {
  const { site, state, status } = purchase;
  const clock = status === 'watching' ? stuckClock({ purchase, now }, limits.policyFor(site)) : null;
  return clock === null || state === null ? null : shownLimit(limits.limitOf(site, state), clock.counted);
}
