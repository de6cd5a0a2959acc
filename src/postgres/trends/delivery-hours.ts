/** Attempts of deliveries by subscriber, hour, answer and time: counted with the attempts, and folded later. */

import type { Fragment, Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';

/** Rows that one statement folds at most; further rows wait for the next statement. */
const FOLDED_AT_ONCE = 20_000;

/**
 * The part of a statement that counts the attempts of its part `settled (subscriber, at, took, http_status, delivered)`. It only
 * appends rows, so that no settling waits for another.
 */
export const countingAttempts = (sql: Queries): Fragment => sql`
    counted as (
      insert into purchase_watch_internal.delivery_hour_changes (hour, attempts, subscriber, status_class, bucket, delivered)
      select date_bin('1 hour', at, 'epoch'), count(*), subscriber, coalesce(http_status / 100, 0), purchase_watch_internal.took_bucket(took), delivered
      from settled group by 1, 3, 4, 5, 6)`;

/** Adds the counts written since the last call; answers how many rows there were. Any replica may call this at any time. */
export const foldDeliveryHours = (sql: Queries) =>
  firstValue<number>(sql`
    with taken as materialized (
      select ctid as at from purchase_watch_internal.delivery_hour_changes limit ${FOLDED_AT_ONCE} for update skip locked),
    change as (
      delete from purchase_watch_internal.delivery_hour_changes where ctid = any(array(select at from taken)) returning *),
    added as (
      insert into purchase_watch_internal.delivery_hours as h (subscriber, hour, delivered, status_class, bucket, attempts)
      select subscriber, hour, delivered, status_class, bucket, sum(attempts) from change group by 1, 2, 3, 4, 5
      -- All statements use this order, so that two never wait for each other.
      order by 1, 2, 3, 4, 5
      on conflict (subscriber, hour, delivered, status_class, bucket) do update set attempts = h.attempts + excluded.attempts)
    select count(*) as folded from change`);
