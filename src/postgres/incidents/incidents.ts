/** Incidents: the symptoms now, the open incidents, the channels alerted of them, and the write of the judge's verdicts. */

import type { Alarm } from '../../domain/incidents/detection.ts';
import { type Incident, REOPENS_WITHIN } from '../../domain/incidents/incident.ts';
import type { StuckCount } from '../../domain/incidents/judgement.ts';
import { replicaSymptoms } from '../../domain/incidents/replica-trouble.ts';
import { type IncidentKind, type Symptom, UNNAMED } from '../../domain/incidents/symptom.ts';
import { isUnpolled } from '../../domain/polling/unpolled.ts';
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { announcing, type NewEvent } from '../events/events.ts';
import { listSites, presentSites } from '../polling/sites.ts';
import { holding, type Lease } from '../shards/leases.ts';
import { alertedTroubles } from '../shards/replica-troubles.ts';
import { MOST_OF_ONE_ORDER, orderOf, paidByAnother } from '../stays/evidence.ts';
import { type StayResults, type StoredStay, writingStays } from '../stays/stays.ts';
import { subscriberSymptoms } from '../subscribers/symptoms.ts';
import { joiningMembers } from '../trends/members.ts';
import { notingStuck, notingTakenOver } from './stuck-alerts.ts';

/** The symptoms now, without stuck purchases: sites that answer no replica, subscribers and replicas in trouble. */
export async function currentSymptoms(sql: Queries, now: Instant): Promise<Symptom[]> {
  const common = { kind: 'unreachable', state: null, subscriber: null, count: 1 } as const;
  const ofSites = presentSites(await listSites(sql)).flatMap(({ name, failingSince, failingReason }) =>
    failingSince === null
      ? []
      : [{ ...common, site: name, since: failingSince, severity: isUnpolled(failingReason) ? UNNAMED : 0 }],
  );
  return [...ofSites, ...(await subscriberSymptoms(sql, now)), ...replicaSymptoms(await alertedTroubles(sql))];
}

/** Stuck purchases are counted up to this in each state of a site; more would only cost time. */
const MOST_OVERDUE = 10_000;

/**
 * How many customers are stuck in some states of sites. Counts the customers who came since the trouble began there, without
 * those whose order was paid by another purchase. Purchases of one order are one customer, unless very many share the order.
 */
export async function countStuck(
  sql: Queries,
  places: readonly { readonly site: string; readonly state: number; readonly since: Instant }[],
): Promise<StuckCount[]> {
  if (places.length === 0) return [];
  return sql<StuckCount[]>`
    select w.site, w.state, n.count, n.since
    from ${columns(sql, places, 'w', 'site text, state integer, since timestamptz')}
    cross join lateral (
      select count(distinct case when key is null or sharing > ${MOST_OF_ONE_ORDER} then 'p' || id else 'o' || key end)::float8 as count,
        min(state_since) as since
      from (
        select o.id, o.state_since, o.key, count(*) over (partition by o.key) as sharing from (
          select p.id, p.state_since, ${orderOf(sql)} as key
          from purchase_watch.purchases p left join purchase_watch_internal.purchase_details d on d.purchase = p.id
          where p.stuck_since is not null and p.site = w.site and p.state = w.state and p.state_since >= w.since
            and p.status = 'watching' and not ${paidByAnother(sql)}
          order by p.state_since limit ${MOST_OVERDUE}) o) k) n`;
}

type Row = Omit<Incident, 'alarm'> & { readonly alarm: string | null };

/**
 * Incidents that have not ended, those of stuck purchases that ended so lately that they may reopen, and the parts of open
 * incidents. Columns are in the order in which the judge makes the fields, so that equal incidents have equal JSON.
 */
export async function openIncidents(sql: Queries, now: Instant): Promise<Incident[]> {
  const rows = await sql<Row[]>`
    select id, kind, site, state, subscriber, opened_at, since, quiet_since, ends_at, ended_at, count, peak, alerted_at,
      alerted_count, alerted_severity, announced_at, acknowledged_at,
      parent, severity, alarm, reopened_at, reminders, moved_on
    from purchase_watch_internal.incidents where id in (${incidentsNow(sql, now)}) order by opened_at`;
  return rows.map((row) => ({ ...row, alarm: row.alarm === null ? null : (JSON.parse(row.alarm) as Alarm) }));
}

/** The ids of the incidents that `openIncidents` answers. */
export const incidentsNow = (sql: Queries, now: Instant): Fragment => sql`
    -- Each of the three by its index: with "or" all incidents that are kept would be read.
    select id from purchase_watch_internal.incidents where ended_at is null
    union all
    select id from purchase_watch_internal.incidents where ended_at > ${now - REOPENS_WITHIN}::timestamptz and kind = 'stuck'
    union all
    select c.id from purchase_watch_internal.incidents p join purchase_watch_internal.incidents c on c.parent = p.id
    where p.ended_at is null and p.kind = 'stuck' and (p.site is null or p.state is null)`;

/** The channels for people that were alerted of the given incidents, by incident id. */
export async function channelsAlerted(sql: Queries, incidents: readonly string[]): Promise<Map<string, string[]>> {
  if (incidents.length === 0) return new Map();
  const rows = await sql<{ incident: string; names: string[] }[]>`
    select i.id as incident, array_agg(s.name) as names
    from purchase_watch_internal.incidents i join purchase_watch_internal.subscribers s on s.id = any(i.heard) and s.configured and s.audience = 'people'
    where i.id = any(${incidents}::text[]) group by i.id`;
  return new Map(rows.map(({ incident, names }) => [incident, names]));
}

/**
 * How many incidents are open, by kind and site, and the greatest severity of those that are part of no other one (null where
 * all are); the site is null for subscribers and for several sites. Kinds and sites without one are missing.
 */
export const countOpenIncidents = (
  sql: Queries,
): Promise<{ site: string | null; kind: IncidentKind; count: number; atSite: number; severity: number | null }[]> => sql`
    select i.site, i.kind, count(*) filter (where p.id is null) as count,
      count(*) filter (where p.site is null) as at_site,
      max(i.severity) filter (where p.id is null) as severity
    from purchase_watch_internal.incidents i left join purchase_watch_internal.incidents p on p.id = i.parent and p.ended_at is null
    where i.ended_at is null group by i.site, i.kind order by i.site, i.kind`;

/** The fields of an incident that have another form in the table. */
const stored = ({ id, alarm }: Incident, events: readonly NewEvent[]) => ({
  alarm: alarm === null ? null : JSON.stringify(alarm),
  heard: `{${events.flatMap((event) => (event.incident === id ? (event.recipients ?? []) : [])).join()}}`,
});

/** The part of a statement that writes incidents as they are now, with the channels that their events alert. */
const savingIncidents = (sql: Queries, incidents: readonly Incident[], events: readonly NewEvent[]) => sql`
    saved as (
      insert into purchase_watch_internal.incidents as incidents (id, kind, site, state, subscriber, opened_at, since, ended_at, quiet_since, ends_at, count, peak, alerted_at, alerted_count, alerted_severity, announced_at, parent, severity, alarm, reopened_at, reminders, moved_on, heard)
      select id, kind, site, state, subscriber, opened_at, since, ended_at, quiet_since, ends_at, count, peak, alerted_at, alerted_count, alerted_severity, announced_at,
        parent, severity, alarm, reopened_at, reminders, moved_on, heard::integer[]
      from ${columns(
        sql,
        incidents.map((incident) => ({ ...incident, ...stored(incident, events) })),
        'r',
        `id text, kind text, site text, state integer, subscriber text, opened_at timestamptz, since timestamptz, ended_at timestamptz,
        quiet_since timestamptz, ends_at timestamptz, count integer, peak integer, alerted_at timestamptz, alerted_count integer,
        alerted_severity smallint, announced_at timestamptz, parent text, severity smallint, alarm text, reopened_at timestamptz,
        reminders smallint, moved_on integer, heard text`,
      )}
      where exists (select from held)
      on conflict (id) do update set heard = array(select unnest(incidents.heard) union select unnest(excluded.heard)), state = excluded.state, since = excluded.since, ended_at = excluded.ended_at, quiet_since = excluded.quiet_since, ends_at = excluded.ends_at,
        count = excluded.count, peak = excluded.peak, alerted_at = excluded.alerted_at, alerted_count = excluded.alerted_count, alerted_severity = excluded.alerted_severity,
        announced_at = excluded.announced_at, parent = excluded.parent, severity = excluded.severity, alarm = excluded.alarm,
        reopened_at = excluded.reopened_at, reminders = excluded.reminders, moved_on = excluded.moved_on)`;

/**
 * Writes incidents as they are now, the events about them, and what was learned from stays, all or nothing; false when this
 * replica does not hold the judge's lease under this epoch any more. One statement: a connection that is lost leaves no alert
 * half written, and no stay is counted twice. `stuck`: stays, of which people are alerted one by one of those that became stuck; `takenOver`: the row ids of such
 * alerts that an incident takes over.
 */
export async function saveVerdicts(
  sql: Queries,
  verdicts: {
    incidents: readonly Incident[];
    events: readonly NewEvent[];
    lease: Lease;
    stays: StayResults;
    stuck: readonly StoredStay[];
    takenOver: readonly number[];
  },
): Promise<boolean> {
  const { incidents, events, lease, stays, stuck, takenOver } = verdicts;
  const rows = await sql<{ held: boolean }[]>`
    with ${holding(sql, lease)},
    ${savingIncidents(sql, incidents, events)},
    ${writingStays(sql, stays)},
    ${notingStuck(sql, stuck)},
    ${notingTakenOver(sql, takenOver)},
    ${joiningMembers(sql, incidents)},
    ${announcing(sql, events, sql`exists (select from held)`)}
    select true as held from held union all select null from notified`;
  return rows.some((row) => row.held);
}
