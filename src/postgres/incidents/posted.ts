/** The alert that a replica posted by itself, as the database keeps it once it can. */

import type { Symptom } from '../../domain/incidents/symptom.ts';
import type { Queries } from '../connection/database.ts';
import type { EventRow } from '../events/events.ts';
import { LEASES } from '../migrations/names.ts';

/**
 * Writes the incident of which people were alerted, with the event that was posted and a delivery for each channel that took it;
 * so the judge closes the incident and alerts the same channels of its end. An incident of replicas that is open already becomes
 * one of which people were alerted: posts of several replicas have one end. Another epoch of the judge's lease refuses what the
 * judge is about to write from older rows, and keeps the order of locks.
 */
export async function recordPost(
  sql: Queries,
  { symptom, event, channels }: { symptom: Symptom; event: EventRow; channels: readonly string[] },
): Promise<void> {
  const { count, severity, since } = symptom;
  await sql`
    with raised as (update purchase_watch_internal.leases set epoch = epoch + 1 where name = ${LEASES.judge} returning name),
    alerted as (
      select coalesce(array_agg(id), '{}') as ids from purchase_watch_internal.subscribers
      where configured and audience = 'people' and name = any(${channels}::text[])),
    kept as (
      insert into purchase_watch_internal.incidents as i
        (id, kind, severity, since, opened_at, count, peak, alerted_at, alerted_count, alerted_severity, announced_at, heard)
      select ${event.incident}, 'replica', ${severity}, ${since}::timestamptz, ${event.at}::timestamptz, ${count}, ${count},
        ${event.at}::timestamptz, ${count}, ${severity}, ${event.at}::timestamptz, a.ids
      from raised cross join alerted a
      -- The answer to this very statement may have been lost.
      where not exists (select from purchase_watch_internal.events where id = ${event.id})
      on conflict (kind, site, state, subscriber) where ended_at is null do update set since = least(i.since, excluded.since),
        alerted_at = greatest(i.alerted_at, excluded.alerted_at), alerted_count = greatest(i.alerted_count, excluded.alerted_count),
        alerted_severity = greatest(i.alerted_severity, excluded.alerted_severity), announced_at = least(i.announced_at, excluded.announced_at),
        heard = array(select unnest(i.heard) union select unnest(excluded.heard))
      returning id),
    written as (
      insert into purchase_watch_internal.events (id, type, site, shard, incident, recipients, created_at, body)
      select ${event.id}, ${event.type}, ${event.site}, ${event.shard}, k.id, a.ids, ${event.at}::timestamptz, ${event.body}
      from kept k cross join alerted a returning position, shard)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at, attempts)
    select w.position, 0, unnest(a.ids), w.shard, ${event.at}::timestamptz, 'delivered', ${event.at}::timestamptz, 1
    from written w cross join alerted a`;
}
