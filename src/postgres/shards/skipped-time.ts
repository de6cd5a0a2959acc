/** How the database's clock stepped, as replicas measured it: one row. */

import type { SkippedTime } from '../../domain/values/skipped-time.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { hasRows } from '../connection/rows.ts';

export interface ClockSteps {
  /** The sum of all steps that replicas wrote; steps back count as negative. */
  readonly stepped: Milliseconds;
  readonly skipped: SkippedTime;
}

/** The row's columns, for a statement that reads them together with other tables. */
export interface ClockStepsRow {
  readonly stepped: Milliseconds;
  readonly skippedFrom: readonly number[];
  readonly skippedUntil: readonly number[];
}

const bounds = (bound: 'lower' | 'upper'): string => `array(select ${bound}(r) from unnest(skipped) r order by r)`;

/** A subquery of one row. */
export const clockSteps = (sql: Queries): Fragment => sql`
  (select stepped_ms as stepped, ${sql.unsafe(bounds('lower'))} as skipped_from, ${sql.unsafe(bounds('upper'))} as skipped_until
  from purchase_watch_internal.database_clock)`;

export function clockStepsOf({ stepped, skippedFrom, skippedUntil }: ClockStepsRow): ClockSteps {
  return { stepped, skipped: skippedFrom.map((from, index) => ({ from, until: skippedUntil[index]! })) };
}

/** Writes further steps, unless another replica wrote some since `before` was read; answers whether they were written. */
export const noteClockSteps = (sql: Queries, { stepped, skipped }: ClockSteps, before: ClockSteps) =>
  hasRows(sql`
    update purchase_watch_internal.database_clock set stepped_ms = ${stepped}::float8::bigint, skipped = coalesce((
      select range_agg(tstzrange(s.since, s.until))
      from ${columns(sql, skipped, 's', {
        since: ['timestamptz', ({ from }) => from],
        until: ['timestamptz', ({ until }) => until],
      })}), '{}')
    where stepped_ms = ${before.stepped}::float8::bigint returning 1`);
