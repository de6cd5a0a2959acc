/** What was done in each minute, over all replicas: for the rates that people are shown. */

import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';

/** Work of one replica at one site since it last said so. */
export interface Activity {
  readonly site: string;
  readonly polls: number;
  readonly failedPolls: number;
  /** Changes of state. */
  readonly changes: number;
}

/** Adds work to the present minute. */
export async function addActivity(sql: Queries, work: readonly Activity[]): Promise<void> {
  await sql`
    insert into purchase_watch_internal.activity as a (site, minute, polls, failed_polls, changes)
    select site, date_trunc('minute', now()), polls, failed, changes
    from ${columns(sql, work, 'r', {
      site: ['text', ({ site }) => site],
      polls: ['bigint', (w) => w.polls],
      failed: ['bigint', (w) => w.failedPolls],
      changes: ['bigint', (w) => w.changes],
    })}
    -- One order for everybody, so that two replicas never wait for each other.
    order by site
    on conflict (site, minute) do update set polls = a.polls + excluded.polls, failed_polls = a.failed_polls + excluded.failed_polls,
      changes = a.changes + excluded.changes`;
}

/** How much was done at a site within the last minutes, the present one included. */
export interface ActivitySums extends Activity {
  /** So many whole minutes, and what has passed of the present one. */
  readonly minutes: number;
}

/** What was done at each site over the last so many minutes; sites where nothing was done are missing. */
export async function recentActivity(sql: Queries, minutes: number): Promise<ActivitySums[]> {
  return sql<ActivitySums[]>`
    select a.site, sum(a.polls)::float8 as polls, sum(a.failed_polls)::float8 as "failedPolls", sum(a.changes)::float8 as changes,
      (extract(epoch from now() - date_trunc('minute', now())) / 60 + ${minutes}::float8)::float8 as minutes
    from purchase_watch_internal.sites s
    cross join lateral (
      select * from purchase_watch_internal.activity where site = s.name and minute >= date_trunc('minute', now()) - ${minutes}::float8 * interval '1 minute') a
    group by a.site order by a.site`;
}
