/** Incidents: what is wrong now, what is open, and what was said of it. */
import type { Incident, IncidentKind, Symptom } from '../core/incident.ts';
import type { Instant } from '../core/purchase.ts';
import type { Queries } from './database.ts';
import { announcing, type NewEvent } from './events.ts';
import type { Lease } from './replicas.ts';
import { subscriberSymptoms } from './subscriber-symptoms.ts';

/** What is wrong now: stuck purchases by site and state, sites that do not answer anybody, and subscribers in trouble. */
export async function currentSymptoms(sql: Queries, now: Instant): Promise<Symptom[]> {
  const ofSites = await sql<Symptom[]>`
    select 'stuck' as kind, site, state, null as subscriber, 0 as severity, count(*)::float8 as count, (extract(epoch from min(state_since)) * 1000)::float8 as since
    from purchase_watch.purchases
    where stuck_since is not null and site in (select name from purchase_watch.sites where configured) group by site, state
    union all
    select 'unreachable', name, null, null, 0, 1, (extract(epoch from failing_since) * 1000)::float8
    from purchase_watch.sites
    where configured and failing_since is not null and (last_success_at is null or last_success_at <= failing_since)`;
  return [...ofSites, ...(await subscriberSymptoms(sql, now))];
}

/** Incidents that have not ended. */
export async function openIncidents(sql: Queries): Promise<Incident[]> {
  return sql<Incident[]>`
    select id, kind, site, state, subscriber, (extract(epoch from opened_at) * 1000)::float8 as "openedAt",
      (extract(epoch from since) * 1000)::float8 as since, (extract(epoch from quiet_since) * 1000)::float8 as "quietSince",
      null as "endedAt", count, peak, (extract(epoch from said_at) * 1000)::float8 as "saidAt", said_count as "saidCount",
      said_severity as "saidSeverity",
      (extract(epoch from announced_at) * 1000)::float8 as "announcedAt", (extract(epoch from acknowledged_at) * 1000)::float8 as "acknowledgedAt"
    from purchase_watch.incidents where ended_at is null order by opened_at`;
}

/** How many incidents are open, by kind and site, which is null for subscribers; what has none is missing. */
export async function countOpenIncidents(sql: Queries): Promise<{ site: string | null; kind: IncidentKind; count: number }[]> {
  return sql`
    select site, kind, count(*)::float8 as count from purchase_watch.incidents where ended_at is null group by site, kind order by site, kind`;
}

/**
 * Writes incidents as they are now, and what is said of them, all or nothing; false when the judge's lease is not ours
 * any more under this epoch. One statement: a connection that is lost leaves nothing half said.
 */
export async function saveVerdicts(
  sql: Queries,
  { incidents, events, lease }: { incidents: readonly Incident[]; events: readonly NewEvent[]; lease: Lease },
): Promise<boolean> {
  const numbers = (value: (incident: Incident) => number | null): string =>
    `{${incidents.map((i) => value(i) ?? 'NULL').join()}}`;
  const rows = await sql<{ held: boolean }[]>`
    with held as materialized (
      select from purchase_watch.leases where name = ${lease.name} and owner = ${lease.replica} and epoch = ${lease.epoch} for share),
    saved as (
      insert into purchase_watch.incidents (id, kind, site, state, subscriber, opened_at, since, ended_at, quiet_since, count, peak, said_at, said_count, said_severity, announced_at)
      select id, kind, site, state, subscriber, to_timestamp(opened / 1000), to_timestamp(since / 1000), to_timestamp(ended / 1000),
        to_timestamp(quiet / 1000), count, peak, to_timestamp(said / 1000), said_count, said_severity, to_timestamp(announced / 1000)
      from unnest(${incidents.map((i) => i.id)}::text[], ${incidents.map((i) => i.kind)}::text[], ${incidents.map((i) => i.site)}::text[],
        ${numbers((i) => i.state)}::integer[], ${incidents.map((i) => i.subscriber)}::text[], ${numbers((i) => i.openedAt)}::float8[], ${numbers((i) => i.since)}::float8[],
        ${numbers((i) => i.endedAt)}::float8[], ${numbers((i) => i.quietSince)}::float8[], ${numbers((i) => i.count)}::integer[],
        ${numbers((i) => i.peak)}::integer[], ${numbers((i) => i.saidAt)}::float8[], ${numbers((i) => i.saidCount)}::integer[],
        ${numbers((i) => i.saidSeverity)}::smallint[], ${numbers((i) => i.announcedAt)}::float8[])
        as r (id, kind, site, state, subscriber, opened, since, ended, quiet, count, peak, said, said_count, said_severity, announced)
      where exists (select from held)
      on conflict (id) do update set since = excluded.since, ended_at = excluded.ended_at, quiet_since = excluded.quiet_since,
        count = excluded.count, peak = excluded.peak, said_at = excluded.said_at, said_count = excluded.said_count, said_severity = excluded.said_severity,
        announced_at = excluded.announced_at),
    ${announcing(sql, events, sql`exists (select from held)`)}
    select true as held from held union all select null from told`;
  return rows.some((row) => row.held);
}

/** What a message about stuck purchases shows: the longest waiting ids, and the money waiting per currency. */
export async function stuckDetails(
  sql: Queries,
  { site, state }: { site: string; state: number },
): Promise<{ purchases: string[]; waiting: { amount: string; currency: string }[] }> {
  const purchases = await sql<{ purchaseId: string }[]>`
    select purchase_id as "purchaseId" from purchase_watch.purchases
    where stuck_since is not null and site = ${site} and state = ${state} order by state_since limit 5`;
  const waiting = await sql<{ amount: string; currency: string }[]>`
    select sum((d.fields ->> 'Price')::numeric)::text as amount, d.fields ->> 'CurrencyCode' as currency
    from purchase_watch.purchases p join purchase_watch.purchase_details d on d.purchase = p.id
    where p.stuck_since is not null and p.site = ${site} and p.state = ${state}
      and d.fields ->> 'CurrencyCode' is not null and d.fields ->> 'Price' is not null
    group by 2 order by 2 limit 10`;
  return { purchases: purchases.map((row) => row.purchaseId), waiting: [...waiting] };
}
