/** Deliveries of one subscriber that were given up or never sent: counts them, and sends them again. */

import type { Undelivered } from '../../domain/deliveries/delivery-status.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';
import { REPLAYED } from './deliveries.ts';
import { sendingAgain } from './deliveries-again.ts';

export interface GivenUp {
  /** The subscriber's row id. */
  readonly subscriber: number;
  readonly status: Undelivered;
}

export interface GivenUpStep {
  readonly count: number;
  /** How many purchases these deliveries are about; each delivery without a purchase may count as one. */
  readonly purchases: number;
  /** When the first and the last of their events were made. */
  readonly oldest: Instant | null;
  readonly newest: Instant | null;
  /** The id of the last delivery that was read; null when there are no more. */
  readonly position: number | null;
}

/** The id of the last delivery: later ones are not part of this work. */
export const lastDelivery = (sql: Queries) =>
  firstValue<number>(sql`select coalesce(max(id), 0) as last from purchase_watch_internal.deliveries`);

/** Reads the next `limit` deliveries after an id, oldest first; unless `dryRun` asks for counts only, they go out after all new ones. */
export async function givenUpStep(
  sql: Queries,
  { subscriber, status }: GivenUp,
  { after, last, limit, dryRun }: { after: number; last: number; limit: number; dryRun: boolean },
): Promise<GivenUpStep> {
  const [row] = await sql<[GivenUpStep]>`
    with old as materialized (
      select d.* from purchase_watch_internal.deliveries d
      where d.subscriber = ${subscriber} and d.status = ${status} and d.id + 0 > ${after} and d.id + 0 <= ${last}
      order by d.id + 0 limit ${limit} ${dryRun ? sql`` : sql`for update of d`})
    ${
      dryRun
        ? sql``
        : sql`, ${sendingAgain(sql, REPLAYED)},
        notified as (select pg_notify('purchase_watch_wake', 'replays') where exists (select from again))`
    }
    select count(*), count(distinct old.lane) as purchases, max(old.id) as position,
      min(e.created_at) as oldest, max(e.created_at) as newest
      ${dryRun ? sql`` : sql`, (select count(*) from notified) as notified`}
    from old join purchase_watch_internal.events e on e.position = old.event`;
  const { count, purchases, oldest, newest, position } = row;
  return { count, purchases, oldest, newest, position };
}
