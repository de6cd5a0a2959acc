/** The health of subscribers: a row is written when a subscriber is paused, and deleted when the subscriber takes events again. */

import { ADDRESS_REFUSED, type SubscriberHealth, type Unreached } from '../../domain/deliveries/subscriber-health.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { hasRows } from '../connection/rows.ts';

/**
 * Writes that a subscriber is paused, and wakes all replicas. Where another replica wrote more failures, these stay, and only a
 * longer pause is written.
 */
export async function savePause(
  sql: Queries,
  subscriber: number,
  health: SubscriberHealth,
  allowed: string | null = null,
): Promise<void> {
  const { failures, pauses, failingSince, pausedUntil, lastError, cause = null } = health;
  await sql`
    with saved as (
      insert into purchase_watch_internal.subscriber_health as h (subscriber, failures, pauses, failing_since, paused_until, last_error, cause, allowed)
      select id, ${failures}, ${pauses}, ${failingSince}::timestamptz, ${pausedUntil}::timestamptz, ${lastError}, ${cause}, ${allowed}
      from purchase_watch_internal.subscribers where id = ${subscriber}
      on conflict (subscriber) do update set
        failures = greatest(h.failures, excluded.failures), pauses = case when excluded.failures >= h.failures then excluded.pauses else h.pauses end,
        failing_since = coalesce(h.failing_since, excluded.failing_since), paused_until = greatest(h.paused_until, excluded.paused_until),
        last_error = excluded.last_error, cause = excluded.cause, allowed = excluded.allowed, trying_until = null
      where excluded.failures >= h.failures or excluded.paused_until > h.paused_until returning subscriber)
    select pg_notify('purchase_watch_wake', 'subscribers') from saved`;
}

/** How many of the subscriber's newest deliveries are read. */
const NEWEST = 100;

/** Whether a subscriber has taken a delivery since a moment, from any replica. */
export const hasTaken = (sql: Queries, subscriber: number, since: Instant) =>
  hasRows(sql`
    select from (
      select settled_at from purchase_watch_internal.deliveries
      where subscriber = ${subscriber} and status = 'delivered' order by (id + 0) desc limit ${NEWEST}) newest
    where settled_at > ${since}::timestamptz limit 1`);

/** Deletes the failures of a subscriber that took a delivery; failures on the daemons' side stay. */
export async function eraseFailures(sql: Queries, subscriber: number): Promise<void> {
  await sql`
    with erased as (
      delete from purchase_watch_internal.subscriber_health where subscriber = ${subscriber} and our_failing_since is null returning subscriber),
    kept as (
      update purchase_watch_internal.subscriber_health
      set failures = 0, pauses = 0, failing_since = null, paused_until = null, trying_until = null, last_error = null, cause = null, allowed = null
      where subscriber = ${subscriber} and our_failing_since is not null returning subscriber)
    select pg_notify('purchase_watch_wake', 'subscribers') from (select from erased union all select from kept) changed`;
}

/** Writes that a replica cannot reach a subscriber, and wakes all replicas when that is news. */
export async function saveUnreached(
  sql: Queries,
  subscriber: number,
  { failures, since, error, replica }: Unreached & { readonly replica: string },
): Promise<void> {
  await sql`
    with before as (select our_failing_since as since from purchase_watch_internal.subscriber_health where subscriber = ${subscriber}),
    saved as (
      insert into purchase_watch_internal.subscriber_health as h (subscriber, our_failures, our_failing_since, our_error, our_replica)
      select id, ${failures}, ${since}::timestamptz, ${error}, ${replica} from purchase_watch_internal.subscribers
      where id = ${subscriber}
      on conflict (subscriber) do update set our_failures = excluded.our_failures, our_error = excluded.our_error,
        our_failing_since = coalesce(h.our_failing_since, excluded.our_failing_since), our_replica = excluded.our_replica
      returning subscriber)
    select pg_notify('purchase_watch_wake', 'subscribers') from saved where not exists (select from before where since is not null)`;
}

/**
 * Writes that a replica does not even try a subscriber, because the replica cannot use what is stored of the subscriber, and
 * wakes all replicas when that is news. What another living replica wrote stays. A replica whose lease is over writes nothing,
 * because the next reader would delete it at once.
 */
export async function saveUntried(
  sql: Queries,
  subscriber: number,
  { since, error, replica }: Pick<Unreached, 'since' | 'error'> & { readonly replica: string },
): Promise<void> {
  await sql`
    with saved as (
      insert into purchase_watch_internal.subscriber_health as h (subscriber, our_failures, our_failing_since, our_error, our_replica)
      select s.id, 0, ${since}::timestamptz, ${error}, ${replica} from purchase_watch_internal.subscribers s
      where s.id = ${subscriber} and exists (select from purchase_watch_internal.replicas r where r.id = ${replica} and r.expires_at > now())
      on conflict (subscriber) do update set our_failures = 0, our_error = excluded.our_error,
        our_failing_since = coalesce(h.our_failing_since, excluded.our_failing_since), our_replica = excluded.our_replica
      where h.our_failing_since is null or ((h.our_failures, h.our_error) is distinct from (0, excluded.our_error)
        and (h.our_replica = excluded.our_replica
          or not exists (select from purchase_watch_internal.replicas r where r.id = h.our_replica and r.expires_at > now())))
      returning subscriber)
    select pg_notify('purchase_watch_wake', 'subscribers') from saved`;
}

/**
 * Deletes the note that a replica does not reach a subscriber, now that the replica reached it; false when there is no note, or
 * when another living replica wrote it: that replica's way may still be broken. With `untried`, deletes only the note that the
 * subscriber was not even tried.
 */
export const eraseUnreached = (
  sql: Queries,
  subscriber: number,
  replica: string,
  { untried = false }: { readonly untried?: boolean } = {},
) =>
  hasRows(sql`
    with past as materialized (
      select h.subscriber, h.failures = 0 and h.paused_until is null as is_all from purchase_watch_internal.subscriber_health h
      where h.subscriber = ${subscriber} and h.our_failing_since is not null and (h.our_failures = 0 or not ${untried}::boolean)
        and (h.our_replica = ${replica}
        or not exists (select from purchase_watch_internal.replicas r where r.id = h.our_replica and r.expires_at > now())) for update),
    erased as (
      delete from purchase_watch_internal.subscriber_health h using past p where h.subscriber = p.subscriber and p.is_all returning h.subscriber),
    kept as (
      update purchase_watch_internal.subscriber_health h set our_failures = 0, our_failing_since = null, our_error = null, our_replica = null
      from past p where h.subscriber = p.subscriber and not p.is_all returning h.subscriber)
    select pg_notify('purchase_watch_wake', 'subscribers') from (select from erased union all select from kept) changed`);

/** Deletes all noted trouble with a subscriber, on the subscriber's side and the daemons'; false when none was noted. */
export const eraseHealth = (sql: Queries, subscriber: number) =>
  hasRows(sql`
    with erased as (delete from purchase_watch_internal.subscriber_health where subscriber = ${subscriber} returning subscriber)
    select pg_notify('purchase_watch_wake', 'subscribers') from erased`);

/** Whether this replica is the one that tries a subscriber whose pause is over; until then no other replica does. */
export const claimTry = (sql: Queries, subscriber: number, { now, until }: { now: Instant; until: Instant }) =>
  hasRows(sql`
    update purchase_watch_internal.subscriber_health set trying_until = ${until}::timestamptz
    where subscriber = ${subscriber} and (trying_until is null or trying_until <= ${now}::timestamptz)
      and (paused_until is null or paused_until <= ${now}::timestamptz) returning subscriber`);

/** Subscribers whose pause began because their address was refused while other addresses were allowed than now. */
export async function pausedUnderOtherAddresses(sql: Queries, allowed: string): Promise<{ id: number; name: string }[]> {
  return sql<{ id: number; name: string }[]>`
    select s.id, s.name from purchase_watch_internal.subscriber_health h join purchase_watch_internal.subscribers s on s.id = h.subscriber
    where s.configured and s.status = 'active' and h.paused_until is not null and h.cause = ${ADDRESS_REFUSED} and h.allowed <> ${allowed}
    order by s.id`;
}
