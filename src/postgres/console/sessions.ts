/** Browsers that are signed in to the console. Only the hash of a session's token is stored. */
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

export interface SessionRow {
  readonly id: number;
  readonly keyName: string;
  readonly keyMark: string;
  readonly expiresAt: Instant;
  /** The name that the person said; null: none. */
  readonly person: string | null;
  /** Whether `last_seen_at` is more than a minute old. */
  readonly isUnnoted: boolean;
}

export interface NewSession {
  /** SHA-256 of the token. */
  readonly tokenHash: Uint8Array;
  readonly keyName: string;
  /** A digest of the key: a session ends with the key that opened it. */
  readonly keyMark: string;
  readonly address: string;
  /** The name that the person said; null: none. */
  readonly person: string | null;
  readonly lifetime: Milliseconds;
}

/** Expired rows that a sign-in deletes at most. */
const DELETED_AT_ONCE = 100;

/** Adds a session, and deletes some that have expired. */
export async function addSession(
  sql: Queries,
  { tokenHash, keyName, keyMark, address, person, lifetime }: NewSession,
): Promise<void> {
  await sql`
    with expired as (
      delete from purchase_watch_internal.console_sessions where token_hash in (
        select token_hash from purchase_watch_internal.console_sessions
        where expires_at <= now() order by expires_at limit ${DELETED_AT_ONCE} for update skip locked))
    insert into purchase_watch_internal.console_sessions (token_hash, key_name, key_mark, address, person, expires_at)
    values (${Buffer.from(tokenHash)}::bytea, ${keyName}, ${keyMark}, ${address}, ${person}, now() + ${lifetime}::float8 * interval '1 ms')`;
}

/** The session of a token; undefined when there is none, or it has expired. */
export async function findSession(sql: Queries, tokenHash: Uint8Array): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    select id, key_name, key_mark, person, expires_at,
      last_seen_at < now() - interval '1 min' as is_unnoted
    from purchase_watch_internal.console_sessions where token_hash = ${Buffer.from(tokenHash)}::bytea and expires_at > now()`;
  return row;
}

/** Of the sessions with these ids, those that have not been ended and have not expired. */
export const sessionsAmong = (sql: Queries, ids: readonly number[]) => sql<Pick<SessionRow, 'id' | 'keyName' | 'keyMark'>[]>`
    select id, key_name, key_mark
    from purchase_watch_internal.console_sessions where id = any(${ids}::bigint[]) and expires_at > now()`;

export async function endSession(sql: Queries, tokenHash: Uint8Array): Promise<void> {
  await sql`delete from purchase_watch_internal.console_sessions where token_hash = ${Buffer.from(tokenHash)}::bytea`;
}

/** Notes that a session was used now. */
export async function noteSeen(sql: Queries, id: number): Promise<void> {
  await sql`update purchase_watch_internal.console_sessions set last_seen_at = now() where id = ${id}::bigint`;
}

/** Keeps the name that the person of a session said; null: none. */
export async function namePerson(sql: Queries, id: number, person: string | null): Promise<void> {
  await sql`update purchase_watch_internal.console_sessions set person = ${person} where id = ${id}::bigint`;
}

/** Ends every session that was opened with the key of this name, or (null) with any key. Answers how many. */
export async function endSessionsOf(sql: Queries, keyName: string | null): Promise<number> {
  const { count } = await sql`
    delete from purchase_watch_internal.console_sessions where ${keyName === null ? sql`true` : sql`key_name = ${keyName}`}`;
  return count;
}

/** Ends the session of this id; false when there is none. */
export async function endSessionOf(sql: Queries, id: number): Promise<boolean> {
  const { count } = await sql`delete from purchase_watch_internal.console_sessions where id = ${id}::bigint`;
  return count > 0;
}

export interface ListedSession {
  readonly id: number;
  readonly keyName: string;
  readonly person: string | null;
  readonly address: string;
  readonly createdAt: Instant;
  readonly lastSeenAt: Instant;
  readonly expiresAt: Instant;
}

/** A page of the sessions that have not expired, the latest first; there are as many as people signed in within twelve hours. */
export const listSessions = (
  sql: Queries,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<ListedSession[]> => sql`
    select id, key_name, person, address, created_at, last_seen_at, expires_at
    from purchase_watch_internal.console_sessions
    where expires_at > now() and ${before === null ? sql`true` : sql`id < ${before}::bigint`} order by id desc limit ${limit}`;
