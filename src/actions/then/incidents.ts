/** Incidents as they were at a past moment; what became known later is left out. */

import { stateOrNull } from '../../domain/events/make-event.ts';
import { type IncidentData, readPeopleEvent } from '../../domain/events/people-event-types.ts';
import { levelOf, SUBSCRIBER_TROUBLES } from '../../domain/incidents/incident.ts';
import { isUnnamed } from '../../domain/incidents/symptom.ts';
import { statePlace } from '../../domain/purchases/states.ts';
import { counted } from '../../domain/values/counts.ts';
import { type Instant, isoTime } from '../../domain/values/time.ts';
import type { PastIncident } from '../../postgres/reports/past-incidents.ts';
import { placeOf, SUBSCRIBER_WORDS } from '../incidents/words.ts';

export type IncidentThen = ReturnType<typeof incidentThen>;

/** How many customers were stuck in a state of a site; null: it is not known. */
export type StuckThen = (site: string, state: number) => number | null;

/** Incidents that were open at the moment. One that came back later had ended by then, if the last event for people says so. */
export function incidentsThen(
  rows: readonly PastIncident[],
  { at, stuckIn }: { at: Instant; stuckIn: StuckThen },
): IncidentThen[] {
  return rows.filter(({ lastType }) => lastType !== 'incident.ended').map((row) => incidentThen(row, { at, stuckIn, rows }));
}

function incidentThen(
  row: PastIncident,
  { at, stuckIn, rows }: { at: Instant; stuckIn: StuckThen; rows: readonly PastIncident[] },
) {
  const { id, kind, site, state, subscriber, parent, since, openedAt, reopenedAt, quietSince, acknowledgedAt, acknowledgedBy } =
    row;
  const [last, told] = [dataOf(row.lastBody), dataOf(row.toldBody)];
  const isQuiet = quietSince !== null && quietSince <= at;
  const count = kind === 'stuck' ? countOf(row, { stuckIn, rows }) : null;
  return {
    id,
    kind,
    site,
    state: stateOrNull(state),
    subscriber,
    parent,
    where: placeOf(row),
    what: whatWas(row, { count, last }),
    severity: last?.severity ?? levelOf(row),
    quiet: isQuiet,
    since: isoTime(since),
    openedAt: isoTime(openedAt),
    openMs: at - (reopenedAt !== null && reopenedAt <= at ? reopenedAt : openedAt),
    count,
    // A person who took it over later stands in the place of an earlier one.
    acknowledged:
      acknowledgedAt !== null && acknowledgedAt <= at ? { at: isoTime(acknowledgedAt), by: acknowledgedBy ?? '' } : null,
    told:
      told === null
        ? null
        : {
            at: isoTime(row.toldAt!),
            count: told.kind === 'stuck' ? told.count : null,
            waiting: told.kind === 'stuck' ? told.waiting.map((sum) => ({ ...sum })) : [],
          },
  };
}

function dataOf(body: string | null): IncidentData | null {
  const data = body === null ? undefined : readPeopleEvent(body)?.data;
  return data !== undefined && 'incidentId' in data ? data : null;
}

/** The customers who were stuck in the places of an incident: its own, or those of its parts that were open. */
function countOf(
  { id, site, state }: PastIncident,
  { stuckIn, rows }: { stuckIn: StuckThen; rows: readonly PastIncident[] },
): number | null {
  if (site !== null && state !== null) return stuckIn(site, state);
  const parts = rows.filter(({ parent }) => parent === id).map((part) => countOf(part, { stuckIn, rows }));
  return parts.length === 0 || parts.includes(null) ? null : parts.reduce<number>((sum, count) => sum + count!, 0);
}

function whatWas(
  { kind, state, severity }: PastIncident,
  { count, last }: { count: number | null; last: IncidentData | null },
): string {
  if (kind === 'unreachable')
    return isUnnamed(severity) ? 'no running daemon had the site in its settings' : 'no purchase could be read';
  if (kind === 'replica') return 'a daemon could not do its work';
  if (kind === 'subscriber') {
    const trouble = (last?.kind === 'subscriber' ? last.trouble : null) ?? SUBSCRIBER_TROUBLES[severity] ?? 'failing';
    return SUBSCRIBER_WORDS[trouble][1];
  }
  const where = state === null ? 'in several states' : statePlace(state);
  return count === null ? `customers were stuck ${where}` : `${counted(count, 'customer was', 'customers were')} stuck ${where}`;
}
