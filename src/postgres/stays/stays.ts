/** Stays that ended or became stuck, until the judge has added them up, and the judge's memory of each state of a site. */

import type { Detection } from '../../domain/incidents/detection.ts';
import type { SiteStay } from '../../domain/stays/stay.ts';
import type { DwellChange, StayChange } from '../../domain/stays/stay-counts.ts';
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';

export interface StoredStay extends SiteStay {
  readonly id: number;
  /** The row id of the stay's purchase; null in rows of an earlier version. */
  readonly purchase: number | null;
}

/** The columns that name a stay: a database that went back may give its id to another customer's. */
const STAY = 'id bigint, customer bigint';

/**
 * The next stays in the order in which they were written. A stuck one whose purchase's row another session has locked is left
 * for a later call: the note that it is stuck refers to that row, and writing it would wait for the lock.
 */
export const loadStays = (sql: Queries, limit: number) => sql<StoredStay[]>`
    with next as materialized (select * from purchase_watch_internal.stays order by id limit ${limit}),
    stuck as materialized (
      select p.id from purchase_watch.purchases p where p.id = any(array(select purchase from next where outcome = 'overdue'))),
    unlocked as materialized (
      select p.id from purchase_watch.purchases p where p.id = any(array(select id from stuck)) for key share skip locked)
    select id, purchase, site, state, to_state, outcome, customer::text as customer, first_sight, found_late, entered_at, at,
      shortest_ms as shortest, longest_ms as longest
    from next where outcome <> 'overdue' or purchase is null
      or purchase not in (select id from stuck where id not in (select id from unlocked)) order by id`;

/** The judge's memory of every state of a site. */
export async function loadDetections(sql: Queries): Promise<Detection[]> {
  const rows = await sql<{ memory: string }[]>`select memory from purchase_watch_internal.detections order by site, state`;
  return rows.map(({ memory }) => JSON.parse(memory) as Detection);
}

/** The results that the judge writes after a look at stays. */
export interface StayResults {
  /** Stays that were added up, and are deleted. */
  readonly taken: readonly StoredStay[];
  readonly detections: readonly Detection[];
  readonly dwell: readonly DwellChange[];
  readonly stays: readonly StayChange[];
  readonly firstLooks: readonly { readonly site: string; readonly at: Instant }[];
}

/** Parts of a statement that write results of stays; `held` is the condition that this replica holds the judge's lease. */
export function writingStays(sql: Queries, { taken, detections, dwell, stays, firstLooks }: StayResults) {
  const held = sql`exists (select from held)`;
  const memories = detections.map((each) => ({ site: each.site, state: each.state, memory: JSON.stringify(each) }));
  return sql`
    gone as (
      delete from purchase_watch_internal.stays s using ${columns(sql, taken, 't', STAY)}
      where s.id = t.id and s.customer = t.customer and ${held}),
    remembered as (
      insert into purchase_watch_internal.detections (site, state, memory)
      select * from ${columns(sql, memories, 'r', 'site text, state integer, memory text')} where ${held}
      on conflict (site, state) do update set memory = excluded.memory),
    dwelt as (
      insert into purchase_watch_internal.dwell_days as d (site, state, day, bucket, shortest, longest)
      select * from ${columns(sql, dwell, 'r', 'site text, state integer, day date, bucket smallint, shortest integer, longest integer')} where ${held}
      on conflict (site, state, day, bucket) do update set
        shortest = d.shortest + excluded.shortest, longest = d.longest + excluded.longest),
    stayed as (
      insert into purchase_watch_internal.stay_days as d (site, state, day, calm, well, overdue, other)
      select * from ${columns(sql, stays, 'r', 'site text, state integer, day date, calm boolean, well integer, overdue integer, other integer')} where ${held}
      on conflict (site, state, day, calm) do update set
        well = d.well + excluded.well, overdue = d.overdue + excluded.overdue, other = d.other + excluded.other),
    looked as (
      update purchase_watch_internal.sites s set first_look_since = coalesce(s.first_look_since, f.at)
      from ${columns(sql, firstLooks, 'f', 'site text, at timestamptz')}
      where s.name = f.site and s.first_look_since is null and ${held})`;
}
