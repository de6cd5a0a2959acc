/** How incidents are now: read when a message about them was written earlier. */

import { type Level, levelOf } from '../../domain/incidents/incident.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

/** One state of one site, as a part of an incident. */
export interface PartNow {
  readonly site: string;
  readonly state: number;
  readonly count: number;
  readonly peak: number;
  readonly ended: boolean;
}

export interface IncidentNow {
  /** How many customers the incident is about now, or how many deliveries of a subscriber. 0 while nothing is wrong and the incident is not over yet. */
  readonly count: number;
  readonly peak: number;
  readonly since: Instant;
  readonly endedAt: Instant | null;
  readonly level: Level;
  readonly acknowledged: { readonly by: string; readonly note: string | null; readonly at: Instant } | null;
  /** Whether the incident is a part of another incident. */
  readonly hasParent: boolean;
  /** The incident's parts that are about one state of a site, the largest first. */
  readonly parts: readonly PartNow[];
}

/** As many incidents as one message holds, and as many parts as an event holds. */
const MOST = 500;
const MOST_PARTS = 50;

type Row = Omit<IncidentNow, 'level' | 'acknowledged' | 'parts'> & {
  readonly id: string;
  readonly kind: IncidentKind;
  readonly severity: number;
  readonly by: string | null;
  readonly note: string | null;
  readonly at: Instant | null;
  readonly parts: string | null;
};

/** Incidents by their ids; deleted incidents are missing. Reads 500 at most. */
export async function incidentsNow(sql: Queries, ids: readonly string[]): Promise<ReadonlyMap<string, IncidentNow>> {
  const asked = [...new Set(ids)].slice(0, MOST);
  if (asked.length === 0) return new Map();
  const rows = await sql<Row[]>`
    select i.id, i.kind, i.severity, i.count, i.peak, i.since,
      i.ended_at, i.parent is not null as has_parent,
      i.acknowledged_by as by, i.acknowledged_note as note, i.acknowledged_at as at,
      case when i.kind = 'stuck' and (i.site is null or i.state is null) then (
        with recursive below as (
          select c.* from purchase_watch_internal.incidents c where c.parent = i.id
          union all
          select c.* from below b join purchase_watch_internal.incidents c on c.parent = b.id)
        select json_agg(p)::text from (
          select site, state, count, peak, ended_at is not null or quiet_since is not null as ended
          from below where site is not null and state is not null order by count desc, peak desc, position limit ${MOST_PARTS}) p) end as parts
    from purchase_watch_internal.incidents i where i.id = any(${asked}::text[])`;
  return new Map(
    rows.map(({ id, kind, severity, by, note, at, parts, ...row }) => [
      id,
      {
        ...row,
        level: levelOf({ kind, severity }),
        acknowledged: by === null || at === null ? null : { by, note, at },
        parts: parts === null ? [] : (JSON.parse(parts) as PartNow[]),
      },
    ]),
  );
}
