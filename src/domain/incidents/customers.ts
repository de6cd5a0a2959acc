/** The fates of the customers around an incident, and how the share of those who did not get on went over time. Pure. */
import { checkoutEnd } from '../purchases/states.ts';
import { exitOutcome } from '../stays/stay.ts';
import type { Instant } from '../values/time.ts';

/** A stay in the state of an incident, as polls showed it. */
export interface SeenStay {
  /** The same for all purchases of one order. */
  readonly customer: string;
  readonly enteredAt: Instant;
  /** When a poll found it stuck; null: none did. */
  readonly overdueAt: Instant | null;
  /** The first poll after it; null: the purchase was not seen to leave. */
  readonly leftAt: Instant | null;
  readonly toState: number | null;
}

/** `open`: not known yet, or never because the purchase is not watched any more. `late`: left after it was stuck. */
export const STAY_FATES = ['well', 'other', 'overdue', 'late', 'open'] as const;
export type StayFate = (typeof STAY_FATES)[number];

/** The fate of a stay, by the polls that showed it. */
export function fateOf({ overdueAt, leftAt, toState }: SeenStay): StayFate {
  if (overdueAt !== null && leftAt === null) return 'overdue';
  if (overdueAt !== null) return 'late';
  return toState === null ? 'open' : exitOutcome(toState, false);
}

/** How many of the latest customers whose outcome was known at a moment had become stuck. */
export interface ShareStep {
  readonly at: Instant;
  readonly overdue: number;
  readonly of: number;
}

/** The share is that of so many customers, as the judge remembers them. */
const LATEST = 20;

/**
 * The share over time, a step for each outcome: stuck, or left well in time. Who left in time by time-out, cancel or error
 * says nothing of the page, and a customer who becomes stuck again is still one customer.
 */
export function shareOverTime(stays: readonly SeenStay[]): ShareStep[] {
  const outcomes = stays.flatMap((stay) => {
    if (stay.overdueAt !== null) return [{ at: stay.overdueAt, customer: stay.customer, isStuck: true }];
    if (stay.leftAt === null || fateOf(stay) !== 'well') return [];
    return [{ at: stay.leftAt, customer: stay.customer, isStuck: false }];
  });
  const known = new Set<string>();
  const latest: boolean[] = [];
  const steps: ShareStep[] = [];
  for (const { at, customer, isStuck } of outcomes.toSorted((a, b) => a.at - b.at)) {
    if (isStuck && known.has(customer)) continue;
    if (isStuck) known.add(customer);
    latest.push(isStuck);
    if (latest.length > LATEST) latest.shift();
    steps.push({ at, overdue: latest.filter((each) => each).length, of: latest.length });
  }
  return steps;
}

/**
 * The outcomes of a purchase that was stuck and is not any more. `late`: paid. `other`: another purchase of its order was paid.
 * `lost`: not paid. `open`: not decided yet, or not known because the purchase is not watched any more.
 */
export const LEFT_OUTCOMES = ['late', 'other', 'lost', 'open'] as const;
export type LeftOutcome = (typeof LEFT_OUTCOMES)[number];

/** The outcome of a purchase that is stuck no more. */
export function leftOutcome(left: { readonly state: number; readonly paidByAnotherAt: Instant | null }): LeftOutcome {
  const end = checkoutEnd(left.state);
  if (end === 'paid') return 'late';
  if (left.paidByAnotherAt !== null) return 'other';
  return end === null ? 'open' : 'lost';
}
