/** Reads `Retry-After` (RFC 9110, 10.2.3): a number of seconds, or a date in one of HTTP's three forms. */
import type { Instant, Milliseconds } from '../core/purchase.ts';

/** Longer requests are cut to this: a mistyped header must not silence a site for days. */
const LONGEST: Milliseconds = 3_600_000;

/**
 * How long the service asks us to wait, from 0 to one hour; null when it says nothing that can be read.
 * A date is measured from the answer's own `Date` when it has one, because the two come from the same clock;
 * `now` (epoch milliseconds) stands in when it has none.
 */
export function readRetryAfter(
  headers: { readonly 'retry-after'?: unknown; readonly date?: unknown },
  now: Instant,
): Milliseconds | null {
  const asked = headers['retry-after'];
  if (typeof asked !== 'string') return null;
  const text = asked.trim();
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : readHttpDate(text) - (readHttpDate(headers.date) || now);
  return Number.isNaN(wait) ? null : Math.min(Math.max(wait, 0), LONGEST);
}

/** Epoch milliseconds, or NaN. The oldest of the three forms names no zone and means GMT like the others. */
function readHttpDate(value: unknown): Instant {
  if (typeof value !== 'string' || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(value)) return Number.NaN;
  return Date.parse(value.endsWith('GMT') ? value : `${value} GMT`);
}
