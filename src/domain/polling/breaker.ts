/**
 * Whether a site may be called now. While it fails, one probe at growing intervals stands in for all its purchases;
 * when it answers again, calls return smoothly. States in, states out; times are the caller's monotonic clock.
 */

import type { Observation, Trouble } from '../purchases/purchase.ts';
import type { Milliseconds } from '../values/time.ts';
import { forgetOutage, isSiteAtFault, noteFailure, noteUsable, type SiteAnswers } from './site-answers.ts';

/** Moment on a monotonic clock, in milliseconds. */
type Moment = number;

type Closed = { readonly kind: 'closed' };
type Open = {
  readonly kind: 'open';
  /** `throttled` when the site answers and only asks for fewer calls: a pause, not an outage. */
  readonly cause: 'failing' | 'throttled';
  readonly probeAt: Moment;
  readonly wait: Milliseconds;
  readonly probing: boolean;
  /** Calls a second once the site answers again. */
  readonly rate: number;
  /**
   * Calls that left before the failures came are on their way still, and failures are quicker than good answers. This is
   * the breaker to go back to when one of these calls is answered well; null once none can be, or a probe failed.
   */
  readonly unless: Closed | Recovering | null;
};
type Recovering = { readonly kind: 'recovering'; readonly since: Moment; readonly wait: Milliseconds; readonly rate: number };
export type Breaker = Closed | Open | Recovering;
/** Closed: every call may leave. Open: only probes may. Recovering: calls return, twice as many each second. */
export type BreakerState = Breaker['kind'];
export type BreakerCause = Open['cause'];

export const CLOSED: Breaker = { kind: 'closed' };

/** Share of a wait that jitter may add, and what it may add to a wait that the service asked for. */
const JITTER = 0.1;
const AFTER_ASKED: Milliseconds = 250;
const FIRST_WAIT: Milliseconds = 1_000;
const LONGEST_WAIT: Milliseconds = 30_000;
/** Calls a second when an open breaker lets calls through again; doubles every second until the ceiling is reached. */
const FIRST_RATE = 2;

/** The calls that the breaker lets through now: all, at most `rate` a second, a single probe, or none. */
export type Allowance =
  | { readonly kind: 'all' }
  | { readonly kind: 'limited'; readonly rate: number }
  | { readonly kind: 'probe' }
  | { readonly kind: 'none'; readonly until: Moment | null };

export function allowance(breaker: Breaker, now: Moment): Allowance {
  if (breaker.kind === 'closed') return { kind: 'all' };
  if (breaker.kind === 'recovering') return { kind: 'limited', rate: rateOf(breaker, now) };
  if (breaker.probing) return { kind: 'none', until: null };
  return now >= breaker.probeAt ? { kind: 'probe' } : { kind: 'none', until: breaker.probeAt };
}

function rateOf({ rate, since }: Recovering, now: Moment): number {
  return rate * 2 ** Math.min((now - since) / 1_000, 30);
}

/** The probe has left: nothing else leaves until its answer. */
export function probeSent(breaker: Breaker): Breaker {
  return breaker.kind === 'open' ? { ...breaker, probing: true } : breaker;
}

export interface AnswerContext {
  readonly now: Moment;
  /** The site's calls a second: reaching it ends the recovery. */
  readonly ceiling: number;
  /** Jitter in [-1, 1]. */
  readonly spread: number;
  /** Which purchase was asked about. */
  readonly purchase: number;
  /** Whether it answers the probe of an open breaker. */
  readonly probe: boolean;
  /** Calls to the site that are not answered yet. */
  readonly awaited: number;
  /** The site's answers so far; this one is noted there. */
  readonly answers: SiteAnswers;
}

export function afterAnswer(breaker: Breaker, seen: Observation, context: AnswerContext): Breaker {
  if (breaker.kind === 'open')
    return context.probe ? afterProbe(breaker, seen, context) : afterLateAnswer(breaker, seen, context);
  const { now, ceiling, purchase, answers, awaited } = context;
  if (isUsable(seen)) {
    noteUsable(answers, purchase, { good: isGood(seen), now });
    return breaker.kind === 'recovering' && rateOf(breaker, now) >= ceiling ? CLOSED : breaker;
  }
  const rate = breaker.kind === 'closed' ? ceiling : Math.min(rateOf(breaker, now), ceiling);
  // The site has answered others since it last asked for fewer calls, so the pause is as short as the first one.
  if (seen.kind === 'throttled') return throttled(FIRST_WAIT, rate, seen, context);
  noteFailure(answers, purchase, now);
  if (!isSiteAtFault(answers, now)) return breaker;
  const wait = breaker.kind === 'closed' ? FIRST_WAIT : longer(breaker.wait);
  return { ...opened('failing', wait, seen, context), rate: FIRST_RATE, unless: awaited > 0 ? breaker : null };
}

/** Whether the service answered about the purchase, if only that it does not know it. */
export function isUsable(seen: Observation): seen is Extract<Observation, { kind: 'seen' | 'same' | 'unknown' | 'malformed' }> {
  return isGood(seen) || seen.kind === 'unknown' || seen.kind === 'malformed';
}

function isGood({ kind }: Observation): boolean {
  return kind === 'seen' || kind === 'same';
}

function afterProbe(breaker: Open, seen: Observation, { now, spread, purchase, answers }: AnswerContext): Breaker {
  if (isUsable(seen)) {
    if (breaker.cause === 'failing') forgetOutage(answers);
    noteUsable(answers, purchase, { good: isGood(seen), now });
    return { kind: 'recovering', since: now, wait: breaker.wait, rate: breaker.rate };
  }
  // The next probe is about another purchase.
  answers.well.delete(purchase);
  const wait = longer(breaker.wait);
  if (seen.kind === 'throttled') return throttled(wait, breaker.rate, seen, { now, spread });
  return { ...opened('failing', wait, seen, { now, spread }), rate: FIRST_RATE };
}

/** After an answer to a call that left before the breaker opened. */
function afterLateAnswer(breaker: Open, seen: Observation, { now, purchase, answers, awaited }: AnswerContext): Breaker {
  if (isUsable(seen)) {
    if (breaker.unless === null) return breaker;
    noteUsable(answers, purchase, { good: isGood(seen), now });
    return breaker.unless;
  }
  answers.well.delete(purchase);
  const until = now + (seen.retryAfter ?? 0);
  const later = until > breaker.probeAt ? { ...breaker, probeAt: until } : breaker;
  return awaited === 0 && later.unless !== null ? { ...later, unless: null } : later;
}

function longer(wait: Milliseconds): Milliseconds {
  return Math.min(wait * 2, LONGEST_WAIT);
}

/** A pause because the site asks for fewer calls than `rate` a second. Afterwards it gets half as many. */
function throttled(wait: Milliseconds, rate: number, seen: Trouble, when: Pick<AnswerContext, 'now' | 'spread'>): Open {
  return { ...opened('throttled', wait, seen, when), rate: Math.max(rate / 2, FIRST_RATE) };
}

function opened(
  cause: Open['cause'],
  wait: Milliseconds,
  { retryAfter }: Trouble,
  { now, spread }: Pick<AnswerContext, 'now' | 'spread'>,
): Omit<Open, 'rate'> {
  // Jitter only adds: replicas and restarts must not probe in step, nor earlier than asked, nor much later.
  const part = Math.abs(spread);
  const pause = Math.max(wait * (1 + JITTER * part), (retryAfter ?? 0) + AFTER_ASKED * part);
  return { kind: 'open', cause, probeAt: now + pause, wait, probing: false, unless: null };
}
