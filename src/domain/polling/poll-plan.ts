/**
 * When to ask again (contract, "States"): the time already spent in the state × growth, between `first` and `most`,
 * ± 10 % jitter, and never past the moment the purchase would count as stuck. Both and the limit have a default for each state.
 */

import { blame, type Observation, type Purchase } from '../purchases/purchase.ts';
import { STATE_NAMES, type StateName } from '../purchases/states.ts';
import { type SkippedTime, timeAfter } from '../values/clock-steps.ts';
import { DAY, HOUR, type Instant, MINUTE, type Milliseconds, SECOND } from '../values/time.ts';
import type { PlannedPoll } from './poll-reason.ts';

/** How one state is polled. */
export interface StatePolicy {
  readonly poll: { readonly first: Milliseconds; readonly growth: number; readonly most: Milliseconds };
  /** Null: a purchase is never stuck here. Where `auto` is set, what holds until a limit is learned. */
  readonly stuckAfter: Milliseconds | null;
  /** Whether the limit is learned from customers who got on (domain/stays/dwell.ts). */
  readonly auto: boolean;
  /** A final state is not polled, except for its rechecks. */
  readonly final: boolean;
  /** Polls after reaching a final state, each counted from its first observation. */
  readonly recheck: readonly Milliseconds[];
}

/** Stuck purchases of a site that are announced as at risk before the session ends. */
export interface AtRiskRule {
  /** How long before the earliest end of the session. */
  readonly before: Milliseconds;
  /** The least amount by currency; purchases in other currencies are not announced. Empty: any amount, known or not. */
  readonly minimumAmount: Readonly<Record<string, number>>;
}

export interface PollPolicy {
  /** By state number; the fallback serves numbers that are not listed. */
  readonly states: ReadonlyMap<number, StatePolicy>;
  readonly fallback: StatePolicy;
  readonly giveUpAfter: Milliseconds;
  /** Answers "unknown id" in a row until a purchase counts as unreadable. */
  readonly unreadableAfter: number;
  /** How long a session at the service lives: an automatic limit leaves time for something to be done within it. */
  readonly sessionLength: Milliseconds;
  /** Which stuck purchases are announced as at risk; null: none. */
  readonly atRisk: AtRiskRule | null;
  /** Of the sites that have plans of their own. */
  readonly bySite?: ReadonlyMap<string, PollPolicy>;
}

function waiting(first: Milliseconds, most: Milliseconds, stuckAfter: Milliseconds | null = null): StatePolicy {
  return { poll: { first, growth: 0.1, most }, stuckAfter, auto: false, final: false, recheck: [] };
}

/** The first wait while a form, an app or a bank page is open: customers act within seconds to minutes. */
const CUSTOMER_ACTS = 5 * SECOND;
const customerActs = (stuckAfter: Milliseconds | null = null): StatePolicy => waiting(CUSTOMER_ACTS, 5 * MINUTE, stuckAfter);
const ENDED: StatePolicy = { ...waiting(MINUTE, HOUR), final: true };

/** The default plan of each state. */
const PLANS: Readonly<Record<StateName, StatePolicy>> = {
  // Healthy for a day, as with payment links.
  New: waiting(10 * SECOND, 10 * MINUTE),
  BeingProcessed: customerActs(),
  Completed: ENDED,
  Error: ENDED,
  WaitingForIdentityProvider: customerActs(10 * MINUTE),
  SessionTimedOut: ENDED,
  WaitingForCardPayments: customerActs(15 * MINUTE),
  WaitingForEidApp: customerActs(),
  Cancelled: ENDED,
  WaitingForFinnishDirectPayment: customerActs(),
  // People decide.
  WaitingCreditApproval: waiting(MINUTE, 30 * MINUTE),
  CreditNotApproved: ENDED,
  WaitingForMobilePayment: customerActs(),
  PaymentHandledByMerchant: ENDED,
  ElectronicIdValidationRequired: customerActs(),
};

/** Where the settings say nothing else. */
export const DEFAULT_POLL_POLICY: PollPolicy = {
  states: new Map(STATE_NAMES.map((name, value) => [value, PLANS[name]])),
  fallback: waiting(10 * SECOND, 10 * MINUTE),
  giveUpAfter: 30 * DAY,
  unreadableAfter: 5,
  sessionLength: 30 * MINUTE,
  atRisk: null,
};

/** Share of an interval by which polls are spread, so that purchases registered together drift apart. */
export const JITTER = 0.1;
/** Polls of an unreadable id and of one that keeps failing become this rare at most. */
const MOST_BACKOFF = DAY;

/** The policy of a site: its own, or that of all sites. */
export const policyOfSite = (policy: PollPolicy, site: string): PollPolicy => policy.bySite?.get(site) ?? policy;

export function policyOf(policy: PollPolicy, state: number): StatePolicy {
  return policy.states.get(state) ?? policy.fallback;
}

/** The default plan of a state number, listed or not. */
export const defaultPolicyOf = (state: number): StatePolicy => policyOf(DEFAULT_POLL_POLICY, state);

/** Whether the customer is at work in this state: in the form, in an app, or at a bank or an identity provider. */
export function isCustomerAtWork(state: number): boolean {
  return defaultPolicyOf(state).poll.first === CUSTOMER_ACTS;
}

/** The wait after a good poll, before jitter and before the stuck moment shortens it. */
export function plannedInterval(policy: StatePolicy, timeInState: Milliseconds): Milliseconds {
  return Math.min(Math.max(timeInState * policy.poll.growth, policy.poll.first), policy.poll.most);
}

/** Applies jitter: `spread` is in [-1, 1] and stands for the whole ± 10 %. */
export function withJitter(interval: Milliseconds, spread: number): Milliseconds {
  return Math.round(interval * (1 + JITTER * spread));
}

/**
 * The next poll of a purchase that was just seen in a state that is not final.
 * `stuckAt` is the moment from which a poll would confirm it as stuck, or null when that is known already or never happens.
 */
export function nextPoll(
  policy: StatePolicy,
  { now, since, stuckAt, spread }: { now: Instant; since: Instant; stuckAt: Instant | null; spread: number },
): PlannedPoll {
  const at = now + withJitter(plannedInterval(policy, now - since), spread);
  return stuckAt !== null && stuckAt > now && stuckAt <= at ? { at: stuckAt, reason: 'stuck_moment' } : { at, reason: 'growth' };
}

/** The next recheck of a final state after `now`, or null when there is none left. None is passed over by time that the clock skipped. */
export function nextRecheck(
  policy: StatePolicy,
  { now, since, skipped = [] }: { now: Instant; since: Instant; skipped?: SkippedTime | undefined },
): PlannedPoll | null {
  const coming = policy.recheck.map((after) => timeAfter(since, after, skipped)).filter((at) => at > now);
  return coming.length === 0 ? null : { at: Math.min(...coming), reason: 'recheck' };
}

/** Polling ends this long after the latest sign of life: registration, its renewal, or a change of state. */
export function giveUpMoment(
  { watchedSince, stateSince }: Pick<Purchase, 'watchedSince' | 'stateSince'>,
  { giveUpAfter }: Pick<PollPolicy, 'giveUpAfter'>,
  skipped: SkippedTime = [],
): Instant {
  return timeAfter(Math.max(watchedSince, stateSince ?? 0), giveUpAfter, skipped);
}

/** The wait after the n-th failure in a row that is the purchase's own (n from 1): `first`, doubling, a day at most. */
export function failureBackoff(policy: StatePolicy, failures: number, spread: number): Milliseconds {
  const doubled = policy.poll.first * 2 ** Math.min(failures - 1, 30);
  return withJitter(Math.min(doubled, MOST_BACKOFF), spread);
}

/** So many failures in a row of one purchase, at a site that answers others, are the purchase's own trouble. */
export const STRIKES_UNTIL_OWN_TROUBLE = 6;

/** Failures in a row of one purchase that look like the site's, after another answer. Excused ones grow its wait, and do not make it the purchase's own trouble. */
export function strikesAfter(strikes: number, seen: Observation, excused: boolean): number {
  const whose = blame(seen);
  if (whose === 'nobody') return 0;
  if (excused) return Math.min(strikes + 1, STRIKES_UNTIL_OWN_TROUBLE - 1);
  return whose === 'site' ? strikes + 1 : 0;
}

/** First wait after a failure that looks like the site's; the breaker takes over when it is. */
const FIRST_POSTPONEMENT: Milliseconds = 1_000;
const LONGEST_POSTPONEMENT: Milliseconds = 60_000;

/** The wait after the n-th failure in a row that looks like the site's, before jitter. */
export function postponement(strikes: number): Milliseconds {
  return Math.min(FIRST_POSTPONEMENT * 2 ** Math.min(Math.max(strikes - 1, 0), 10), LONGEST_POSTPONEMENT);
}
