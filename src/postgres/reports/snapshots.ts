/** How the watched purchases stood every ten minutes. Upkeep writes the rows; pages about the past read them. */

import { HOUR, type Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';

/** The watched purchases of a site at a moment, or of all sites (null). */
export interface SnapshotRow {
  readonly site: string | null;
  /** First observations in the ten minutes before. */
  readonly came: number;
  readonly watching: number;
  readonly stuck: number;
  /** JSON text, which actions/then/snapshots.ts writes and reads. */
  readonly states: string;
}

/** Writes the rows of a moment, in place of earlier ones: a clock that was set back comes to the same moment again. */
export async function writeSnapshots(sql: Queries, at: Instant, rows: readonly SnapshotRow[]): Promise<void> {
  await sql`
    insert into purchase_watch_internal.snapshots as s (at, site, came, watching, stuck, states)
    select ${at}::timestamptz, site, came, watching, stuck, states
    from ${columns(sql, rows, 'r', 'site text, came bigint, watching bigint, stuck bigint, states text')}
    on conflict (site, at) do update set came = excluded.came, watching = excluded.watching, stuck = excluded.stuck, states = excluded.states`;
}

/** The rows of a moment: of all sites together, and of the sites named; none where nothing was noted. */
export const readSnapshots = (sql: Queries, at: Instant, sites: readonly string[]) => sql<SnapshotRow[]>`
    select site, came::float8 as came, watching::float8 as watching, stuck::float8 as stuck, states
    from purchase_watch_internal.snapshots where at = ${at}::timestamptz and (site is null or site = any(${sites as string[]}::text[]))`;

/** An hour by its end, with the customers who came in it and the most that were stuck at one of its moments. */
export interface SnapshotHour {
  readonly to: Instant;
  readonly came: number;
  readonly stuck: number;
}

/** The hours after `from` and up to `to`, in order; hours of which nothing was noted are missing. Reads six rows of each. */
export const snapshotHours = (sql: Queries, { from, to }: { from: Instant; to: Instant }, site: string | null) => sql<
  SnapshotHour[]
>`
    select date_bin('1 hour', at - interval '10 minutes', 'epoch') + ${HOUR} * interval '1 ms' as to,
      sum(came)::float8 as came, max(stuck)::float8 as stuck
    from purchase_watch_internal.snapshots
    where ${site === null ? sql`site is null` : sql`site = ${site}`} and at > ${from}::timestamptz and at <= ${to}::timestamptz
    group by 1 order by 1`;
