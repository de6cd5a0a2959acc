/** What an answer's `Retry-After` asks for. */
import type { Instant, Milliseconds } from '../core/purchase.ts';

/** Reads both forms, seconds and an HTTP date; null when it is missing or neither of them. */
export function parseRetryAfter(header: string | null | undefined, now: Instant): Milliseconds | null {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  // Date.parse takes nearly anything; every form of HTTP date begins with the name of a day.
  const at = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
