/** Who is signed in to the console, once for API and commands. */
import { isoTime } from '../domain/values/time.ts';
import type { Queries } from '../postgres/connection/database.ts';
import { endSessionOf, type ListedSession } from '../postgres/console/sessions.ts';
import { Refused } from './subscribers/refused.ts';

export {
  addSession,
  endSession,
  endSessionsOf,
  findSession,
  listSessions,
  namePerson,
  noteSeen,
  sessionsAmong,
} from '../postgres/console/sessions.ts';

/** A session as its body; `own` is the session that asks. */
export function sessionBody(
  { id, keyName, person, address, createdAt, lastSeenAt, expiresAt }: ListedSession,
  own: number | null,
) {
  return {
    id: sessionName(id),
    key: keyName,
    person,
    address,
    signedInAt: isoTime(createdAt),
    lastSeenAt: isoTime(lastSeenAt),
    expiresAt: isoTime(expiresAt),
    isOwn: id === own,
  };
}

/** A session's id as people and programs see it. */
export function sessionName(id: number): string {
  return `ses_${id}`;
}

/** Signs one browser out; throws Refused. */
export async function endOneSession(sql: Queries, id: number): Promise<void> {
  if (await endSessionOf(sql, id)) return;
  throw new Refused('session_not_found', `there is no session ${sessionName(id)}; it was signed out, or has expired`);
}
