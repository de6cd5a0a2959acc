/** The names in the settings of living replicas: what none of them names is taken away, and not before some time. */

import type { SettingsDigests } from '../../config/settings-digests.ts';
import { MOST_UNPOLLED } from '../../domain/polling/unpolled.ts';
import { isNewer, type NamedSubscriber, type NamingReplica, type SettingsNames, widest } from '../../domain/replicas/named.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';
import { syncSites } from '../polling/sites.ts';
import {
  readSubscribers,
  type StoredSubscriber,
  type SubscriberDefinition,
  syncSubscribers,
} from '../subscribers/subscribers.ts';

/** A replica with digests of its settings. */
export interface DescribedReplica extends NamingReplica {
  /** Null: not known. */
  readonly settings: SettingsDigests | null;
}

/** The names in the settings of one replica, with the definitions of its subscribers. */
export interface Naming {
  readonly named: SettingsNames;
  readonly definitions: readonly SubscriberDefinition[];
}

/** The names in settings, as a replica writes them beside its row. */
export function namedBy(
  sites: readonly { readonly name: string; readonly formerly?: readonly string[] }[],
  definitions: readonly SubscriberDefinition[],
): SettingsNames {
  return {
    sites: Object.fromEntries(sites.map(({ name, formerly = [] }) => [name, formerly])),
    subscribers: Object.fromEntries(definitions.map((definition) => [definition.name, namedSubscriber(definition)])),
  };
}

function namedSubscriber({ types, sites, states, audience, addressHash }: SubscriberDefinition): NamedSubscriber {
  return { types, sites, states, address: audience === 'people' ? addressHash : null };
}

/**
 * Brings sites and subscribers in line with what living replicas name: those that this replica names are configured, and of a
 * subscriber the definition of the replica counts that was started last. While definitions differ, the subscriber gets
 * the events that any of them wants. `replica` is null for one that is about to start. Answers the other replicas, and whether
 * there is a site or subscriber that no replica names.
 */
export async function followNames(
  sql: Queries,
  { replica, named, definitions }: Naming & { readonly replica: string | null },
): Promise<{ readonly others: readonly DescribedReplica[]; readonly isUnnamed: boolean }> {
  const all = await namingReplicas(sql);
  const own = all.find(({ id }) => id === replica);
  const others = all.filter((each) => each !== own);
  // Without a row this replica has lost its lease, and counts for nothing until it has another one.
  if (replica !== null && own === undefined) return { others, isUnnamed: false };
  if (replica === null) await syncSites(sql, Object.keys(named.sites));
  const rows = new Map((await readSubscribers(sql)).map((row) => [row.name, row]));
  const wanted = definitions
    .filter(({ name }) => own === undefined || others.every((other) => !mayName(other, name) || isNewer(own, other)))
    .map((definition) => ({ ...definition, ...widest([definition, ...others.flatMap(filtersOf(definition.name))]) }))
    .filter((definition) => isOther(rows.get(definition.name), definition));
  if (wanted.length > 0) await syncSubscribers(sql, wanted);
  return { others, isUnnamed: await noteNames(sql, { replica, named }) };
}

const mayName = ({ named }: NamingReplica, name: string): boolean => named === null || name in named.subscribers;
const filtersOf = (name: string) => (other: NamingReplica) => other.named?.subscribers[name] ?? [];

/** Whether a subscriber is missing, or its row is not as the definition says. */
function isOther(row: StoredSubscriber | undefined, definition: SubscriberDefinition): boolean {
  const facts = ({ kind, audience, format, types, sites, states, addressHash }: SubscriberDefinition): string =>
    JSON.stringify([kind, audience, format, types, sites, states, addressHash]);
  return row === undefined || row.origin !== 'configuration' || facts(row) !== facts(definition);
}

/** All replicas that are not gone, with what their settings name. */
const namingReplicas = (sql: Queries) => sql<DescribedReplica[]>`
    select id, started_at, named, settings_digests as settings from purchase_watch_internal.replicas order by id`;

/**
 * Notes which sites and configured subscribers no replica names, this one with what `named` says, and where former names of
 * sites lead. While a daemon of an older version runs, everything may be named. Answers whether something is not named.
 */
const noteNames = (sql: Queries, { replica, named }: { replica: string | null; named: SettingsNames }) =>
  firstValue<boolean>(sql`
    with living as materialized (
      select r.named from purchase_watch_internal.replicas r where r.id is distinct from ${replica}
      union all select ${JSON.stringify(named)}::text::jsonb),
    unknown as materialized (select from living where named is null),
    former as (
      select o.name, min(k.site) as site from living l cross join lateral jsonb_each(l.named -> 'sites') k (site, formerly)
      cross join lateral jsonb_array_elements_text(k.formerly) o (name)
      join purchase_watch_internal.sites s on s.name = k.site group by o.name),
    site as (
      select s.name, f.site as renamed_to, s.configured or k.is_named as configured,
        case when k.is_named or exists (select from unknown) then null else coalesce(s.unnamed_since, now()) end as since
      from purchase_watch_internal.sites s left join former f on f.name = s.name
      cross join lateral (select exists (select from living l where l.named -> 'sites' ? s.name) as is_named) k),
    noted as (
      update purchase_watch_internal.sites s set configured = site.configured, unnamed_since = site.since, renamed_to = site.renamed_to from site
      where s.name = site.name and (s.configured, s.unnamed_since, s.renamed_to) is distinct from (site.configured, site.since, site.renamed_to)),
    subscriber as (
      select s.id, case when exists (select from unknown) or exists (select from living l where l.named -> 'subscribers' ? s.name) then null
        else coalesce(s.unnamed_since, now()) end as since
      from purchase_watch_internal.subscribers s where s.origin = 'configuration' and s.deleted_at is null),
    noted_too as (
      update purchase_watch_internal.subscribers s set unnamed_since = subscriber.since from subscriber
      where s.id = subscriber.id and s.unnamed_since is distinct from subscriber.since)
    select exists (select from site where since is not null) or exists (select from subscriber where since is not null) as is_unnamed`);

/** Names that were retired, and of what. */
export interface Retired {
  readonly kind: 'site' | 'subscriber';
  readonly name: string;
}

/** Takes sites and subscribers out of the configuration that no replica has named since before a moment; answers which. */
export const retireUnnamed = (sql: Queries, before: Instant) => sql<Retired[]>`
    with site as (
      update purchase_watch_internal.sites set configured = false
      where configured and unnamed_since < ${before}::timestamptz returning name),
    subscriber as (
      update purchase_watch_internal.subscribers set configured = false, matching_since = now()
      where configured and origin = 'configuration' and unnamed_since < ${before}::timestamptz returning name),
    woken as (select pg_notify('purchase_watch_wake', 'subscribers') from subscriber limit 1)
    select 'site' as kind, name from site union all select 'subscriber', name from subscriber left join woken on true`;

/** A subscriber of the settings that no living replica names. */
export interface UnnamedSubscriber {
  readonly name: string;
  /** Deliveries that wait; counted up to `MOST_UNPOLLED`. */
  readonly waiting: number;
}

/** The subscribers of the settings that no living replica names. */
export const unnamedSubscribers = (sql: Queries): Promise<UnnamedSubscriber[]> => sql<UnnamedSubscriber[]>`
    select s.name, n.count as waiting
    from purchase_watch_internal.subscribers s cross join lateral (
      select count(*) from (
        select from purchase_watch_internal.deliveries d where d.subscriber = s.id and d.status = 'pending' limit ${MOST_UNPOLLED}) d) n
    where s.configured and s.unnamed_since is not null order by name`;
