/** Calendar jobs: when one was last due by its cron expression. Alone in knowing how such an expression is read. */
import { createTask, parse } from 'node-cron';
import type { Instant } from '../core/purchase.ts';

export interface Schedule {
  /** The latest moment at or before `now` that the expression names, in UTC; null when there was none in four years. */
  latest(now: Instant): Instant | null;
}

const DAY = 86_400_000;
/** Long enough to come by a 29th of February. */
const DAYS_LOOKED_AT = 4 * 366;

/** Reads a cron expression of five fields, or six with seconds in front. Its times are UTC, which no clock change skips. */
export function createSchedule(expression: string): Schedule {
  const { hour, minute, second } = parse(expression);
  // Only asked whether a moment matches: a timer of its own would say nothing about what was missed while no daemon ran.
  const task = createTask(expression, () => undefined, { timezone: 'UTC' });
  const times = hour
    .flatMap((h) => minute.flatMap((m) => second.map((s) => ((h * 60 + m) * 60 + s) * 1_000)))
    .sort((a, b) => b - a);
  const first = times.at(-1)!;
  return {
    latest: (now) => {
      const today = Math.floor(now / DAY) * DAY;
      for (let day = today; day > today - DAYS_LOOKED_AT * DAY; day -= DAY) {
        // Whether the day counts does not depend on the time of day.
        const time = task.match(new Date(day + first)) ? times.find((each) => day + each <= now) : undefined;
        if (time !== undefined) return day + time;
      }
      return null;
    },
  };
}
