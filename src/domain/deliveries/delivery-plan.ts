/**
 * When a failed delivery is tried again, and when it is given up (contract, `webhooks.schedule`). The waits grow from
 * seconds to a day, so that a restart of the receiver costs seconds and a lost weekend costs nothing but time.
 */
import { HOUR, type Instant, MINUTE, type Milliseconds, SECOND } from '../values/time.ts';
import { restAsked } from './retry-after.ts';

/** The waits for systems where `webhooks.schedule` says nothing else, as the settings write them. */
export const DEFAULT_SCHEDULE = ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'] as const;

/**
 * The waits for channels for people, who must know soon: every five minutes for as long as systems are tried. What waits meanwhile goes
 * out in one message, so that trying often costs them nothing.
 */
export const SCHEDULE_WITH_PEOPLE: readonly Milliseconds[] = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  ...Array.from({ length: (3 * 24 * HOUR) / (5 * MINUTE) }, () => 5 * MINUTE),
];

/**
 * Share of a planned wait that jitter may add. A wait that the receiver asked for gets none: when it is over, one delivery tries,
 * and the others follow its answer.
 */
const JITTER = 0.1;

interface FailedAttempt {
  readonly schedule: readonly Milliseconds[];
  /** Attempts made so far, the one that just failed among them (from 1). */
  readonly attempts: number;
  readonly now: Instant;
  /** Asked for by the receiver with `Retry-After`, or null. */
  readonly retryAfter: Milliseconds | null;
  /** In [0, 1]: how much of the jitter to add. */
  readonly spread: number;
}

/** The moment of the next attempt, or null when the schedule is exhausted. */
export function nextAttempt({ schedule, attempts, now, retryAfter, spread }: FailedAttempt): Instant | null {
  const planned = schedule[attempts - 1];
  if (planned === undefined) return null;
  return now + Math.max(Math.round(planned * (1 + JITTER * spread)), restAsked(retryAfter));
}

/** When a delivery is tried again whose receiver asked for fewer messages; its schedule does not count that attempt. */
export function afterLimit({ now, retryAfter }: { now: Instant; retryAfter: Milliseconds }): Instant {
  return now + restAsked(retryAfter);
}

/** A failure of ours says nothing of the receiver: the wait grows with the time for which we fail, within these. */
const OUR_FIRST_WAIT = 5 * SECOND;
const OUR_LONGEST_WAIT = 5 * MINUTE;

/**
 * When a delivery is tried again whose attempt failed through us; its schedule does not count that one. `since` is the
 * first of these failures in a row, whatever the age of the event: a blip costs seconds.
 */
export function afterOurFailure({ now, since, spread }: { now: Instant; since: Instant; spread: number }): Instant {
  const wait = Math.min(Math.max((now - since) / 2, OUR_FIRST_WAIT), OUR_LONGEST_WAIT);
  return now + Math.round(wait * (1 + JITTER * spread));
}
