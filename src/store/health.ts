/** The health of subscribers: written when one is paused, erased when it is well again. */
import type { SubscriberHealth } from '../core/health.ts';
import type { Instant } from '../core/purchase.ts';
import type { Queries } from './database.ts';

/** Writes that a subscriber is left alone, unless another replica knows of more failures, and tells everybody. */
export async function savePause(sql: Queries, subscriber: number, health: SubscriberHealth): Promise<void> {
  const { failures, pauses, failingSince, pausedUntil, lastError } = health;
  await sql`
    with saved as (
      insert into purchase_watch.subscriber_health as h (subscriber, failures, pauses, failing_since, paused_until, last_error)
      select id, ${failures}, ${pauses}, to_timestamp(${failingSince}::float8 / 1000), to_timestamp(${pausedUntil}::float8 / 1000), ${lastError}
      from purchase_watch.subscribers where id = ${subscriber}
      on conflict (subscriber) do update set failures = excluded.failures, pauses = excluded.pauses,
        failing_since = coalesce(h.failing_since, excluded.failing_since), paused_until = greatest(h.paused_until, excluded.paused_until),
        last_error = excluded.last_error, trying_until = null
      where excluded.failures >= h.failures returning subscriber)
    select pg_notify('purchase_watch_wake', 'subscribers') from saved`;
}

/** Forgets that a subscriber failed; false when nothing was known. */
export async function eraseHealth(sql: Queries, subscriber: number): Promise<boolean> {
  const rows = await sql`
    with erased as (delete from purchase_watch.subscriber_health where subscriber = ${subscriber} returning subscriber)
    select pg_notify('purchase_watch_wake', 'subscribers') from erased`;
  return rows.length > 0;
}

/** Whether this replica is the one that tries a subscriber whose pause is over; until then nobody else does. */
export async function claimTry(
  sql: Queries,
  subscriber: number,
  { now, until }: { now: Instant; until: Instant },
): Promise<boolean> {
  const rows = await sql`
    update purchase_watch.subscriber_health set trying_until = to_timestamp(${until}::float8 / 1000)
    where subscriber = ${subscriber} and (trying_until is null or trying_until <= to_timestamp(${now}::float8 / 1000))
      and (paused_until is null or paused_until <= to_timestamp(${now}::float8 / 1000)) returning subscriber`;
  return rows.length > 0;
}
