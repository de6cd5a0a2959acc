/** The API's changes of its subscribers. Each change wakes the daemons at once. */

import { REFUSED_CREDENTIALS } from '../../domain/deliveries/subscriber-health.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { hasRows } from '../connection/rows.ts';
import type { BodyFormat } from './subscribers.ts';

/** A subscriber to be added; address and keys are encrypted, and the hash changes with each of their versions. */
export interface NewSubscriber {
  readonly name: string;
  readonly types: readonly string[] | null;
  readonly sites: readonly string[] | null;
  readonly states: readonly number[] | null;
  readonly description: string | null;
  readonly url: Uint8Array;
  readonly keys: Uint8Array;
  /** Encrypted headers and private key; null when the subscriber has none. */
  readonly options: Uint8Array | null;
  readonly format: BodyFormat;
  readonly addressHash: string;
}

/** Adds a subscriber; false when the name is in use. Replaces a subscriber that the configuration named formerly. */
export async function insertSubscriber(sql: Queries, subscriber: NewSubscriber): Promise<boolean> {
  const { name, types, sites, states, description, url, keys, options, format, addressHash } = subscriber;
  await sql`
    update purchase_watch_internal.subscribers set deleted_at = now(), configured = false, matching_since = now()
    where name = ${name} and (not configured or unnamed_since is not null) and deleted_at is null`;
  const rows = await sql`
    with added as (
      insert into purchase_watch_internal.subscribers (name, kind, origin, types, sites, states, description, url, keys, options, format, address_hash)
      values (${name}, 'webhook', 'api', ${types}::text[], ${sites}::text[],
        ${states}::integer[], ${description}, ${Buffer.from(url)}::bytea, ${Buffer.from(keys)}::bytea,
        ${options === null ? null : Buffer.from(options)}::bytea, ${format}, ${addressHash})
      on conflict (name) where deleted_at is null do nothing returning id)
    select pg_notify('purchase_watch_wake', 'subscribers') from added`;
  return rows.length > 0;
}

/** The fields that may be changed; an undefined field stays unchanged. */
export interface SubscriberChanges {
  readonly types?: readonly string[] | null | undefined;
  readonly sites?: readonly string[] | null | undefined;
  readonly states?: readonly number[] | null | undefined;
  readonly description?: string | null | undefined;
  readonly status?: { readonly is: 'active' | 'off'; readonly reason: string | null } | undefined;
  readonly reach?: ReachChanges | undefined;
}

/** How a subscriber is reached from now on, and which events it gets; an undefined field stays unchanged. */
export interface ReachChanges {
  readonly url?: Uint8Array | undefined;
  readonly options?: Uint8Array | null | undefined;
  readonly format?: BodyFormat | undefined;
  readonly addressHash: string;
  /** Whether this is another address: answers of the earlier address then do not count any more. */
  readonly isElsewhere: boolean;
  /** The hash that was read together with the fields that the change is based on; undefined when none were read. */
  readonly was?: string | undefined;
}

/** Changes a subscriber; false when the subscriber is gone, or another request changed it meanwhile. */
export async function updateSubscriber(sql: Queries, id: number, changes: SubscriberChanges): Promise<boolean> {
  const { types, sites, states, description, status, reach } = changes;
  const { url, options, format, addressHash, was } = reach ?? {};
  const rows = await sql`
    with next as (
      select s.id,
        ${types === undefined ? sql`s.types` : sql`${types}::text[]`} as types,
        ${sites === undefined ? sql`s.sites` : sql`${sites}::text[]`} as sites,
        ${states === undefined ? sql`s.states` : sql`${states}::integer[]`} as states,
        ${description === undefined ? sql`s.description` : sql`${description}::text`} as description,
        ${status === undefined ? sql`s.status` : sql`${status.is}::text`} as status,
        ${status === undefined ? sql`s.status_reason` : sql`${status.reason}::text`} as status_reason,
        ${url === undefined ? sql`s.url` : sql`${Buffer.from(url)}::bytea`} as url,
        ${options === undefined ? sql`s.options` : sql`${options === null ? null : Buffer.from(options)}::bytea`} as options,
        ${format === undefined ? sql`s.format` : sql`${format}::text`} as format,
        ${addressHash === undefined ? sql`s.address_hash` : sql`${addressHash}::text`} as address_hash
      from purchase_watch_internal.subscribers s where s.id = ${id} and s.configured
        and (${was ?? null}::text is null or s.address_hash = ${was ?? null}) for update),
    changed as (
      update purchase_watch_internal.subscribers s set types = n.types, sites = n.sites, states = n.states, description = n.description,
        status = n.status, status_reason = n.status_reason, url = n.url, options = n.options, format = n.format, address_hash = n.address_hash,
        failed_at = case when s.status = n.status then s.failed_at end,
        matching_since = case when s.types is not distinct from n.types and s.sites is not distinct from n.sites
          and s.states is not distinct from n.states and s.status = n.status then s.matching_since else now() end
      from next n where s.id = n.id returning s.id),
    -- A subscriber that is switched on again or gets another address begins without failures; so does one that refused the request's
    -- signature or headers and gets other headers.
    forgotten as (
      delete from purchase_watch_internal.subscriber_health h using changed c
      where h.subscriber = c.id and (${status !== undefined || reach?.isElsewhere === true}
        or ${options !== undefined} and h.cause = any(${REFUSED_CREDENTIALS}::text[])))
    select pg_notify('purchase_watch_wake', 'subscribers') from changed`;
  return rows.length > 0;
}

/** Replaces the keys of a subscriber, if they are still those that were read; false when another request changed them meanwhile. */
export const replaceKeys = (
  sql: Queries,
  id: number,
  { keys, addressHash, was, oldKeysUntil }: { keys: Uint8Array; addressHash: string; was: string; oldKeysUntil: Instant | null },
) =>
  hasRows(sql`
    with changed as (
      update purchase_watch_internal.subscribers set keys = ${Buffer.from(keys)}::bytea, address_hash = ${addressHash},
        old_keys_until = ${oldKeysUntil}::timestamptz
      where id = ${id} and origin = 'api' and deleted_at is null and address_hash = ${was} returning id),
    -- A subscriber that refused signatures of the old keys begins without failures.
    forgotten as (
      delete from purchase_watch_internal.subscriber_health h using changed c
      where h.subscriber = c.id and h.cause = any(${REFUSED_CREDENTIALS}::text[]))
    select pg_notify('purchase_watch_wake', 'subscribers') from changed`);

/** Removes a subscriber of the API and erases its address and keys; the row stays for the history. */
export const deleteSubscriber = (sql: Queries, id: number) =>
  hasRows(sql`
    with removed as (
      update purchase_watch_internal.subscribers set deleted_at = now(), configured = false, url = null, keys = null, options = null, old_keys_until = null,
        address_hash = '', matching_since = now()
      where id = ${id} and origin = 'api' and deleted_at is null returning id)
    select pg_notify('purchase_watch_wake', 'subscribers') from removed`);

const AT_ONCE = 5_000;

/** Gives up waiting deliveries `q` of some subscribers `s`, in small statements, and skips those that others have locked. */
async function suppress(sql: Queries, { of, which, why }: { of: Fragment; which: Fragment; why: string }): Promise<void> {
  for (;;) {
    const rows = await sql`
      with waiting as materialized (
        select d.id from purchase_watch_internal.subscribers s
        cross join lateral (
          select q.id from purchase_watch_internal.deliveries q ${which} limit ${AT_ONCE} for update of q skip locked) d
        where ${of} limit ${AT_ONCE})
      update purchase_watch_internal.deliveries d set status = 'suppressed', settled_at = now(), last_error = ${why}
      from waiting where d.id = waiting.id and d.settled_at is null returning 1`;
    if (rows.length < AT_ONCE) return;
  }
}

/**
 * Gives up deliveries whose events are older than a moment, for channels for people that are off. Keeps deliveries about incidents
 * that are still open: the channel gets these once it is on again.
 */
export const suppressForOff = (sql: Queries, before: Instant) =>
  suppress(sql, {
    of: sql`s.configured and s.audience = 'people' and s.status = 'off'`,
    which: sql`join purchase_watch_internal.events e on e.position = q.event
          where q.subscriber = s.id and q.status = 'pending' and e.created_at < ${before}::timestamptz
            and not exists (select from purchase_watch_internal.incidents i where i.id = e.incident and i.ended_at is null)`,
    why: 'The channel was switched off for days after it was made.',
  });

/** Gives up pending deliveries of deleted subscribers. */
export const suppressForDeleted = (sql: Queries) =>
  suppress(sql, {
    of: sql`s.deleted_at is not null`,
    which: sql`where q.subscriber = s.id and q.status = 'pending'`,
    why: 'The subscriber was deleted before the delivery.',
  });
