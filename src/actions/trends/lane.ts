/** Incidents, silences and marks of a time, for a lane beside the counts. */

import { stateOrNull } from '../../domain/events/make-event.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import type { Period } from '../../domain/trends/period.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { incidentsIn, silencesIn } from '../../postgres/trends/lane.ts';
import { marksIn } from '../../postgres/trends/marks.ts';
import { silenceName } from '../row-ids.ts';
import { markBody } from './marks.ts';

/** The incidents and silences of a period, the latest first, 200 of each at most; and its marks. */
export async function happenedIn(sql: Sql, period: Period, site: string | null) {
  const [incidents, silences, marks] = await Promise.all([
    incidentsIn(sql, period, site),
    silencesIn(sql, period, site),
    marksIn(sql, period, site),
  ]);
  return {
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
