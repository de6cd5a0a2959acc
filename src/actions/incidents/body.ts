/** Incidents and silences as programs see them, in the API and in the commands' JSON. */

import { stateOrNull } from '../../domain/events/make-event.ts';
import { CAUSES, isCauseKey } from '../../domain/incidents/causes.ts';
import { endsUnless } from '../../domain/incidents/ending.ts';
import { type AlertPolicy, levelOf, nextReminderAt } from '../../domain/incidents/incident.ts';
import { type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { IncidentRow } from '../../postgres/incidents/list.ts';
import type { SilenceRow } from '../../postgres/incidents/silences.ts';
import { silenceName } from '../row-ids.ts';
import type { IncidentStory } from './incidents.ts';
import type { ListedIncident } from './money.ts';
import { placeOf, whatOf } from './words.ts';

type EarlierAnswer = NonNullable<Extract<NonNullable<IncidentStory['lastAlert']>['data'], { kind: 'stuck' }>['earlier']>;

export function incidentBody(row: IncidentRow) {
  const { id, kind, site, state, subscriber, parent, count, peak, alarm, answer, acknowledgedAt } = row;
  const owner = acknowledgedAt === null ? null : (row.acknowledgedBy ?? '');
  return {
    id,
    kind,
    site,
    state: stateOrNull(state),
    subscriber,
    parent,
    where: placeOf(row),
    what: whatOf(row),
    parts: row.parts.map((part) => ({ ...part, state: stateOrNull(part.state), endedAt: isoTimeOrNull(part.endedAt) })),
    status: row.endedAt === null ? ('open' as const) : ('ended' as const),
    severity: levelOf(row),
    openedAt: isoTime(row.openedAt),
    since: isoTime(row.since),
    quietSince: isoTimeOrNull(row.quietSince),
    endsAt: isoTimeOrNull(row.endsAt),
    endsUnless: row.endsAt === null ? null : endsUnless(row),
    endedAt: isoTimeOrNull(row.endedAt),
    reopenedAt: isoTimeOrNull(row.reopenedAt),
    count,
    peak,
    alarm: alarm === null ? null : { ...alarm, at: isoTime(alarm.at), since: isoTime(alarm.since) },
    alertedAt: isoTimeOrNull(row.alertedAt),
    owner,
    acknowledged: acknowledgedAt === null ? null : { at: isoTime(acknowledgedAt), by: owner ?? '', note: row.acknowledgedNote },
    answer: answer === null ? null : { ...answer, at: isoTime(answer.at) },
    silencedUntil: isoTimeOrNull(row.silencedUntil),
  };
}

export function listedIncidentBody({ money, ...row }: ListedIncident) {
  return { ...incidentBody(row), money };
}

/** The body of an incident with the alerts that people got. */
export function incidentDetails(
  { incident, messages, causes, lastAlert, advice }: IncidentStory,
  policy: Pick<AlertPolicy, 'repeatInterval'>,
) {
  const reminderAt = nextReminderAt(incident, policy);
  const stuck = lastAlert?.data.kind === 'stuck' ? lastAlert.data : null;
  const { earlier = null, limitMs = null, dwell = null, slice = null, mark = null } = stuck ?? {};
  return {
    ...incidentBody(incident),
    causes: causes.map(({ cause, why, likely }) => ({ cause, why, likely, title: titleOf(cause), remedy: remedyOf(cause) })),
    slice: slice === null ? null : { ...slice, since: isoTime(slice.since) },
    mark: mark === null ? null : { ...mark, at: isoTime(mark.at) },
    wrong: [...advice.wrong],
    todo: [...advice.todo],
    meanwhile: [...advice.meanwhile],
    limit:
      limitMs === null
        ? null
        : { ms: limitMs, usualMs: dwell?.usualMs ?? null, p95Ms: dwell?.p95Ms ?? null, purchases: dwell?.purchases ?? null },
    earlier: earlier === null ? null : earlierBody(earlier),
    said: messages.map(({ at, ...each }) => ({ ...each, at: isoTime(at) })),
    // A reminder that falls into a silence is sent when the silence ends.
    nextReminderAt: isoTimeOrNull(reminderAt === null ? null : Math.max(reminderAt, incident.silencedUntil ?? 0)),
  };
}

function earlierBody({ site, state, cause, note, by, at }: EarlierAnswer) {
  return { site, state, cause, title: titleOf(cause), note, by, at: isoTimeOrNull(at) };
}

/** A cause of a later version has no title here: its key is shown. */
const titleOf = (cause: string): string => (isCauseKey(cause) ? CAUSES[cause].title : cause);
const remedyOf = (cause: string): string | null => (isCauseKey(cause) ? CAUSES[cause].remedy : null);

/** A silence as its body, at a moment of the database's clock. */
export function silenceBody(row: SilenceRow, now: Instant) {
  const { id, site, state, kind, subscriber, reason, by, createdAt, startsAt, endsAt } = row;
  const status: 'coming' | 'active' | 'over' = endsAt <= now ? 'over' : startsAt <= now ? 'active' : 'coming';
  return {
    id: silenceName(id),
    site,
    state: stateOrNull(state),
    kind,
    subscriber,
    reason,
    by,
    createdAt: isoTime(createdAt),
    startsAt: isoTime(startsAt),
    endsAt: isoTime(endsAt),
    status,
  };
}
