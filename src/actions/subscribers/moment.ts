/** A moment as people give it: a time with its zone, or how long ago; and whether something is kept of it. */

import { parseDuration } from '../../domain/values/duration.ts';
import { DAY, HOUR, type Instant, isoTime } from '../../domain/values/time.ts';
import type { Checked } from './rules.ts';

const ISO = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Reads `2h` (before now) or `2026-11-20T09:15:00Z`. */
export function readMoment(text: string, now: Instant): Checked<Instant> {
  const back = parseDuration(text);
  if (back !== null) return { is: Math.max(now - back, 0) };
  const [, year, month, day] = ISO.exec(text) ?? [];
  const at = Date.parse(text);
  // A day that its month has not would quietly become one of the next.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  if (Number.isFinite(at) && at >= 0 && isDay) return { is: at };
  return { problem: 'must be a time with its zone such as 2026-11-20T09:15:00Z, or a duration back such as 2h' };
}

/** How far back people can look; snapshots and counts are kept for a day more. */
const PAST_DAYS = 14;

/** The earliest moment of which something may be kept: the first whole hour of the last 14 days. */
export const firstPastMoment = (now: Instant): Instant => Math.floor(now / HOUR) * HOUR - PAST_DAYS * DAY;

/** A moment whose page and answer of Then may show something, or the problem with it. */
export function pastMoment(at: Instant, now: Instant): Checked<Instant> {
  const first = firstPastMoment(now);
  if (at > now) return { problem: `is still to come; give a time from ${isoTime(first)} on that has passed` };
  if (at < first) return { problem: `is more than ${PAST_DAYS} days ago; give a time from ${isoTime(first)} on` };
  return { is: at };
}
