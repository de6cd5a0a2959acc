/** Time that the database's clock skipped, as replicas measured it: one row. */

import type { SkippedTime } from '../../domain/values/skipped-time.ts';
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';

/** The row's columns, for a statement that reads them together with other tables. */
export interface SkippedRow {
  readonly skippedFrom: readonly number[];
  readonly skippedUntil: readonly number[];
}

const bounds = (bound: 'lower' | 'upper'): string => `array(select ${bound}(r) from unnest(skipped) r order by r)`;

/** A subquery of one row. */
export const skipped = (sql: Queries): Fragment => sql`
  (select ${sql.unsafe(bounds('lower'))} as "skippedFrom", ${sql.unsafe(bounds('upper'))} as "skippedUntil"
  from purchase_watch_internal.database_clock)`;

export function skippedOf({ skippedFrom, skippedUntil }: SkippedRow): SkippedTime {
  return skippedFrom.map((from, index) => ({ from, until: skippedUntil[index]! }));
}

/** Writes all that the clock skipped, as this replica knows it. Times that overlap, because several replicas saw one step, become one. */
export async function writeSkipped(sql: Queries, all: SkippedTime): Promise<void> {
  await sql`
    update purchase_watch_internal.database_clock set skipped = (
      select range_agg(tstzrange(s.since, s.until)) from ${columns(sql, all, 's', {
        since: ['timestamptz', ({ from }) => from],
        until: ['timestamptz', ({ until }) => until],
      })})`;
}
