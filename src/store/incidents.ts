/** Incidents: what is wrong now, what is open, and what was said of it. */
import type { Incident, Symptom } from '../core/incident.ts';
import type { Instant } from '../core/purchase.ts';
import type { Queries } from './database.ts';

/** What is wrong now: stuck purchases by site and state, and sites that do not answer anybody. */
export async function currentSymptoms(sql: Queries): Promise<Symptom[]> {
  return sql<Symptom[]>`
    select 'stuck' as kind, site, state, count(*)::float8 as count, (extract(epoch from min(state_since)) * 1000)::float8 as since
    from purchase_watch.purchases where stuck_since is not null group by site, state
    union all
    select 'unreachable', name, null, 1, (extract(epoch from failing_since) * 1000)::float8
    from purchase_watch.sites
    where configured and failing_since is not null and (last_success_at is null or last_success_at <= failing_since)`;
}

/** Incidents that have not ended. */
export async function openIncidents(sql: Queries): Promise<Incident[]> {
  return sql<Incident[]>`
    select id, kind, site, state, (extract(epoch from opened_at) * 1000)::float8 as "openedAt",
      (extract(epoch from since) * 1000)::float8 as since, (extract(epoch from quiet_since) * 1000)::float8 as "quietSince",
      null as "endedAt", count, peak, (extract(epoch from said_at) * 1000)::float8 as "saidAt", said_count as "saidCount"
    from purchase_watch.incidents where ended_at is null order by opened_at`;
}

/** Writes an incident as it is now. */
export async function saveIncident(sql: Queries, incident: Incident): Promise<void> {
  const time = (at: Instant | null) => sql`to_timestamp(${at}::float8 / 1000)`;
  await sql`
    insert into purchase_watch.incidents (id, kind, site, state, opened_at, since, ended_at, quiet_since, count, peak, said_at, said_count)
    values (${incident.id}, ${incident.kind}, ${incident.site}, ${incident.state}, ${time(incident.openedAt)}, ${time(incident.since)},
      ${time(incident.endedAt)}, ${time(incident.quietSince)}, ${incident.count}, ${incident.peak}, ${time(incident.saidAt)}, ${incident.saidCount})
    on conflict (id) do update set since = excluded.since, ended_at = excluded.ended_at, quiet_since = excluded.quiet_since,
      count = excluded.count, peak = excluded.peak, said_at = excluded.said_at, said_count = excluded.said_count`;
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
