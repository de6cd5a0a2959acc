/**
 * How calmly a channel for people is spoken to: what waited goes out together in one message, and within an hour there are
 * only so many. Pure.
 */
import { DAY, HOUR, type Instant, type Milliseconds } from '../values/time.ts';

/** An event that is older than this when its message leaves has waited. */
const WAITED: Milliseconds = 60_000;
/** Deliveries that wait for a channel that is off are kept so long: as long as a delivery that fails is tried. */
export const KEPT_WHILE_OFF: Milliseconds = 3 * DAY;
/** More than this in a row are one message, however new. */
const MOST_APART = 3;
/** Of the messages of an hour, so many are kept for news of what is critical. */
const KEPT_FOR_CRITICAL = 2;

/** The delivery that is next to leave. */
interface Head {
  /** When its event was made. */
  readonly madeAt: Instant;
  /** Attempts so far, and those of them that failed through the channel since a person last asked for another. */
  readonly attempts: number;
  readonly refused: number;
  /** How many wait behind it, as far as is known. */
  readonly behind: number;
}

/**
 * Why everything that waits leaves together with the head: the hour had had enough messages (`capped`), it was not taken
 * before (`refused`), no daemon could send it when it was due (`late`), the hour allows only one more for now (`last`), or
 * there are several at once. The first three make a single message a late one.
 */
export const TOGETHER_REASONS = ['capped', 'refused', 'late', 'last', 'several'] as const;
export type TogetherReason = (typeof TOGETHER_REASONS)[number];

/** Why everything that waits leaves together with the head, if anything waits; null when it leaves alone. */
export function togetherBecause(
  { madeAt, attempts, refused, behind }: Head,
  { isHeld, isLast }: { readonly isHeld: boolean; readonly isLast: boolean },
  now: Instant,
): TogetherReason | null {
  if (isHeld) return 'capped';
  if (attempts > 0) return refused > 0 ? 'refused' : 'late';
  if (now - madeAt > WAITED) return 'late';
  if (isLast) return 'last';
  return behind + 1 > MOST_APART ? 'several' : null;
}

/** Whether a single message says why it comes. */
export function isLate(reason: TogetherReason): boolean {
  return reason !== 'last' && reason !== 'several';
}

/**
 * How long to wait after a message that another sender posted to the channel. A clock that is ahead of ours makes no one
 * wait for longer than the spacing.
 */
export function restAfter(
  last: Instant,
  { spacing, now }: { readonly spacing: Milliseconds; readonly now: Instant },
): Milliseconds {
  return Math.min(Math.max(last + spacing - now, 0), spacing);
}

interface Spoken {
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
