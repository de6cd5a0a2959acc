/** Sums by day of stays in states with a limit. The judge writes them together with its incidents. */

import type { DwellCount } from '../../domain/stays/dwell.ts';
import { type CountedUsual, usualOf } from '../../domain/stays/usual.ts';
import { DAY, type Instant, type Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

/** Good exits of a state of a site in one bucket of domain/stays/dwell.ts. */
export interface DwellRow extends DwellCount {
  readonly site: string;
  readonly state: number;
}

export interface UsualRow extends CountedUsual {
  readonly site: string;
  readonly state: number;
}

/** Over how many days the usual is computed. */
export const USUAL_WINDOW: Milliseconds = 14 * DAY;

/** Days are those of UTC; the day of `since` is left out, so that 14 days back are 14 days with today. */
const daysAfter = (sql: Queries, since: Instant) => sql`day > (${since}::timestamptz at time zone 'UTC')::date`;

/** Dwell times of good exits of all sites or of one, merged over the days after that of `since`, by site, state and bucket. */
export const readDwell = (sql: Queries, since: Instant, site: string | null = null) => sql<DwellRow[]>`
    select site, state, bucket::integer as bucket, sum(shortest)::float8 as shortest, sum(longest)::float8 as longest
    from purchase_watch_internal.dwell_days where ${daysAfter(sql, since)} and ${site === null ? sql`true` : sql`site = ${site}`}
    group by site, state, bucket order by site, state, bucket`;

/**
 * The usual share of stuck stays and the usual number of stays a day, in each state of each site, from the days after that of
 * `since` up to `now`. The share counts calm days only; the number a day counts all days, because customers come on days of
 * trouble, too.
 */
export async function readUsual(
  sql: Queries,
  { since, now, site = null }: { since: Instant; now: Instant; site?: string | null },
): Promise<UsualRow[]> {
  const rows = await sql<{ site: string; state: number; stays: number; calm: number; calmStuck: number; first: Instant }[]>`
    select site, state, sum(well + overdue)::float8 as stays,
      coalesce(sum(well + overdue) filter (where calm), 0)::float8 as calm,
      coalesce(sum(overdue) filter (where calm), 0)::float8 as calm_stuck,
      min(day)::timestamp at time zone 'UTC' as first
    from purchase_watch_internal.stay_days where ${daysAfter(sql, since)} and ${site === null ? sql`true` : sql`site = ${site}`}
    group by site, state order by site, state`;
  return rows.map(({ first, ...numbers }) => ({
    site: numbers.site,
    state: numbers.state,
    ...usualOf({ ...numbers, days: (now - first) / DAY }),
  }));
}
