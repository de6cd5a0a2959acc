/** Responding to incidents: what the API and the command line do, once for both. */

import { suggestion } from '../../config/kinds/nearest.ts';
import { readPeopleEvent } from '../../domain/events/people-event-types.ts';
import { isLookedAfter } from '../../domain/incidents/incident.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { acknowledgeIncident, answerIncident, releaseIncident } from '../../postgres/incidents/care.ts';
import { findIncident, type IncidentRow, listIncidents } from '../../postgres/incidents/list.ts';
import { lastMessage, messagesOf } from '../../postgres/incidents/messages.ts';
import { Refused } from '../subscribers/refused.ts';
import { adviceFor } from './collect-advice.ts';

export { type IncidentRow, listIncidents };

/** Open ones that are named to a person who gave a wrong id. */
const MOST_NAMED = 5;
/** Open ones that a mistyped id is compared with. */
const MOST_COMPARED = 100;

/** An incident with all alerts about it. */
export type IncidentStory = Awaited<ReturnType<typeof storyOf>>;

/** The incident of this id; throws Refused that names the open ones. */
export async function requireIncident(sql: Queries, id: string): Promise<IncidentRow> {
  const incident = await findIncident(sql, id);
  if (incident !== null) return incident;
  const open = await listIncidents(sql, { filter: { status: 'open' }, before: null, limit: MOST_COMPARED });
  const ids = open.map((each) => each.id);
  const [only, another] = ids.filter((each) => id.length > 'inc_'.length && each.startsWith(id));
  const hint = only !== undefined && another === undefined ? ` (did you mean ${only}?)` : suggestion(id, ids);
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : '';
  const named =
    ids.length === 0 ? 'none is open' : `open ${ids.length === 1 ? 'is' : 'are'} ${ids.slice(0, MOST_NAMED).join(', ')}${more}`;
  throw new Refused('incident_not_found', `there is no incident ${id}${hint}; ${named}`);
}

/** An incident and its alerts; throws Refused. */
export async function storyOf(sql: Queries, id: string) {
  const incident = await requireIncident(sql, id);
  const [messages, last] = await Promise.all([messagesOf(sql, id), lastMessage(sql, id)]);
  const event = last === null ? null : readPeopleEvent(last.body);
  const lastAlert = last === null || event === null ? null : { at: last.at, data: event.data };
  const causes = lastAlert?.data.kind === 'stuck' ? lastAlert.data.causes : [];
  return {
    incident,
    /** To each channel, first to last. */
    messages,
    /** The likely causes in the last alert; empty when it named none. */
    causes: causes.flatMap(({ why, ...cause }) => (why === null ? [] : [{ ...cause, why }])),
    /** The last alert before the end; null when none was sent. */
    lastAlert,
    advice: await adviceFor(sql, incident, lastAlert?.data ?? null),
  };
}

type Care = { readonly by: string; readonly note: string | null };

/** Makes a person the owner of an open incident and of its parts; throws Refused. */
export async function acknowledge(sql: Queries, id: string, care: Care): Promise<IncidentRow> {
  const isOpen = await acknowledgeIncident(sql, { id, ...care });
  const incident = await requireIncident(sql, id);
  if (!isOpen) throw ended(id, 'there is nothing to look after any more');
  return incident;
}

/** Ends the care of its owner, so that people are reminded again; throws Refused. */
export async function release(sql: Queries, id: string): Promise<IncidentRow> {
  const isOpen = await releaseIncident(sql, id);
  const incident = await requireIncident(sql, id);
  if (!isOpen) throw ended(id, 'nobody looks after it any more');
  return incident;
}

/** The open parent of this one of which people are reminded, because it has no owner; null: none. */
export async function remindingOf(sql: Queries, { parent }: IncidentRow): Promise<string | null> {
  const above = parent === null ? null : await findIncident(sql, parent);
  if (above === null || above.endedAt !== null) return null;
  // The owner of a parent still higher looks after this one, too; an owner from before it was reopened may be gone.
  if (isLookedAfter(above)) return null;
  return above.parent === null ? above.id : ((await remindingOf(sql, above)) ?? above.id);
}

/** Keeps what an incident was, to be cited when customers get stuck there again; throws Refused. */
export async function answer(sql: Queries, id: string, what: Care & { readonly cause: string }): Promise<IncidentRow> {
  await answerIncident(sql, { id, ...what });
  return requireIncident(sql, id);
}

function ended(id: string, why: string): Refused {
  return new Refused('incident_ended', `the incident ${id} is over; ${why}`);
}
