/** Who a browser is: a session that a key of the API opened, or a one-time link where no key is configured. */
import { createHash, randomBytes } from 'node:crypto';
import type { Caller } from '../../api/http/caller.ts';
import { type ApiKey, shownName } from '../../config/api-keys.ts';
import { HOUR, type Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { addSession, endSession, endSessionsOf, findSession, noteSeen } from '../../postgres/console/sessions.ts';

/** A session ends a working day after its sign-in, whatever was done in it. */
export const SESSION_LIFETIME: Milliseconds = 12 * HOUR;

export interface Sessions {
  /** The caller of a token; null when it opens no session any more. */
  callerOf(token: string): Promise<Caller | null>;
  /** Opens a session for a caller who showed a key. Answers its token, which is kept nowhere here. */
  begin(caller: Pick<Caller, 'key'>, address: string): Promise<string>;
  end(token: string): Promise<void>;
  /** Ends all sessions of a key. */
  endAll(keyName: string | null): Promise<void>;
}

/** Keeps sessions in the database, so that they hold at every replica and outlive a restart. */
export function createSessions(sql: Sql, keys: readonly ApiKey[]): Sessions {
  const markOf = ({ hash }: ApiKey): string => createHash('sha256').update(`session ${hash}`).digest('hex').slice(0, 16);
  const named = (name: string | null): ApiKey => {
    const key = keys.find((each) => shownName(each) === name);
    if (key === undefined) throw new Error(`no key is named ${name}`);
    return key;
  };
  return {
    callerOf: async (token) => {
      const row = await findSession(sql, hashOf(token));
      const key = keys.find(({ name }) => name === row?.keyName);
      if (row === undefined || key === undefined || markOf(key) !== row.keyMark) return null;
      const expires = Math.min(row.expiresAt, key.expires ?? Number.POSITIVE_INFINITY);
      if (expires <= Date.now()) return null;
      // A database that takes no writes still shows pages.
      if (row.isUnnoted) await noteSeen(sql, row.id).catch(() => undefined);
      return { key: shownName(key), scopes: key.scopes, expires, session: row.id };
    },
    begin: async (caller, address) => {
      const key = named(caller.key);
      const token = randomBytes(32).toString('base64url');
      const session = { tokenHash: hashOf(token), keyName: key.name, keyMark: markOf(key), address };
      await addSession(sql, { ...session, lifetime: SESSION_LIFETIME });
      return token;
    },
    end: (token) => endSession(sql, hashOf(token)),
    endAll: async (keyName) => void (await endSessionsOf(sql, named(keyName).name)),
  };
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
