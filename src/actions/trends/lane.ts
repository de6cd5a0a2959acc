/** Incidents, silences and marks of a time, for a lane beside the counts. */

import { stateOrNull } from '../../domain/events/make-event.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import type { Period } from '../../domain/trends/period.ts';
import { type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { incidentsIn, MOST_IN_LANE, silencesIn } from '../../postgres/trends/lane.ts';
import { MOST_MARKS, marksIn } from '../../postgres/trends/marks.ts';
import { silenceName } from '../row-ids.ts';
import { markBody } from './marks.ts';

/**
 * The incidents and silences of a period, the latest first, and its marks, of each as many as are read at most. `listedSince`: what began
 * before then may be left out; null: everything is listed.
 */
export async function happenedIn(sql: Sql, period: Period, site: string | null) {
  const [incidents, silences, marks] = await Promise.all([
    incidentsIn(sql, period, site),
    silencesIn(sql, period, site),
    marksIn(sql, period, site),
  ]);
  const first = <Row>(rows: readonly Row[], most: number, at: (row: Row) => Instant) => (rows.length < most ? [] : rows.map(at));
  const cut = [
    first(incidents, MOST_IN_LANE, ({ since }) => since),
    first(silences, MOST_IN_LANE, ({ startsAt }) => startsAt),
    first(marks, MOST_MARKS, ({ at }) => at),
  ].flatMap((times) => (times.length === 0 ? [] : [Math.min(...times)]));
  return {
    listedSince: cut.length === 0 ? null : isoTime(Math.max(...cut)),
    incidents: incidents.map((incident) => ({
      id: incident.id,
      kind: incident.kind,
      site: incident.site,
      state: stateOrNull(incident.state),
      severity: levelOf(incident),
      since: isoTime(incident.since),
      endedAt: isoTimeOrNull(incident.endedAt),
    })),
    silences: silences.map(({ id, state, startsAt, endsAt, ...silence }) => ({
      id: silenceName(id),
      ...silence,
      state: stateOrNull(state),
      startsAt: isoTime(startsAt),
      endsAt: isoTime(endsAt),
    })),
    marks: marks.map(markBody),
  };
}
