/** How many deliveries wait for a subscriber, and of which types. Counted when asked: a count that is kept would cost each delivery more. */

import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';

/** Waiting deliveries are counted up to this, within 40 ms, because the count needs an index alone; of more the answer is that there are at least so many. */
export const MOST_WAITING = 100_000;
/** Of so many the types are counted, the oldest first: each needs its event. */
export const MOST_TYPED = 20_000;

/** How many deliveries wait for a subscriber; counting ends at `MOST_WAITING`. */
export const waitingFor = (sql: Queries, subscriber: number) =>
  firstValue<number>(sql`
    select count(*) from (
      select from purchase_watch_internal.deliveries where subscriber = ${subscriber} and status = 'pending' limit ${MOST_WAITING}) d`);

/** Waiting deliveries of one type of events. */
export interface WaitingType {
  readonly type: string;
  readonly count: number;
  /** When the first of the events was made. */
  readonly oldest: Instant;
}

/** The waiting deliveries of a subscriber by type, the most first; of the oldest `MOST_TYPED`. */
export const waitingTypes = (sql: Queries, subscriber: number) => sql<WaitingType[]>`
    select e.type, count(*), min(e.created_at) as oldest
    from (
      select event from purchase_watch_internal.deliveries
      where subscriber = ${subscriber} and status = 'pending' order by id + 0 limit ${MOST_TYPED}) d
    -- Events one by one: for a join the planner may read the whole table.
    cross join lateral (select type, created_at from purchase_watch_internal.events where position = d.event limit 1) e
    group by e.type order by count desc, e.type`;
