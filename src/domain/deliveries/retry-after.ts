/** Reads `Retry-After` (RFC 9110, 10.2.3): a number of seconds, or a date in one of HTTP's three forms. */
import { DAY, type Instant, type Milliseconds } from '../values/time.ts';

/** A receiver may ask for a rest, and not for silence. */
const LONGEST_REST: Milliseconds = DAY;
/** Readings of the database's clock differ by tens of milliseconds under load, and nothing may come before the rest is over. */
const CLOCKS_DIFFER: Milliseconds = 100;

/** How long to rest after an answer that asked for so much, at most a day; 0 when it asked for nothing. */
export function restAsked(asked: Milliseconds | null): Milliseconds {
  return asked === null || asked <= 0 ? 0 : Math.ceil(Math.min(asked, LONGEST_REST)) + CLOCKS_DIFFER;
}

/**
 * How long an answer asks us to wait, from 0 on; null when it says nothing that can be read. A date is measured from the
 * answer's own `Date` when it has one, because the two come from the same clock; `now` (epoch milliseconds) stands in.
 */
export function readRetryAfter(asked: unknown, { date, now }: { date?: unknown; now: Instant }): Milliseconds | null {
  if (typeof asked !== 'string') return null;
  const text = asked.trim();
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : readHttpDate(text) - (readHttpDate(date) || now);
  return Number.isNaN(wait) ? null : Math.max(wait, 0);
}

/** Epoch milliseconds, or NaN. The oldest of the three forms names no zone and means GMT like the others. */
function readHttpDate(value: unknown): Instant {
  if (typeof value !== 'string' || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(value)) return Number.NaN;
  return Date.parse(value.endsWith('GMT') ? value : `${value} GMT`);
}
