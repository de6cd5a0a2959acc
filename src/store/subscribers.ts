/** Who is told, and of what. */
import type { Queries } from './database.ts';

export interface SubscriberDefinition {
  readonly name: string;
  readonly kind: 'webhook' | 'slack';
  readonly types: readonly string[] | null;
  readonly sites: readonly string[] | null;
  readonly states: readonly number[] | null;
  /** A hash of the address and key: a subscriber that was switched off is switched on when this changes. */
  readonly addressHash: string;
}

export interface SubscriberRow {
  readonly id: number;
  readonly name: string;
  readonly kind: 'webhook' | 'slack';
  readonly status: 'active' | 'off';
  readonly statusReason: string | null;
}

/** Makes the subscribers table say what the configuration says; answers the configured ones. */
export async function syncSubscribers(sql: Queries, definitions: readonly SubscriberDefinition[]): Promise<SubscriberRow[]> {
  for (const { name, kind, types, sites, states, addressHash } of definitions) {
    await sql`
      insert into purchase_watch.subscribers as s (name, kind, types, sites, states, address_hash)
      values (${name}, ${kind}, ${types as string[] | null}::text[], ${sites as string[] | null}::text[],
        ${states as number[] | null}::integer[], ${addressHash})
      on conflict (name) do update set kind = excluded.kind, types = excluded.types, sites = excluded.sites, states = excluded.states,
        configured = true, address_hash = excluded.address_hash,
        status = case when s.address_hash = excluded.address_hash then s.status else 'active' end,
        status_reason = case when s.address_hash = excluded.address_hash then s.status_reason end`;
  }
  const names = definitions.map((definition) => definition.name);
  await sql`update purchase_watch.subscribers set configured = false where configured and name <> all(${names}::text[])`;
  return listSubscribers(sql);
}

/** The configured subscribers. */
export async function listSubscribers(sql: Queries): Promise<SubscriberRow[]> {
  return sql<SubscriberRow[]>`
    select id, name, kind, status, status_reason as "statusReason" from purchase_watch.subscribers where configured order by id`;
}

/** Switches a subscriber off; what waits for it stays pending until it is on again, what comes meanwhile is suppressed. */
export async function switchOff(sql: Queries, { subscriber, reason }: { subscriber: number; reason: string }): Promise<void> {
  await sql`update purchase_watch.subscribers set status = 'off', status_reason = ${reason} where id = ${subscriber}`;
}
