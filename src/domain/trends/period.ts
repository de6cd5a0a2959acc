/** The time that trends are of, and the time before that they are compared with. Pure. */
import { DAY, HOUR, type Instant, type Milliseconds } from '../values/time.ts';

export const TREND_RANGES = ['24h', '7d', '30d', '90d'] as const;
export type TrendRange = (typeof TREND_RANGES)[number];

/** The length of each range, and the time that it is compared with, in words. */
export const RANGE_WORDS = {
  '24h': { length: '24 hours', before: 'the same hours a week before' },
  '7d': { length: '7 days', before: 'the 7 days before' },
  '30d': { length: '30 days', before: 'the 30 days before' },
  '90d': { length: '90 days', before: 'the 90 days before' },
} as const satisfies Readonly<Record<TrendRange, unknown>>;

/** From a moment on, and up to another one. */
export interface Period {
  readonly from: Instant;
  readonly to: Instant;
}

/** How a zone shows time: the local day of a moment as its midnight in UTC, and the moment of a local time given as one of UTC. */
export interface Days {
  day(at: Instant): Instant;
  instant(local: Milliseconds): Instant;
}

const DAYS: Readonly<Record<Exclude<TrendRange, '24h'>, number>> = { '7d': 7, '30d': 30, '90d': 90 };

/**
 * Whole days of the zone up to today's beginning, and as many before them; for 24 hours, whole hours, and the same hours a week
 * ago. The present day, or hour, is left out: it is not over.
 */
export function periodsOf(range: TrendRange, now: Instant, days: Days): { readonly present: Period; readonly before: Period } {
  if (range === '24h') {
    const to = Math.floor(now / HOUR) * HOUR;
    const present = { from: to - DAY, to };
    return { present, before: { from: present.from - 7 * DAY, to: to - 7 * DAY } };
  }
  const today = days.day(now);
  const at = (back: number) => days.instant(today - back * DAY);
  const length = DAYS[range];
  return { present: { from: at(length), to: at(0) }, before: { from: at(2 * length), to: at(length) } };
}
