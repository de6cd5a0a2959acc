/** Browsers that are signed in to the console. Only the hash of a session's token is stored. */
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

export interface SessionRow {
  readonly keyName: string;
  readonly keyMark: string;
  readonly expiresAt: Instant;
}

export interface NewSession {
  /** SHA-256 of the token. */
  readonly tokenHash: Uint8Array;
  readonly keyName: string;
  /** A digest of the key: a session ends with the key that opened it. */
  readonly keyMark: string;
  readonly address: string;
  readonly lifetime: Milliseconds;
}

/** Expired rows that a sign-in deletes at most. */
const DELETED_AT_ONCE = 100;

/** Adds a session, and deletes some that have expired. */
export async function addSession(sql: Queries, { tokenHash, keyName, keyMark, address, lifetime }: NewSession): Promise<void> {
  await sql`
    with expired as (
      delete from purchase_watch_internal.console_sessions where token_hash in (
        select token_hash from purchase_watch_internal.console_sessions
        where expires_at <= now() order by expires_at limit ${DELETED_AT_ONCE} for update skip locked))
    insert into purchase_watch_internal.console_sessions (token_hash, key_name, key_mark, address, expires_at)
    values (${Buffer.from(tokenHash)}::bytea, ${keyName}, ${keyMark}, ${address}, now() + ${lifetime}::float8 * interval '1 ms')`;
}

/** The session of a token; undefined when there is none, or it has expired. */
export async function findSession(sql: Queries, tokenHash: Uint8Array): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    select key_name as "keyName", key_mark as "keyMark", expires_at as "expiresAt"
    from purchase_watch_internal.console_sessions where token_hash = ${Buffer.from(tokenHash)}::bytea and expires_at > now()`;
  return row;
}

/** Ends one session. */
export async function endSession(sql: Queries, tokenHash: Uint8Array): Promise<void> {
  await sql`delete from purchase_watch_internal.console_sessions where token_hash = ${Buffer.from(tokenHash)}::bytea`;
}

/** Ends every session that was opened with the key of this name. Answers how many. */
export async function endSessionsOf(sql: Queries, keyName: string): Promise<number> {
  const { count } = await sql`delete from purchase_watch_internal.console_sessions where key_name = ${keyName}`;
  return count;
}
