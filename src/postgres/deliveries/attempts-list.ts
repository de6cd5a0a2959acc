/** The latest attempts of a subscriber, over all of its deliveries. */

import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';
import type { AttemptRow } from './delivery-list.ts';

export interface SubscriberAttempt extends AttemptRow {
  readonly delivery: number;
  readonly at: Instant;
}

/**
 * The last attempts of the deliveries that were delivered or given up last, and of those that fail now; the latest first.
 * Reads at most so many deliveries of each of the three, each from the end of an index, however many there are.
 */
export const latestAttempts = (sql: Queries, subscriber: number, limit: number) => sql<SubscriberAttempt[]>`
    with delivered as materialized (
      select id, attempts, settled_at, took_ms, http_status, excerpt from purchase_watch_internal.deliveries
      where subscriber = ${subscriber} and status = 'delivered' order by id + 0 desc limit ${limit}),
    given_up as materialized (
      select id from purchase_watch_internal.deliveries
      where subscriber = ${subscriber} and status = 'exhausted' order by settled_at desc limit ${limit}),
    failing as materialized (
      select id from purchase_watch_internal.deliveries
      where subscriber = ${subscriber} and status = 'pending' and attempts > attempts_before order by id limit ${limit})
    select id as delivery, number, at, took_ms, http_status, outcome, fault, excerpt
    from (
      select id, attempts as number, settled_at as at, took_ms, http_status, 'delivered' as outcome, null as fault, excerpt
      from delivered where took_ms is not null
      union all
      select a.delivery, a.number, a.at, a.took_ms, a.http_status, a.outcome, a.fault, a.excerpt
      from (select id from delivered where attempts > 1 union all select id from given_up union all select id from failing) d
      cross join lateral (
        select * from purchase_watch_internal.attempts t where t.delivery = d.id order by t.number desc limit ${limit}) a) every
    order by at desc, id desc, number desc limit ${limit}`;

/** The body of a delivery's event, as it is sent; null when there is no such delivery. */
export const bodyOfDelivery = (sql: Queries, id: number) =>
  firstValue<string | null>(sql`
    select e.body from purchase_watch_internal.deliveries d join purchase_watch_internal.events e on e.position = d.event
    where d.id = ${id}`);
