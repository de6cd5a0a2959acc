/**
 * How calmly a channel for people is spoken to: what waited goes out together in one message, and within an hour there are
 * only so many. Pure.
 */
import type { Instant, Milliseconds } from './purchase.ts';

/** What is older than this when it leaves has waited. */
const WAITED: Milliseconds = 60_000;
/** More than this in a row are one message, however new. */
const MOST_APART = 3;
/** Of the messages of an hour, so many are kept for news of what is critical. */
const KEPT_FOR_CRITICAL = 2;
const HOUR: Milliseconds = 60 * 60_000;

/** What is next to leave. */
export interface Head {
  /** When its event was made. */
  readonly madeAt: Instant;
  /** Attempts so far. */
  readonly attempts: number;
  /** How many wait behind it, as far as is known. */
  readonly behind: number;
}

/** Whether everything that waits leaves together with the head, if anything waits. */
export function leavesTogether({ madeAt, attempts, behind }: Head, now: Instant): boolean {
  return attempts > 0 || now - madeAt > WAITED || behind + 1 > MOST_APART;
}

export interface Spoken {
  /** When the channel took messages lately: distinct moments, the newest first, at least those of the last hour up to `maxPerHour`. */
  readonly messages: readonly Instant[];
  readonly maxPerHour: number;
}

/** From when on the hour allows another message; a moment that has passed when it does so now. `urgent`: it has news of what is critical. */
export function allowedFrom({ messages, maxPerHour }: Spoken, urgent: boolean): Instant {
  const most = urgent ? maxPerHour : maxPerHour - KEPT_FOR_CRITICAL;
  // The message that has to be an hour old.
  const last = messages[most - 1];
  return last === undefined ? Number.NEGATIVE_INFINITY : last + HOUR;
}

/** Whether one more message is the last that the hour allows for what is not critical. */
export function isLastOfTheHour({ messages, maxPerHour }: Spoken, now: Instant): boolean {
  return messages.filter((at) => at > now - HOUR).length + 1 >= maxPerHour - KEPT_FOR_CRITICAL;
}
