/** Incidents of sites and silences of a time, for the lane above charts. */

import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import type { Period } from '../../domain/trends/period.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

/** Incidents that are read at most, and silences that are read at most: of more, the latest. */
export const MOST_IN_LANE = 200;

export interface LaneIncident {
  readonly id: string;
  readonly kind: IncidentKind;
  readonly site: string | null;
  readonly state: number | null;
  readonly severity: number;
  readonly since: Instant;
  readonly endedAt: Instant | null;
}

/** Incidents of sites that were open in a period, with their beginning at the first symptom; those that are part of another one only there. */
export const incidentsIn = (sql: Queries, { from, to }: Period, site: string | null) => sql<LaneIncident[]>`
    select id, kind, site, state, severity, since, ended_at from (
      select * from purchase_watch_internal.incidents where ended_at is null
      union all
      select * from purchase_watch_internal.incidents where ended_at > ${from}::timestamptz) i
    where i.kind in ('stuck', 'unreachable') and i.parent is null and i.since < ${to}::timestamptz
      and ${
        site === null
          ? sql`true`
          : sql`(i.site = ${site} or exists (select from purchase_watch_internal.incidents c where c.parent = i.id and c.site = ${site}))`
      }
    order by i.since desc limit ${MOST_IN_LANE}`;

export interface LaneSilence {
  readonly id: number;
  readonly site: string | null;
  readonly state: number | null;
  readonly kind: IncidentKind | null;
  readonly subscriber: string | null;
  readonly reason: string;
  readonly startsAt: Instant;
  readonly endsAt: Instant;
}

/** Silences that held in a period; of a site also those of all sites. */
export const silencesIn = (sql: Queries, { from, to }: Period, site: string | null) => sql<LaneSilence[]>`
    select id, site, state, kind, subscriber, reason, starts_at, ends_at from purchase_watch_internal.silences
    where ends_at > ${from}::timestamptz and starts_at < ${to}::timestamptz
      and ${site === null ? sql`true` : sql`(site is null or site = ${site})`}
    order by starts_at desc limit ${MOST_IN_LANE}`;
