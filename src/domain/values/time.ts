/** Moments and lengths of time, and how they are written. */

/** Epoch milliseconds. */
export type Instant = number;

/** A length of time in milliseconds. */
export type Milliseconds = number;

export const SECOND: Milliseconds = 1_000;
export const MINUTE: Milliseconds = 60 * SECOND;
export const HOUR: Milliseconds = 60 * MINUTE;
export const DAY: Milliseconds = 24 * HOUR;

/** The first of some instants; null where there is none. */
export function earliest(instants: readonly Instant[]): Instant | null {
  return instants.length === 0 ? null : Math.min(...instants);
}

/** An instant as events, API and logs show it: UTC with milliseconds. */
export function isoTime(at: Instant): string {
  return new Date(at).toISOString();
}

/** The same, where there may be none. */
export function isoTimeOrNull(at: Instant | null): string | null {
  return at === null ? null : isoTime(at);
}
