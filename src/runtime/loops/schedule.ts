/** Calendar jobs: when one was last due by its cron expression, and when it is next. Alone in knowing how such an expression is read. */

import { createTask, parse } from 'node-cron';
import { DAY, type Instant, type Milliseconds } from '../../domain/values/time.ts';

export type Schedule = ReturnType<typeof createSchedule>;

/** Long enough to come by a 29th of February. */
const DAYS_LOOKED_AT = 4 * 366;
/** Days whose moments are kept: those around the present one are asked for again and again. */
const DAYS_KEPT = 8;

// Node 24 has no Temporal of its own.
const time: typeof Temporal = globalThis.Temporal ?? ((await import('temporal-polyfill')).Temporal as unknown as typeof Temporal);

/**
 * Reads a cron expression of five fields, or six with seconds in front, as clocks in a zone (IANA name) show it; UTC unless
 * given. Every local time that the expression names is one moment: one that the clocks show twice is the first of the two, one
 * that they skip comes as much later as they skipped. Throws RangeError when there is no such zone.
 */
export function createSchedule(expression: string, timeZone = 'UTC') {
  const { hour, minute, second } = parse(expression);
  // Only asked whether a day matches: a timer of its own would say nothing about what was missed while no daemon ran.
  const task = createTask(expression, () => undefined, { timezone: 'UTC' });
  const times = hour.flatMap((h) => minute.flatMap((m) => second.map((s) => ((h * 60 + m) * 60 + s) * 1_000)));
  const zone = zoneOf(timeZone);
  const known = new Map<Instant, readonly Instant[]>();

  /** The moments of a local day, which is written as its midnight in UTC; the latest first. */
  const momentsOf = (day: Instant): readonly Instant[] => {
    const before = known.get(day);
    if (before !== undefined) return before;
    // Whether the day counts does not depend on the time of day.
    const moments = task.match(new Date(day + times[0]!))
      ? times.map((each) => zone.instant(day + each)).sort((a, b) => b - a)
      : [];
    if (known.size >= DAYS_KEPT) known.clear();
    known.set(day, moments);
    return moments;
  };

  return {
    /** The latest moment at or before `now` that the expression names; null when there was none in four years. */
    latest: (now: Instant): Instant | null => {
      // A clock that is set back over midnight has shown times of the next day before.
      const newest = zone.day(now) + DAY;
      for (let day = newest; day > newest - DAYS_LOOKED_AT * DAY; day -= DAY) {
        const moment = momentsOf(day).find((each) => each <= now);
        if (moment !== undefined) return moment;
      }
      return null;
    },
    /** The first moment after `now` that the expression names; null when there is none in four years. */
    next: (now: Instant): Instant | null => {
      const oldest = zone.day(now) - DAY;
      for (let day = oldest; day < oldest + DAYS_LOOKED_AT * DAY; day += DAY) {
        const moment = momentsOf(day).findLast((each) => each > now);
        if (moment !== undefined) return moment;
      }
      return null;
    },
  };
}

export interface Zone {
  /** The local day of a moment, as its midnight in UTC. */
  day(at: Instant): Instant;
  /** The time that local clocks show at a moment, as if it were a time of UTC. */
  local(at: Instant): Milliseconds;
  /** The moment at which local clocks show a time, given as if it were one of UTC. */
  instant(local: Milliseconds): Instant;
}

/** Whether there is a zone of this name (IANA). */
export function isZone(name: string): boolean {
  try {
    zoneOf(name).day(0);
    return true;
  } catch {
    return false;
  }
}

/** How clocks in a zone (IANA name) show time. Throws RangeError when there is no such zone. */
export function zoneOf(timeZone: string): Zone {
  if (timeZone === 'UTC') return { day: (at) => Math.floor(at / DAY) * DAY, local: (at) => at, instant: (local) => local };
  const zoned = (at: Instant, zone: string) => time.Instant.fromEpochMilliseconds(Math.floor(at)).toZonedDateTimeISO(zone);
  zoned(0, timeZone);
  return {
    day: (at) => {
      const { year, month, day } = zoned(at, timeZone);
      return Date.UTC(year, month - 1, day);
    },
    local: (at) => at + zoned(at, timeZone).offsetNanoseconds / 1e6,
    instant: (local) =>
      zoned(local, 'UTC').toPlainDateTime().toZonedDateTime(timeZone, { disambiguation: 'compatible' }).epochMilliseconds,
  };
}
