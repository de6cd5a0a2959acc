/**
 * The health of a subscriber. One that takes nothing is left alone, longer each time, and then tried with one delivery;
 * what waits for it is parked meanwhile. Failures that are ours (no name server, no route, the proxy) are not counted.
 */
import { DAY, type Instant, MINUTE, type Milliseconds } from '../values/time.ts';
import { restAsked } from './retry-after.ts';

/** The health of a subscriber that failed lately; a subscriber that is well has none. */
export interface SubscriberHealth {
  /** Failures in a row. */
  readonly failures: number;
  /** Pauses in a row. */
  readonly pauses: number;
  /** The first of these failures. */
  readonly failingSince: Instant | null;
  /** Nothing is sent before; then one delivery tries. Null: it is not paused. */
  readonly pausedUntil: Instant | null;
  readonly lastError: string | null;
  /** The word for the last failure, as far as it is known. */
  readonly cause?: string | null;
  /** When the last of them ended, as this process saw it: an attempt that began before shows nothing new. */
  readonly failedAt?: Instant;
}

/**
 * Failures of ours in a row: no attempt comes as far as the subscriber. Known of one from the fourth on; they are not held
 * against it, and last until something gets through to it.
 */
export interface Unreached {
  /** 0: nothing is even tried, because what is stored of it cannot be used here; `error` says why. */
  readonly failures: number;
  readonly since: Instant;
  readonly error: string | null;
}

/** Whether nothing is even tried: then only the settings of a daemon help. */
export function isUntried(unreached: Pick<Unreached, 'failures'> | null): boolean {
  return unreached?.failures === 0;
}

const WELL: SubscriberHealth = { failures: 0, pauses: 0, failingSince: null, pausedUntil: null, lastError: null };

/** So many failures in a row, each begun after the one before it had ended, pause a subscriber … */
export const FAILURES_TO_PAUSE = 4;
/** … for so long the first time, then twice as long each time … */
const FIRST_PAUSE: Milliseconds = MINUTE;
/** … up to this. */

/** So many in a row, nearly a month of daily tries at the end, switch a system off. */
export const FAILURES_TO_SWITCH_OFF = 40;

/** For whom a subscriber is: people, who are alerted of incidents, or systems, which get the events of purchases. */
export type Audience = 'people' | 'systems';

/** How patient we are with a subscriber. */
export interface Patience {
  /** The longest pause between two tries. */
  readonly longestPause: Milliseconds;
  /** So many failures in a row switch it off; null: it is tried for ever. */
  readonly failuresToSwitchOff: number | null;
}

/** With systems: tried once a day in the end, and switched off after nearly a month of that. */
export const WITH_SYSTEMS: Patience = { longestPause: DAY, failuresToSwitchOff: FAILURES_TO_SWITCH_OFF };
/** With people: an alarm must not wait for a day because Slack was away for an hour, and no other channel alerts them. */
export const WITH_PEOPLE: Patience = { longestPause: 5 * MINUTE, failuresToSwitchOff: null };

/** How long the pause lasts that follows so many others. */
export function pauseAfter(pauses: number, { longestPause }: Patience = WITH_SYSTEMS): Milliseconds {
  return Math.min(FIRST_PAUSE * 2 ** Math.min(pauses, 30), longestPause);
}

/** The end of one attempt of a subscriber. Lists of these are in the order of the ends. */
export interface AttemptEnd {
  readonly began: Instant;
  readonly at: Instant;
  /** Null: delivered. */
  readonly error: string | null;
  /** The word for a failure. */
  readonly cause?: string | null;
  /** The wait that the receiver asked for with `Retry-After`. */
  readonly retryAfter: Milliseconds | null;
  /** The receiver asked for fewer messages and nothing else is wrong: it rests as asked, and no failure is added to another. */
  readonly isLimit?: boolean;
}

/** A pause that began because the address was refused here ends when other addresses are allowed. */
export const ADDRESS_REFUSED = 'address_refused';
/** Answers that another secret or another header may cure. */
export const REFUSED_CREDENTIALS: readonly string[] = ['http_401', 'http_403'];

/** So long nothing is sent after a second and a third failure in a row: a receiver that restarts is not hammered, and not paused. */
const HOLDS: readonly Milliseconds[] = [0, 0, 1_000, 2_000];

/** How long nothing is sent to one that failed so often in a row and is not paused. */
export function holdAfter(failures: number): Milliseconds {
  return HOLDS[failures] ?? 0;
}

/**
 * The health after further attempts, those that the receiver took or refused; null when it is well. Failures count one
 * after the other: what began before the last one ended, as many at once do, is the same trouble and counts as one with
 * it. A longer wait that was asked for is granted all the same.
 */
export function healthAfter(
  before: SubscriberHealth | null,
  attempts: readonly AttemptEnd[],
  patience: Patience = WITH_SYSTEMS,
): SubscriberHealth | null {
  const health = attempts.reduce(
    (was, attempt) => (attempt.error === null ? afterSuccess(was, attempt.began) : afterFailure(was, attempt, patience)),
    before ?? WELL,
  );
  return health === WELL ? null : health;
}

/** An answer to what was sent before the receiver asked for a rest does not end the rest. */
function afterSuccess(before: SubscriberHealth, began: Instant): SubscriberHealth {
  return before.pausedUntil !== null && began < (before.failedAt ?? 0) ? before : WELL;
}

function afterFailure(before: SubscriberHealth, attempt: AttemptEnd, patience: Patience): SubscriberHealth {
  const { at, began, error, cause = null, retryAfter, isLimit = false } = attempt;
  const rest = restAsked(retryAfter);
  const asked = rest === 0 ? 0 : at + rest;
  const pausedUntil = before.pausedUntil ?? 0;
  const isSameTrouble = began < Math.max(pausedUntil, before.failedAt ?? 0);
  if (isSameTrouble) return asked > pausedUntil ? { ...before, pausedUntil: asked, lastError: error, cause } : before;
  const failures = isLimit ? Math.max(before.failures, 1) : before.failures + 1;
  const isPause = failures >= FAILURES_TO_PAUSE && !isLimit;
  const planned = isPause ? at + pauseAfter(before.pauses, patience) : 0;
  return {
    failures,
    pauses: before.pauses + (isPause ? 1 : 0),
    failingSince: before.failingSince ?? at,
    pausedUntil: Math.max(planned, asked) || null,
    lastError: error,
    cause,
    failedAt: at,
  };
}
