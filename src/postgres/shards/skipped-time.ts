/** Time that the database's clock skipped, as replicas measured it: one row. */

import type { SkippedTime } from '../../domain/values/clock-steps.ts';
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { jsonInstant } from '../connection/instants.ts';

/** A subquery: SkippedTime as JSON. */
export const skippedTime = (sql: Queries): Fragment => sql`
  (select coalesce(json_agg(json_build_object('from', ${sql.unsafe(jsonInstant('lower(r)'))}, 'until', ${sql.unsafe(jsonInstant('upper(r)'))}) order by r), '[]')
  from purchase_watch_internal.database_clock, unnest(skipped) r)`;

/** Writes all that the clock skipped, as this replica knows it. Times that overlap, because several replicas saw one step, become one. */
export async function writeSkipped(sql: Queries, all: SkippedTime): Promise<void> {
  await sql`
    update purchase_watch_internal.database_clock set skipped = (
      select range_agg(tstzrange(s.since, s.until)) from ${columns(sql, all, 's', {
        since: ['timestamptz', ({ from }) => from],
        until: ['timestamptz', ({ until }) => until],
      })})`;
}
