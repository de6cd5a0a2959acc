/** Test events, which one subscriber gets and no other. */
import { type EventDraft, eventBody } from '../../domain/events/make-event.ts';
import type { Queries } from '../connection/database.ts';
import { newEventId, SITE_SHARD } from './events.ts';

/**
 * Writes a test event with its one delivery, due now; answers the delivery's id. The delivery has a lane of its own, so that no
 * other delivery holds it up.
 */
export async function announceTest(
  sql: Queries,
  { subscriber, draft }: { subscriber: number; draft: EventDraft },
): Promise<number> {
  const id = newEventId(draft.at);
  const [row] = await sql<[{ delivery: number }]>`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      values (${id}, ${draft.type}, '', ${SITE_SHARD}, ${draft.at}::timestamptz, ${eventBody(id, draft)})
      returning position, id),
    delivery as (
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
      select position, -position, ${subscriber}, ${SITE_SHARD}, now() from event returning id),
    notified as (
      select pg_notify('purchase_watch_events', id) from event
      union all select pg_notify('purchase_watch_wake', 'deliveries') from event)
    select id as delivery, (select count(*) from notified) as notified from delivery`;
  return row.delivery;
}
