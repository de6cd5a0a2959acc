/** Incidents as people and programs list and read them. */

import type { Alarm } from '../../domain/incidents/detection.ts';
import type { Incident } from '../../domain/incidents/incident.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { jsonInstant } from '../connection/instants.ts';

export interface IncidentPart {
  readonly id: string;
  readonly site: string | null;
  readonly state: number | null;
  readonly count: number;
  readonly peak: number;
  readonly endedAt: Instant | null;
}

/** A person's answer what the incident was. */
export interface IncidentAnswer {
  readonly cause: string;
  readonly note: string | null;
  readonly by: string;
  readonly at: Instant;
}

export interface IncidentRow extends Incident {
  /** The place in lists, which are in this order. */
  readonly position: number;
  /** The owner of the incident, or of its parent; null as long as `acknowledgedAt` is. */
  readonly acknowledgedBy: string | null;
  readonly acknowledgedNote: string | null;
  readonly answer: IncidentAnswer | null;
  /** The incident's parts, the largest first. */
  readonly parts: readonly IncidentPart[];
  /** When the last silence ends that keeps people from being alerted of the incident; null when no silence holds, or the incident is over. */
  readonly silencedUntil: Instant | null;
}

/** An incident has at most one part for each state of each site; parts beyond this number are too small to matter. */
const MOST_PARTS = 200;

/** SQL: when the last silence ends that holds for an incident itself, not through its parts; see domain/incidents/incident.ts. */
const silencedUntil = (incident: string): string => `
  (select max(s.ends_at) from purchase_watch_internal.silences s
    where ${incident}.ended_at is null and s.ends_at > now() and s.starts_at <= now() and (s.kind is null or s.kind = ${incident}.kind)
      and (s.site is null or s.site = ${incident}.site) and (s.state is null or s.state = ${incident}.state)
      and (s.subscriber is null or s.subscriber = ${incident}.subscriber))`;

// A parent is silenced by a silence of its own, and while all its parts are silenced. Alarm and parts are read as text: the
// driver would make Decimals of the numbers in JSON, which are only counts and times.
export const INCIDENT_COLUMNS = `
  i.position, i.id, i.kind, i.site, i.state, i.subscriber, i.count, i.peak, i.alerted_count,
  i.alerted_severity, i.parent, i.severity, i.reminders, i.moved_on, i.alarm as alarm_text,
  i.opened_at, i.since, i.quiet_since, i.ends_at, i.ended_at, i.reopened_at, i.alerted_at, i.announced_at,
  coalesce(i.acknowledged_at, p.acknowledged_at, g.acknowledged_at) as acknowledged_at,
  coalesce(i.acknowledged_by, p.acknowledged_by, g.acknowledged_by) as acknowledged_by,
  case when i.acknowledged_at is not null then i.acknowledged_note
    when p.acknowledged_at is not null then p.acknowledged_note else g.acknowledged_note end as acknowledged_note,
  i.answer_cause, i.answer_note, i.answered_by, i.answered_at,
  (select json_agg(c)::text from (
    select id, site, state, count, peak, ${jsonInstant('ended_at')} as "endedAt" from purchase_watch_internal.incidents
    where parent = i.id order by ended_at is not null, count desc, peak desc, position limit ${MOST_PARTS}) c) as parts_text,
  greatest(${silencedUntil('i')}, (
    with recursive below as (
      select c.* from purchase_watch_internal.incidents c where c.parent = i.id and c.ended_at is null
      union all
      select c.* from below b join purchase_watch_internal.incidents c on c.parent = b.id and c.ended_at is null)
    select case when bool_and(q.until is not null) then min(q.until) end
    from (select ${silencedUntil('b')} as until from below b where b.site is not null and b.state is not null and b.quiet_since is null) q
  )) as silenced_until`;
/** The joins that `INCIDENT_COLUMNS` needs: the owner of a parent is also the owner of its open parts. */
export const INCIDENT_JOINS = `
  left join purchase_watch_internal.incidents p on p.id = i.parent and i.ended_at is null and p.ended_at is null
  left join purchase_watch_internal.incidents g on g.id = p.parent and g.ended_at is null`;

export type ReadIncident = Omit<IncidentRow, 'alarm' | 'answer' | 'parts'> & {
  readonly alarmText: string | null;
  readonly partsText: string | null;
  readonly answerCause: string | null;
  readonly answerNote: string | null;
  readonly answeredBy: string | null;
  readonly answeredAt: Instant | null;
};

export function incidentOf({
  alarmText,
  partsText,
  answerCause,
  answerNote,
  answeredBy,
  answeredAt,
  ...row
}: ReadIncident): IncidentRow {
  const isAnswered = answerCause !== null && answeredBy !== null && answeredAt !== null;
  return {
    ...row,
    alarm: alarmText === null ? null : (JSON.parse(alarmText) as Alarm),
    answer: isAnswered ? { cause: answerCause, note: answerNote, by: answeredBy, at: answeredAt } : null,
    parts: partsText === null ? [] : (JSON.parse(partsText) as IncidentPart[]),
  };
}

export interface IncidentFilter {
  readonly status: 'open' | 'ended' | 'all';
  readonly site?: string | undefined;
  readonly kind?: IncidentKind | undefined;
}

/** A page of incidents, the latest opened first. Incidents of subscribers and of several sites belong to no site. */
export async function listIncidents(
  sql: Queries,
  { filter, before, limit }: { filter: IncidentFilter; before: number | null; limit: number },
): Promise<IncidentRow[]> {
  const further = before === null ? sql`true` : sql`i.position < ${before}`;
  const page = filter.status === 'open' ? openOnes(sql, filter, further) : newestOfEach(sql, filter, further, limit);
  const rows = await sql<ReadIncident[]>`
    select ${sql.unsafe(INCIDENT_COLUMNS)} from (
      select * from (${page}) q order by q.position desc limit ${limit}) i ${sql.unsafe(INCIDENT_JOINS)} order by i.position desc`;
  return rows.map(incidentOf);
}

/** The open incidents: they are few, and have an index of their own. */
const openOnes = (sql: Queries, { site, kind }: IncidentFilter, further: Fragment): Fragment => sql`
  select i.* from purchase_watch_internal.incidents i
  where i.ended_at is null and ${site === undefined ? sql`true` : sql`i.site = ${site}`}
    and ${kind === undefined ? sql`true` : sql`i.kind = ${kind}`} and ${further}`;

/** Incidents that belong to no site: of all subscribers, of replicas, and of several sites. */
const WITHOUT_SITE = [
  ['subscriber', `i.kind = 'subscriber'`],
  ['replica', `i.kind = 'replica'`],
  ['stuck', `i.kind = 'stuck' and i.site is null`],
] as const;

/** The newest incidents of each site and kind, and of each kind without a site: a page of each group holds the page. */
function newestOfEach(sql: Queries, { status, site, kind }: IncidentFilter, further: Fragment, limit: number): Fragment {
  const wanted = status === 'ended' ? sql`i.ended_at is not null` : sql`true`;
  const others = WITHOUT_SITE.map(
    ([one, condition]) => sql`
    union all
    (select i.* from purchase_watch_internal.incidents i
    where ${sql.unsafe(condition)} and ${site === undefined && (kind ?? one) === one} and ${wanted} and ${further}
    order by i.position desc limit ${limit})`,
  );
  return sql`
    (select q.* from purchase_watch_internal.sites s cross join unnest(array['stuck', 'unreachable']) k (kind)
    cross join lateral (
      select * from purchase_watch_internal.incidents i
      where i.site = s.name and i.kind = k.kind and ${wanted} and ${further}
      order by i.position desc limit ${limit}) q
    where ${site === undefined ? sql`true` : sql`s.name = ${site}`} and ${kind === undefined ? sql`true` : sql`k.kind = ${kind}`}
    order by q.position desc limit ${limit})
    ${others}`;
}

/** An incident by its id, or null. */
export async function findIncident(sql: Queries, id: string): Promise<IncidentRow | null> {
  const [row] = await sql<ReadIncident[]>`
    select ${sql.unsafe(INCIDENT_COLUMNS)} from purchase_watch_internal.incidents i ${sql.unsafe(INCIDENT_JOINS)} where i.id = ${id}`;
  return row === undefined ? null : incidentOf(row);
}
