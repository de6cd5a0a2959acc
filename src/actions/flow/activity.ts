/** Activity of all replicas in each of the last minutes: for charts of polls, errors, lag and deliveries. */

import { type Instant, isoTime, MINUTE } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { type DeliveredMinute, deliveredMinutes, type PolledMinute, polledMinutes } from '../../postgres/shards/activity.ts';
import { usualDelivered, usualPolled } from '../../postgres/shards/usual-activity.ts';

/** A day; upkeep keeps minutes of as many days as the usual activity is reckoned from. */
export const MOST_MINUTES = 1_440;
export const DEFAULT_MINUTES = 60;
const USUAL_MINUTES = 60;

interface ActivityWanted {
  /** Polls at one site; null: at all. */
  readonly site: string | null;
  /** Deliveries to one subscriber; null: to all. They belong to no site. */
  readonly subscriber: string | null;
  /** How many, the present one included; at most `MOST_MINUTES`. */
  readonly minutes: number;
  /** The minutes before this moment instead of the present ones. */
  readonly before?: Instant;
}

/**
 * Reads each minute, the oldest first; minutes in which nothing was done are there with zeros. `usual`: a minute of the hour up to now on
 * the days before, on average; null until enough days are kept.
 */
export async function readActivity(sql: Sql, { site, subscriber, minutes, before }: ActivityWanted) {
  const now = before ?? (await databaseNow(sql));
  const present = Math.floor(now / MINUTE) * MINUTE;
  const last = before === undefined ? present : present - MINUTE;
  const first = last - (minutes - 1) * MINUTE;
  // The hour up to the present minute, which is not over.
  const hour = { first: present - USUAL_MINUTES * MINUTE, last: present - MINUTE };
  const [polled, delivered, usualPolls, usualDeliveries] = await Promise.all([
    polledMinutes(sql, { first, last }, site),
    deliveredMinutes(sql, { first, last }, subscriber),
    usualPolled(sql, hour, site),
    usualDelivered(sql, hour, subscriber),
  ]);
  const polls = new Map(polled.map((row) => [row.minute, row]));
  const deliveries = new Map(delivered.map((row) => [row.minute, row]));
  return {
    at: isoTime(now),
    site,
    subscriber,
    usual: { polls: null, failedPolls: null, greatestLagMs: null, delivered: null, ...usualPolls, ...usualDeliveries },
    minutes: Array.from({ length: minutes }, (_, place) => {
      const minute = first + place * MINUTE;
      return minuteBody(minute, polls.get(minute), deliveries.get(minute));
    }),
  };
}

function minuteBody(minute: Instant, polled: PolledMinute | undefined, delivered: DeliveredMinute | undefined) {
  const { polls = 0, failedPolls = 0, changes = 0 } = polled ?? {};
  return {
    at: isoTime(minute),
    polls,
    failedPolls,
    changes,
    greatestLagMs: polls === 0 ? null : (polled?.greatestLag ?? 0),
    delivered: delivered?.delivered ?? 0,
    failedAttempts: delivered?.failedAttempts ?? 0,
  };
}
