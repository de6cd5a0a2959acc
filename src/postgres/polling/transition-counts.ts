/** Counts of transitions by site, states and time: written with the transitions, and folded later. */

import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';

/** Rows that one statement folds at most; further rows wait for the next statement. */
const FOLDED_AT_ONCE = 20_000;

/**
 * The part of a recording statement that counts its transitions, one row for each edge, from its parts `transition` and
 * `written`. This part only appends rows, so that no recording waits for another. The buckets are those of domain/flow/flow.ts.
 */
export const countingTransitions = (sql: Queries) => sql`
    counted as (
      insert into purchase_watch_internal.transition_count_changes (bucket, count, from_state, to_state, site)
      select date_bin('10 minutes', t.not_after, 'epoch'), count(*), t.from_state, t.to_state, w.site
      from transition t join written w on w.id = t.purchase group by 1, 3, 4, 5)`;

/** Adds the counts written since the last call to their buckets; answers how many rows there were. Any replica may call this at any time. */
export const foldTransitionCounts = (sql: Queries) =>
  firstValue<number>(sql`
    with taken as materialized (
      select ctid as at from purchase_watch_internal.transition_count_changes limit ${FOLDED_AT_ONCE} for update skip locked),
    change as (
      delete from purchase_watch_internal.transition_count_changes where ctid = any(array(select at from taken))
      returning site, bucket, from_state, to_state, count),
    added as (
      insert into purchase_watch_internal.transition_counts as c (site, bucket, from_state, to_state, count)
      select site, bucket, from_state, to_state, sum(count) from change group by site, bucket, from_state, to_state
      -- All statements use this order, so that two never wait for each other.
      order by site, bucket, from_state, to_state
      on conflict (site, bucket, from_state, to_state) do update set count = c.count + excluded.count)
    select count(*) as folded from change`);
