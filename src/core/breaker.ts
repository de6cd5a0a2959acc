/**
 * Whether a site may be called now. While it fails, one probe at growing intervals stands in for all its purchases;
 * when it answers again, calls return smoothly. Pure: states in, states out; times are the caller's monotonic clock.
 */
import type { Milliseconds, Observation, Trouble } from './purchase.ts';

/** Moment on a monotonic clock, in milliseconds. */
type Moment = number;

export type Breaker =
  /** `culprits`: the purchases whose calls failed in this row, the first few. */
  | { readonly kind: 'closed'; readonly failuresInRow: number; readonly culprits: readonly number[] }
  /** `cause` is `throttled` when the site answers and only asks for fewer calls: a pause, not an outage. */
  | {
      readonly kind: 'open';
      readonly cause: 'failing' | 'throttled';
      readonly probeAt: Moment;
      readonly wait: Milliseconds;
      readonly probing: boolean;
    }
  | { readonly kind: 'recovering'; readonly since: Moment; readonly wait: Milliseconds; readonly failuresInRow: number };

export const CLOSED: Breaker = { kind: 'closed', failuresInRow: 0, culprits: [] };

/** Failures in a row that open the breaker. */
const FAILURES_UNTIL_OPEN = 5;
/** They must be of several purchases: one whose calls always fail says nothing about the site. */
const CULPRITS_UNTIL_OPEN = 3;
/** Unless the site has answered nobody for so long: then few purchases are all there is to ask about. */
const SILENCE_UNTIL_OPEN: Milliseconds = 5 * 60_000;
const FAILURES_WHILE_RECOVERING = 2;
const FIRST_WAIT: Milliseconds = 1_000;
const LONGEST_WAIT: Milliseconds = 30_000;
/** Calls a second when an open breaker lets calls through again; doubles every second until the ceiling is reached. */
const FIRST_RATE = 2;

/** What the breaker lets through now: everything, at most `rate` calls a second, a single probe, or nothing. */
export type Allowance =
  | { readonly kind: 'all' }
  | { readonly kind: 'limited'; readonly rate: number }
  | { readonly kind: 'probe' }
  | { readonly kind: 'none'; readonly until: Moment | null };

export function allowance(breaker: Breaker, now: Moment): Allowance {
  if (breaker.kind === 'closed') return { kind: 'all' };
  if (breaker.kind === 'recovering')
    return { kind: 'limited', rate: FIRST_RATE * 2 ** Math.min((now - breaker.since) / 1_000, 30) };
  if (breaker.probing) return { kind: 'none', until: null };
  return now >= breaker.probeAt ? { kind: 'probe' } : { kind: 'none', until: breaker.probeAt };
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
  /** When the site last gave a usable answer about any purchase; null when never. */
  readonly answeredAt: Moment | null;
}

/** The breaker after an answer. */
export function afterAnswer(breaker: Breaker, seen: Observation, context: AnswerContext): Breaker {
  const { now, ceiling, spread, purchase, probe, answeredAt } = context;
  // Answers to calls that left before it opened say nothing new, good or bad; only Retry-After is heeded.
  if (breaker.kind === 'open' && !probe) return 'retryAfter' in seen ? delayed(breaker, now + (seen.retryAfter ?? 0)) : breaker;
  if (seen.kind === 'seen' || seen.kind === 'same' || seen.kind === 'unknown' || seen.kind === 'malformed') {
    if (breaker.kind === 'open') return { kind: 'recovering', since: now, wait: breaker.wait, failuresInRow: 0 };
    if (breaker.kind === 'closed') return breaker.failuresInRow === 0 ? breaker : CLOSED;
    const allowed = allowance(breaker, now);
    return allowed.kind === 'limited' && allowed.rate >= ceiling ? CLOSED : { ...breaker, failuresInRow: 0 };
  }

  const cause = seen.kind === 'throttled' ? 'throttled' : 'failing';
  if (breaker.kind === 'open') return open(cause, Math.min(breaker.wait * 2, LONGEST_WAIT), seen, now, spread);
  const failuresInRow = breaker.failuresInRow + 1;
  if (breaker.kind === 'recovering') {
    if (cause === 'failing' && failuresInRow < FAILURES_WHILE_RECOVERING) return { ...breaker, failuresInRow };
    return open(cause, Math.min(breaker.wait * 2, LONGEST_WAIT), seen, now, spread);
  }
  const known = breaker.culprits.includes(purchase) || breaker.culprits.length >= CULPRITS_UNTIL_OPEN;
  const culprits = known ? breaker.culprits : [...breaker.culprits, purchase];
  const silent = answeredAt === null || now - answeredAt >= SILENCE_UNTIL_OPEN;
  const several = culprits.length >= CULPRITS_UNTIL_OPEN || silent;
  if (cause === 'failing' && !(failuresInRow >= FAILURES_UNTIL_OPEN && several))
    return { kind: 'closed', failuresInRow, culprits };
  return open(cause, FIRST_WAIT, seen, now, spread);
}

function open(cause: 'failing' | 'throttled', wait: Milliseconds, seen: Trouble, now: Moment, spread: number): Breaker {
  const asked = seen.retryAfter ?? 0;
  // Jitter only adds: replicas and restarts must not probe in step, nor earlier than asked.
  const pause = Math.max(wait, asked) * (1 + 0.1 * Math.abs(spread));
  return { kind: 'open', cause, probeAt: now + pause, wait, probing: false };
}

function delayed(breaker: Extract<Breaker, { kind: 'open' }>, until: Moment): Breaker {
  return until > breaker.probeAt ? { ...breaker, probeAt: until } : breaker;
}
