/** Polls as the tests of deciding make them: answered at once, without jitter. */
import { digestOfDetails } from '../../../src/checkout/client.ts';
import { decide } from '../../../src/domain/deciding/decide.ts';
import type { DecideContext, PollOutcome } from '../../../src/domain/deciding/outcome.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy, policyOf, type StatePolicy } from '../../../src/domain/polling/poll-plan.ts';
import type { Observation, Purchase } from '../../../src/domain/purchases/purchase.ts';
import { aPurchase } from '../../support/a-purchase.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const T = Date.UTC(2026, 10, 20, 9, 15);
export const [NEW, COMPLETED, IDENTITY, CARDS, CANCELLED] = [0, 2, 4, 6, 8];

/** Decides a poll that was answered at once, without jitter. */
export function poll(purchase: Purchase, seen: Observation, now: number, differs: Partial<DecideContext> = {}): PollOutcome {
  return decide(purchase, seen, { askedAt: now, now, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 1, ...differs });
}
/** Defaults with one state planned differently. */
export function planned(state: number, differs: Partial<StatePolicy>, all: Partial<PollPolicy> = {}): PollPolicy {
  const states = new Map(DEFAULT_POLL_POLICY.states).set(state, { ...policyOf(DEFAULT_POLL_POLICY, state), ...differs });
  return { ...DEFAULT_POLL_POLICY, states, ...all };
}
export const typesOf = (outcome: PollOutcome): string[] => outcome.events.map(({ type }) => type);
/** In card payments since T, last seen then. */
export const atBank = (differs: Partial<Purchase> = {}): Purchase =>
  aPurchase({
    state: CARDS,
    stateSince: T,
    seenAt: T,
    watchedSince: T,
    sequence: 1,
    detailsDigest: digestOfDetails({}),
    ...differs,
  });
