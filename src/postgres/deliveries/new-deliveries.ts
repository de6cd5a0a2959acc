/** The new deliveries that a statement writes, answered by the same statement, so that no read of the outbox is needed for them. */

import type { Queries } from '../connection/database.ts';
import type { EventRow } from '../events/events.ts';
import { type BehindRow, behindOf, type DueDelivery } from './deliveries.ts';

/** New deliveries of one statement. */
export interface NewDeliveries {
  /** In the order of their positions. */
  readonly rows: readonly DueDelivery[];
  /** Whether these are all; otherwise the outbox has to be read. */
  readonly isComplete: boolean;
}

/** A read of the outbox finds those beyond; the lookup of each lengthens the statement, and so its commit. */
const MOST = 500;
export const NO_DELIVERIES: NewDeliveries = { rows: [], isComplete: true };

/**
 * The part `fresh` of a statement: what its parts `event` and `delivery` of `announcing` wrote for purchases, without the
 * deliveries of a bulk load, each with the delivery before it in its lane. The lookup sees only what was committed before: of two
 * that this statement writes in a lane, the second does not name the first.
 */
export const answeringDeliveries = (sql: Queries) => sql`
    fresh as (
      select d.id as delivery, d.mark, d.subscriber, e.id as event, d.event as position,
        b.id as behind_id, b.event as behind_position, b.due_at as behind_due_at, b.rank as behind_rank
      from (select * from delivery where rank = 0 and status = 'pending' and lane > 0 order by event limit ${MOST}) d
      join event e on e.position = d.event
      left join lateral (
        select f.id, f.event, f.due_at, f.rank from purchase_watch_internal.deliveries f
        where f.subscriber = d.subscriber and f.lane = d.lane and f.status = 'pending' and (f.rank = 2, f.event) < (false, d.event)
        order by f.rank = 2 desc, f.event desc limit 1) b on true)`;

/** A row of `fresh`; other rows of its statement have null in each column. */
export interface FreshRow extends BehindRow {
  readonly delivery: number | null;
  readonly mark: number | null;
  readonly subscriber: number;
  readonly event: string;
  readonly position: number;
}

/** The columns of `fresh` in rows of other parts. */
export const NOT_FRESH =
  'null::bigint as delivery, null::integer as mark, null::integer as subscriber, null::text as event, null::bigint as position, null::bigint as behind_id, null::bigint as behind_position, null::timestamptz as behind_due_at, null::smallint as behind_rank';

/** The deliveries in a statement's answer. `events` are those of the statement. */
export function newDeliveries(rows: readonly FreshRow[], events: readonly EventRow[]): NewDeliveries {
  const byId = new Map(events.map((event) => [event.id, event]));
  const fresh = rows.filter(({ delivery }) => delivery !== null).map((row) => dueDelivery(row, byId.get(row.event)!));
  return {
    rows: fresh.sort((a, b) => a.position - b.position),
    isComplete: fresh.length < MOST && events.every(({ purchase, isBulk }) => purchase !== null && !isBulk),
  };
}

function dueDelivery(row: FreshRow, { id, type, body, at, purchase, shard }: EventRow): DueDelivery {
  return {
    id: row.delivery!,
    mark: row.mark,
    subscriber: row.subscriber,
    lane: purchase!,
    position: row.position,
    shard,
    rank: 0,
    dueAt: at,
    attempts: 0,
    attemptsBefore: 0,
    event: { id, type, body, createdAt: at },
    behind: behindOf(row),
  };
}
