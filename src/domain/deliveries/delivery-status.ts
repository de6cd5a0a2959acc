/** Where a delivery stands, in one word and in words. Each is in exactly one status. */
import type { Instant } from '../values/time.ts';
import { parkedBecause, type SubscriberState } from './subscriber-state.ts';

/** The stored status: whether a delivery is settled, and how. */
export type StoredStatus = 'pending' | 'delivered' | 'exhausted' | 'suppressed';

/**
 * The shown statuses. `pending` waits for its turn or its next try, of `in_flight` an attempt has been under way for a moment,
 * `parked` waits until its subscriber gets events again.
 */
export const DELIVERY_STATUSES = ['pending', 'in_flight', 'parked', 'delivered', 'exhausted', 'suppressed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Settled deliveries that did not reach their subscriber. */
export const NOT_DELIVERED = ['exhausted', 'suppressed'] as const satisfies readonly StoredStatus[];
export type Undelivered = (typeof NOT_DELIVERED)[number];

interface StoredDelivery {
  readonly stored: StoredStatus;
  /** Since when an attempt has been under way, or null. */
  readonly inFlightSince: Instant | null;
  readonly subscriber: Omit<SubscriberState, 'unreached'>;
  readonly lastError: string | null;
}

/** The status, and the reason for one that is parked or suppressed. The view `delivery_log` says the same. */
export function shownStatus(
  { stored, inFlightSince, subscriber, lastError }: StoredDelivery,
  now: Instant,
): { status: DeliveryStatus; reason: string | null } {
  if (stored === 'suppressed') return { status: stored, reason: lastError ?? SUPPRESSED };
  if (stored !== 'pending') return { status: stored, reason: null };
  if (inFlightSince !== null) return { status: 'in_flight', reason: null };
  const reason = parkedBecause(subscriber, now);
  return { status: reason === null ? 'pending' : 'parked', reason };
}

/** Of those that were suppressed before the reason was kept with them. */
const SUPPRESSED = 'The subscriber was switched off when the event was made.';
