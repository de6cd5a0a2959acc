/** A moment as people give it: a time with its zone, or how long ago. */

import { parseDuration } from '../../domain/values/duration.ts';
import type { Instant } from '../../domain/values/time.ts';
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
