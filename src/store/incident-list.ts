/** Incidents as people and programs list, read and acknowledge them. */
import type { Incident, IncidentKind } from '../core/incident.ts';
import type { Instant } from '../core/purchase.ts';
import type { Queries } from './database.ts';

export interface IncidentRow extends Incident {
  /** The order of lists. */
  readonly position: number;
  readonly acknowledgedBy: string | null;
  readonly acknowledgedNote: string | null;
  /** When the silence ends that keeps people from hearing of it; null when none does, or when it is over. */
  readonly silencedUntil: Instant | null;
}

const COLUMNS = `
  i.position::float8 as position, i.id, i.kind, i.site, i.state, i.subscriber, i.count, i.peak, i.said_count as "saidCount",
  i.said_severity as "saidSeverity",
  (extract(epoch from i.opened_at) * 1000)::float8 as "openedAt", (extract(epoch from i.since) * 1000)::float8 as since,
  (extract(epoch from i.quiet_since) * 1000)::float8 as "quietSince", (extract(epoch from i.ended_at) * 1000)::float8 as "endedAt",
  (extract(epoch from i.said_at) * 1000)::float8 as "saidAt", (extract(epoch from i.announced_at) * 1000)::float8 as "announcedAt",
  (extract(epoch from i.acknowledged_at) * 1000)::float8 as "acknowledgedAt", i.acknowledged_by as "acknowledgedBy",
  i.acknowledged_note as "acknowledgedNote",
  (select (extract(epoch from max(s.ends_at)) * 1000)::float8 from purchase_watch.silences s
    where i.ended_at is null and s.ends_at > now() and s.starts_at <= now() and (s.kind is null or s.kind = i.kind)
      and (s.site is null or s.site = i.site) and (s.state is null or s.state = i.state)
      and (s.subscriber is null or s.subscriber = i.subscriber)) as "silencedUntil"`;

export interface IncidentFilter {
  readonly status: 'open' | 'ended' | 'all';
  readonly site?: string | undefined;
  readonly kind?: IncidentKind | undefined;
}

/**
 * A page of incidents, the latest opened first: the newest of each site and kind, and of all subscribers, of which the
 * newest are the page. Those of subscribers are of no site.
 */
export async function listIncidents(
  sql: Queries,
  { filter: { status, site, kind }, before, limit }: { filter: IncidentFilter; before: number | null; limit: number },
): Promise<IncidentRow[]> {
  const wanted = { open: sql`i.ended_at is null`, ended: sql`i.ended_at is not null`, all: sql`true` }[status];
  const further = before === null ? sql`true` : sql`i.position < ${before}`;
  return sql<IncidentRow[]>`
    select ${sql.unsafe(COLUMNS)} from (
      (select q.* from purchase_watch.sites s cross join unnest(array['stuck', 'unreachable']) k (kind)
      cross join lateral (
        select * from purchase_watch.incidents i
        where i.site = s.name and i.kind = k.kind and ${wanted} and ${further}
        order by i.position desc limit ${limit}) q
      where ${site === undefined ? sql`true` : sql`s.name = ${site}`} and ${kind === undefined ? sql`true` : sql`k.kind = ${kind}`}
      order by q.position desc limit ${limit})
      union all
      (select i.* from purchase_watch.incidents i
      where i.kind = 'subscriber' and ${site === undefined && (kind ?? 'subscriber') === 'subscriber'} and ${wanted} and ${further}
      order by i.position desc limit ${limit})) i
    order by i.position desc limit ${limit}`;
}

/** An incident by its id, or null. */
export async function findIncident(sql: Queries, id: string): Promise<IncidentRow | null> {
  const [row] = await sql<IncidentRow[]>`select ${sql.unsafe(COLUMNS)} from purchase_watch.incidents i where i.id = ${id}`;
  return row ?? null;
}

/** Notes who looks after an open incident, in place of whoever did before; wakes the judge. Answers whether it is open. */
export async function acknowledgeIncident(
  sql: Queries,
  { id, by, note }: { id: string; by: string; note: string | null },
): Promise<boolean> {
  const rows = await sql`
    with acknowledged as (
      update purchase_watch.incidents set acknowledged_at = now(), acknowledged_by = ${by}, acknowledged_note = ${note}
      where id = ${id} and ended_at is null returning id)
    select pg_notify('purchase_watch_wake', 'judge') from acknowledged`;
  return rows.length > 0;
}
