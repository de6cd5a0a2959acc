/** Subscribers, and which events they get: those that the configuration names, and those made by the API. */

import type { ChannelKind } from '../../config/settings.ts';
import type { Audience, SubscriberHealth, Unreached } from '../../domain/deliveries/subscriber-health.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstValues } from '../connection/rows.ts';

/** The form of a request's body: the event, or a CloudEvent around the same data. */
export type BodyFormat = 'standard' | 'cloudevents';

export interface SubscriberDefinition {
  readonly name: string;
  readonly kind: ChannelKind;
  readonly audience: Audience;
  readonly format: BodyFormat;
  readonly types: readonly string[] | null;
  readonly sites: readonly string[] | null;
  readonly states: readonly number[] | null;
  /** A hash of the address and key: a subscriber that was switched off is switched on when this changes. */
  readonly addressHash: string;
}

export interface SubscriberRow {
  readonly id: number;
  readonly name: string;
  readonly kind: ChannelKind;
  readonly audience: Audience;
  readonly status: 'active' | 'off';
  readonly statusReason: string | null;
}

/** A subscriber with all its stored fields; `channels/outgoing/sealed.ts` decrypts the encrypted ones. */
export interface StoredSubscriber extends SubscriberRow {
  readonly origin: 'configuration' | 'api';
  readonly types: readonly string[] | null;
  readonly sites: readonly string[] | null;
  readonly states: readonly number[] | null;
  readonly description: string | null;
  /** Encrypted; null for configured ones. */
  readonly url: Uint8Array | null;
  readonly keys: Uint8Array | null;
  /** The subscriber's headers and private key, encrypted; null when it has none. */
  readonly options: Uint8Array | null;
  readonly format: BodyFormat;
  /** Null while deliveries succeed. */
  readonly health: SubscriberHealth | null;
  /** Null while the subscriber is reached, or too little was tried to know. */
  readonly unreached: Unreached | null;
  /** Until when a replaced key still signs; null when none does any more. */
  readonly oldKeysUntil: Instant | null;
  readonly addressHash: string;
  readonly createdAt: Instant;
}

const COLUMNS = `
  s.id, s.name, s.kind, s.audience, s.status, s.status_reason, s.origin, s.types, s.sites, s.states, s.description,
  s.url, s.keys, s.options, s.format, case when s.old_keys_until > now() then s.old_keys_until end as old_keys_until,
  s.address_hash, s.created_at, h.failures, h.pauses, h.failing_since, h.paused_until, h.last_error, h.cause,
  h.our_failures, h.our_failing_since, h.our_error`;
const JOINED =
  'purchase_watch_internal.subscribers s left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id';

type Row = Omit<StoredSubscriber, 'health' | 'unreached'> & {
  readonly [Part in keyof SubscriberHealth]: SubscriberHealth[Part] | null;
} & { readonly ourFailures: number | null; readonly ourFailingSince: Instant | null; readonly ourError: string | null };

function withHealth(stored: Row): StoredSubscriber {
  const { failures, pauses, failingSince, pausedUntil, lastError, cause, ourFailures, ourFailingSince, ourError, ...row } =
    stored;
  // A row may hold one trouble, the other, or both.
  const isFailing = failures !== null && pauses !== null && (failures > 0 || pausedUntil !== null);
  const health = isFailing ? { failures, pauses, failingSince, pausedUntil, lastError, cause: cause ?? null } : null;
  const unreached = ourFailingSince === null ? null : { failures: ourFailures ?? 0, since: ourFailingSince, error: ourError };
  return { ...row, health, unreached };
}

/**
 * Has the subscribers in the table as these definitions say; answers all present subscribers. Takes none away: another replica may
 * name others. A subscriber made by the API whose name the configuration now uses becomes the configured one, and its pending
 * deliveries go to the configured address.
 */
export async function syncSubscribers(sql: Queries, definitions: readonly SubscriberDefinition[]): Promise<SubscriberRow[]> {
  for (const { name, kind, audience, format, types, sites, states, addressHash } of definitions) {
    // Answers of an earlier address do not count for the present one.
    await sql`
      delete from purchase_watch_internal.subscriber_health h using purchase_watch_internal.subscribers s
      where h.subscriber = s.id and s.name = ${name} and s.deleted_at is null and s.address_hash <> ${addressHash}`;
    await sql`
      insert into purchase_watch_internal.subscribers as s (name, kind, audience, format, types, sites, states, address_hash)
      values (${name}, ${kind}, ${audience}, ${format}, ${types}::text[], ${sites}::text[],
        ${states}::integer[], ${addressHash})
      on conflict (name) where deleted_at is null do update set
        kind = excluded.kind, audience = excluded.audience, format = excluded.format, types = excluded.types, sites = excluded.sites, states = excluded.states,
        origin = 'configuration', url = null, keys = null, options = null, old_keys_until = null, description = null,
        configured = true, unnamed_since = null, address_hash = excluded.address_hash,
        status = case when s.address_hash = excluded.address_hash then s.status else 'active' end,
        status_reason = case when s.address_hash = excluded.address_hash then s.status_reason end,
        matching_since = case when s.configured and s.types is not distinct from excluded.types and s.sites is not distinct from excluded.sites
          and s.states is not distinct from excluded.states and (s.status = 'active' or s.address_hash = excluded.address_hash)
          then s.matching_since else now() end`;
  }
  if (definitions.length > 0) await sql`select pg_notify('purchase_watch_wake', 'subscribers')`;
  return listSubscribers(sql);
}

/** Which of these names belong to subscribers made by the API. */
export const namesOfTheApi = (sql: Queries, names: readonly string[]) =>
  firstValues<string>(sql`
    select name from purchase_watch_internal.subscribers where origin = 'api' and deleted_at is null and name = any(${names}::text[])`);

/** All subscribers that the configuration or the API has at present. */
export const listSubscribers = (sql: Queries) => sql<SubscriberRow[]>`
    select id, name, kind, audience, status, status_reason from purchase_watch_internal.subscribers where configured order by id`;

/** All present subscribers with all their stored fields. */
export async function readSubscribers(sql: Queries): Promise<StoredSubscriber[]> {
  const rows = await sql<Row[]>`select ${sql.unsafe(COLUMNS)} from ${sql.unsafe(JOINED)} where s.configured order by s.id`;
  return rows.map(withHealth);
}

/** A page of subscribers, the oldest first. */
export async function subscriberPage(
  sql: Queries,
  { after, limit }: { after: number | null; limit: number },
): Promise<StoredSubscriber[]> {
  const rows = await sql<Row[]>`
    select ${sql.unsafe(COLUMNS)} from ${sql.unsafe(JOINED)}
    where s.configured and ${after === null ? sql`true` : sql`s.id > ${after}::bigint`} order by s.id limit ${limit}`;
  return rows.map(withHealth);
}

/** A subscriber by its name, or null. */
export async function findSubscriber(sql: Queries, name: string): Promise<StoredSubscriber | null> {
  const [row] = await sql<
    Row[]
  >`select ${sql.unsafe(COLUMNS)} from ${sql.unsafe(JOINED)} where s.name = ${name} and s.configured`;
  return row === undefined ? null : withHealth(row);
}

/** Why a subscriber is switched off, and the hash of the address and key that were refused. */
export interface SwitchedOff {
  readonly reason: string;
  readonly addressHash: string;
}

/**
 * Switches a subscriber off, unless it has another address by now, such as that of another daemon's settings. Its deliveries stay
 * pending until it is switched on; deliveries of later events are suppressed, or pending for a channel for people.
 */
export async function switchOff(
  sql: Queries,
  { subscriber, reason, addressHash }: SwitchedOff & { readonly subscriber: number },
): Promise<void> {
  await sql`
    with meant as (
      select id from purchase_watch_internal.subscribers where id = ${subscriber} and address_hash = ${addressHash} for update),
    switched as (
      update purchase_watch_internal.subscribers set status = 'off', status_reason = ${reason}, matching_since = now(), failed_at = now()
      where id in (select id from meant) and status <> 'off' returning id),
    -- A subscriber that is switched on again begins without failures.
    forgotten as (delete from purchase_watch_internal.subscriber_health where subscriber in (select id from meant))
    select pg_notify('purchase_watch_wake', 'subscribers') from switched`;
}
