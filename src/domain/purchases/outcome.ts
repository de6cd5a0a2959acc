/** The outcome of a purchase so far, in one word for lists. */
import type { Instant } from '../values/time.ts';
import type { PurchaseStatus } from './purchase.ts';
import { checkoutEnd, numberOf, STATE_NAMES } from './states.ts';

/** `paid_late`: paid after it had been stuck. The purchases that are `paid` are others. */
export const OUTCOMES = ['stuck', 'waiting', 'paid', 'paid_late', 'not_paid', 'unreadable', 'expired', 'stopped'] as const;

export type PurchaseOutcome = (typeof OUTCOMES)[number];

/** The numbers of the states in which a purchase is paid. */
export const PAID_STATES: readonly number[] = STATE_NAMES.filter((name) => checkoutEnd(name) === 'paid').map(numberOf);

/** The numbers of the states that a checkout ends in. */
export const FINAL_STATES: readonly number[] = STATE_NAMES.filter((name) => checkoutEnd(name) !== null).map(numberOf);

/** The outcome of a purchase so far; `wasStuck`: a poll found the purchase stuck at some time. */
export function outcomeOf(purchase: {
  readonly status: PurchaseStatus;
  readonly state: number | null;
  readonly stuckSince: Instant | null;
  readonly wasStuck: boolean;
}): PurchaseOutcome {
  const { status, state, stuckSince, wasStuck } = purchase;
  if (stuckSince !== null) return 'stuck';
  if (status === 'watching') return 'waiting';
  if (status !== 'settled') return status;
  if (state === null || checkoutEnd(state) !== 'paid') return 'not_paid';
  return wasStuck ? 'paid_late' : 'paid';
}
