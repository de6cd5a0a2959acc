/** Who a browser is: a session that a key of the API opened, or a one-time link where no key is configured. */

import { createHash } from 'node:crypto';
import type { Sql } from '../../actions/database.ts';
import {
  addSession,
  endSession,
  endSessionsOf,
  findSession,
  namePerson,
  noteSeen,
  sessionsAmong,
} from '../../actions/sessions.ts';
import { sessionTokens } from '../../api/access/known.ts';
import type { Caller } from '../../api/http/caller.ts';
import { type ApiKey, shownName } from '../../config/api-keys.ts';
import { HOUR, type Milliseconds } from '../../domain/values/time.ts';
import { wall } from '../../runtime/time.ts';

/** A session ends a working day after its sign-in, whatever was done in it. */
export const SESSION_LIFETIME: Milliseconds = 12 * HOUR;

export type Sessions = ReturnType<typeof createSessions>;

/**
 * Keeps sessions in the database, so that they hold at every replica and outlive a restart. They are looked up on `reads`, whose
 * connections never wait for locks, and only for tokens whose signature holds.
 */
export function createSessions({ reads, changes }: { reads: Sql; changes: Sql }, keys: readonly ApiKey[]) {
  const tokens = sessionTokens(keys);
  const markOf = ({ hash }: ApiKey): string => createHash('sha256').update(`session ${hash}`).digest('hex').slice(0, 16);
  /** Sessions of which it is being noted that they were used. */
  const noting = new Set<number>();
  /** No page waits for it: a database that takes no writes still shows pages. */
  const note = async (id: number): Promise<void> => {
    if (noting.has(id)) return;
    noting.add(id);
    await noteSeen(changes, id).catch(() => undefined);
    noting.delete(id);
  };
  const named = (name: string | null): ApiKey => {
    const key = keys.find((each) => shownName(each) === name);
    if (key === undefined) throw new Error(`no key is named ${name}`);
    return key;
  };
  return {
    /** The caller of a token; null when it opens no session any more. */
    callerOf: async (token: string): Promise<Caller | null> => {
      const key = tokens.keyOf(token);
      const row = key === null ? undefined : await findSession(reads, hashOf(token));
      if (key === null || row?.keyName !== key.name || markOf(key) !== row.keyMark) {
        if (key !== null) tokens.end(token);
        return null;
      }
      const expires = Math.min(row.expiresAt, key.expires ?? Number.POSITIVE_INFINITY);
      if (expires <= wall()) return null;
      if (row.isUnnoted) void note(row.id);
      return { key: shownName(key), scopes: key.scopes, expires, name: row.person, session: row.id };
    },
    /** Opens a session for a caller who showed a key. Answers its token, which is kept nowhere here. */
    begin: async (caller: Pick<Caller, 'key' | 'name'>, address: string): Promise<string> => {
      const key = named(caller.key);
      const token = tokens.make(key, wall() + SESSION_LIFETIME);
      const session = { tokenHash: hashOf(token), keyName: key.name, keyMark: markOf(key), address, person: caller.name ?? null };
      await addSession(changes, { ...session, lifetime: SESSION_LIFETIME });
      return token;
    },
    /** Keeps the name of the person of a session; null: none. */
    rename: (session: number, name: string | null): Promise<void> => namePerson(changes, session, name),
    /** Of these sessions, those that open something still. */
    openAmong: async (ids: readonly number[]): Promise<ReadonlySet<number>> => {
      const rows = await sessionsAmong(reads, ids);
      const isOpen = (row: (typeof rows)[number]) => keys.some((key) => key.name === row.keyName && markOf(key) === row.keyMark);
      return new Set(rows.filter(isOpen).map(({ id }) => id));
    },
    end: (token: string): Promise<void> => endSession(changes, hashOf(token)),
    endAll: async (keyName: string | null): Promise<void> => void (await endSessionsOf(changes, named(keyName).name)),
  };
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
