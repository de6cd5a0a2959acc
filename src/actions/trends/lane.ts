/** What happened while customers came: incidents and silences, for a lane beside the counts. */

import { stateOrNull } from '../../domain/events/make-event.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import type { Period } from '../../domain/trends/period.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { incidentsIn, silencesIn } from '../../postgres/trends/lane.ts';
import { silenceName } from '../incidents/body.ts';

/** The incidents and silences of a period, the latest first; at most 200 of each. */
export async function happenedIn(sql: Sql, period: Period, site: string | null) {
  const [incidents, silences] = await Promise.all([incidentsIn(sql, period, site), silencesIn(sql, period, site)]);
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
  };
}
