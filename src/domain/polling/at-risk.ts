/**
 * When a stuck purchase is at risk of being lost: its session is about to end, and its amount is worth a mail. The service says of no
 * session when it ends, so the end is reckoned from `sessionLength`. Pure; the caller brings the time.
 */

import type { Details, Purchase } from '../purchases/purchase.ts';
import { isDecimal } from '../values/exact-json.ts';
import type { Instant } from '../values/time.ts';
import { type AtRiskRule, isCustomerAtWork, type PollPolicy } from './poll-plan.ts';

/** From `at` until before `latestEnd` a good poll announces that a stuck purchase is at risk. */
export interface RiskWindow {
  readonly at: Instant;
  /** The session ends no earlier than this, if it began when the purchase was registered. */
  readonly earliestEnd: Instant;
  /** And no later than this, for it had begun when the state was first seen. */
  readonly latestEnd: Instant;
}

/**
 * The window of a stay; null where the site's settings do not ask for it, and in states in which the session does not wait for the
 * customer. A shop registers a purchase when its session begins, unless it sends a link first: a registration that is older than a
 * session, or newer than the stay, says nothing.
 */
export function riskWindow(
  { atRisk, sessionLength }: Pick<PollPolicy, 'atRisk' | 'sessionLength'>,
  { state, since, watchedSince }: { readonly state: number; readonly since: Instant; readonly watchedSince: Instant },
): RiskWindow | null {
  if (atRisk === null || !isCustomerAtWork(state)) return null;
  const latestEnd = since + sessionLength;
  const ofRegistration = watchedSince + sessionLength;
  const earliestEnd = ofRegistration > since ? Math.min(ofRegistration, latestEnd) : latestEnd;
  return { at: earliestEnd - atRisk.before, earliestEnd, latestEnd };
}

/** When the session is expected to end, as it is announced at a moment of the window. */
export function expectedEnd({ earliestEnd, latestEnd }: RiskWindow, now: Instant): Instant {
  return now < earliestEnd ? earliestEnd : latestEnd;
}

/** Whether the present stay was announced. A row may keep the time of an earlier stay. */
export function isAnnounced({ atRiskSince, stateSince }: Pick<Purchase, 'atRiskSince' | 'stateSince'>): boolean {
  return atRiskSince !== null && stateSince !== null && atRiskSince >= stateSince;
}

/** Whether the rule has purchases of an amount announced. */
export function isWorth({ minimumAmount }: AtRiskRule, amount: number | null, currency: string | null): boolean {
  if (!hasAmounts(minimumAmount)) return true;
  if (amount === null || currency === null || !Object.hasOwn(minimumAmount, currency)) return false;
  return amount >= minimumAmount[currency]!;
}

const hasAmounts = (amounts: AtRiskRule['minimumAmount']): boolean => Object.keys(amounts).length > 0;

/** The same of the stored fields of an answer; null: the poll brought none. */
export function isWorthAnnouncing(rule: AtRiskRule, details: Details | null): boolean {
  const { Price = null, CurrencyCode = null } = details ?? {};
  const amount = isDecimal(Price) ? Number(Price.rawJSON) : typeof Price === 'number' ? Price : null;
  return isWorth(rule, amount, typeof CurrencyCode === 'string' ? CurrencyCode : null);
}

/**
 * Whether a poll that leaves now may have to know the amount, which memory does not hold: then an answer that is the same as the last
 * one must be read all the same.
 */
export function asksForAmount(
  purchase: Pick<Purchase, 'state' | 'stateSince' | 'watchedSince' | 'atRiskSince'>,
  policy: PollPolicy,
  now: Instant,
): boolean {
  const { state, stateSince: since, watchedSince } = purchase;
  if (policy.atRisk === null || !hasAmounts(policy.atRisk.minimumAmount) || state === null || since === null) return false;
  const window = riskWindow(policy, { state, since, watchedSince });
  return window !== null && now >= window.at && now < window.latestEnd && !isAnnounced(purchase);
}
