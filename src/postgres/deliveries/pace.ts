/** How fast a subscriber took deliveries lately, and how many wait for the subscriber. */
import type { DeliveryPace } from '../../domain/deliveries/drain.ts';
import type { Queries } from '../connection/database.ts';
import { MOST_WAITING } from './waiting.ts';

/** Deliveries whose attempts are measured. */
const MEASURED = 200;

/** Measures a subscriber's pace; reads no more deliveries than it counts. */
export async function paceOf(sql: Queries, subscriber: number): Promise<Omit<DeliveryPace, 'concurrency'>> {
  // A delivery that an earlier version delivered, without its duration in the row, has a row for the attempt.
  const [row] = await sql<[Omit<DeliveryPace, 'concurrency' | 'waitingAtLeast'>]>`
    with last as (
      select d.id, d.attempts, d.took_ms from purchase_watch_internal.deliveries d
      where d.subscriber = ${subscriber} and d.status = 'delivered' order by d.id + 0 desc limit ${MEASURED}),
    took as (
      select coalesce(l.took_ms, a.took_ms) as ms from last l
      left join purchase_watch_internal.attempts a on l.took_ms is null and a.delivery = l.id and a.number = l.attempts)
    select percentile_cont(0.5) within group (order by ms) as median, count(ms) as measured,
      (select count(*) from purchase_watch_internal.replicas where expires_at > clock_timestamp())::float8 as replicas,
      (select count(*) from (
        select from purchase_watch_internal.deliveries where subscriber = ${subscriber} and status = 'pending' limit ${MOST_WAITING}) w)::float8 as waiting
    from took`;
  return { ...row, waitingAtLeast: row.waiting >= MOST_WAITING };
}
