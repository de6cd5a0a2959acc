/** Incidents of past moments, for pages about the past. */

import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { INCIDENT_COLUMNS, INCIDENT_JOINS, type IncidentRow, incidentOf, type ReadIncident } from '../incidents/list.ts';

/** An incident as it is now, with the last events for people about it up to a past moment. Each is null when there was none yet. */
export interface PastIncident extends IncidentRow {
  /** Type (such as `incident.grew`) and body of the last event, which says how the incident stood, whether a channel got it or not. */
  readonly lastType: string | null;
  readonly lastBody: string | null;
  /** Of the last event that went to a channel for people. */
  readonly toldAt: Instant | null;
  readonly toldBody: string | null;
}

type LastEvents = Pick<PastIncident, 'lastType' | 'lastBody' | 'toldAt' | 'toldBody'>;

/** The incidents that had been opened and had not ended at a moment, the latest opened first. Reads those that ended later, and the open ones. */
export async function incidentsAt(sql: Queries, at: Instant, limit: number): Promise<PastIncident[]> {
  const rows = await sql<(ReadIncident & LastEvents)[]>`
    select ${sql.unsafe(INCIDENT_COLUMNS)}, e.type as last_type, e.body as last_body,
      t.created_at as told_at, t.body as told_body
    from (
      select q.* from (
        select * from purchase_watch_internal.incidents where ended_at is null
        union all
        select * from purchase_watch_internal.incidents where ended_at > ${at}::timestamptz) q
      where q.opened_at <= ${at}::timestamptz order by q.position desc limit ${limit}) i ${sql.unsafe(INCIDENT_JOINS)}
    left join lateral (${lastEvent(sql, at, sql`true`)}) e on true
    left join lateral (${lastEvent(sql, at, sql`recipients is distinct from '{}'`)}) t on true
    order by i.position desc`;
  return rows.map(({ lastType, lastBody, toldAt, toldBody, ...row }) => ({
    ...incidentOf(row),
    lastType,
    lastBody,
    toldAt,
    toldBody,
  }));
}

/** The last event for people about an incident `i` up to a moment. Where no channel was concerned, an event has an empty list of recipients. */
const lastEvent = (sql: Queries, at: Instant, which: Fragment): Fragment => sql`
      select type, created_at, body from purchase_watch_internal.events
      where incident = i.id and type like 'incident.%' and created_at <= ${at}::timestamptz and ${which} order by position desc limit 1`;

/** When an incident that is part of no other one was open. */
export interface IncidentSpan
  extends Pick<IncidentRow, 'id' | 'kind' | 'site' | 'subscriber' | 'severity' | 'openedAt' | 'endedAt'> {}

/** The incidents that were open at some time since a moment, the first opened first; with a site, those of that site alone. */
export const incidentSpans = (
  sql: Queries,
  { since, site, limit }: { since: Instant; site: string | null; limit: number },
) => sql<IncidentSpan[]>`
    select id, kind, site, subscriber, severity, opened_at, ended_at from (
      select * from purchase_watch_internal.incidents where ended_at is null
      union all
      select * from purchase_watch_internal.incidents where ended_at > ${since}::timestamptz) q
    where ${site === null ? sql`parent is null` : sql`site = ${site}`} order by position desc limit ${limit}`;
