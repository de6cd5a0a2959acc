/** Which session holds a lock that a statement needs, and how to say that to a person. */

import { type Instant, isoTime } from '../../domain/values/time.ts';
import { type Fragment, isLockTimeout, type Queries } from './database.ts';
import { firstRow } from './rows.ts';

/** A session with an open transaction. What the login of DATABASE_URL may not see is null. */
export interface LockHolder {
  readonly pid: number;
  readonly login: string | null;
  readonly application: string | null;
  readonly state: string | null;
  /** Since when its transaction is open. */
  readonly since: Instant | null;
  readonly queriedAt: Instant | null;
}

const OF_SESSION = `
  a.usename as login, nullif(a.application_name, '') as application, a.state, a.xact_start as since, a.query_start as queried_at`;

/** Of the sessions for which a session waits, the one with the oldest transaction. */
export const blockerOf = (sql: Queries, pid: number) =>
  firstRow(sql<LockHolder[]>`
    select b.pid, ${sql.unsafe(OF_SESSION)}
    from unnest(pg_blocking_pids(${pid})) b (pid) left join pg_stat_activity a on a.pid = b.pid
    order by a.xact_start nulls last limit 1`);

/**
 * Says which session holds the lock for which a statement has waited too long, and what to do; null for any other error. A row
 * names the transaction that locked the row last, and the error names the row; of any other lock the holder can only be guessed.
 */
export async function heldText(sql: Queries, error: unknown): Promise<string | null> {
  if (!isLockTimeout(error)) return null;
  const holder = await rowHolder(sql, String((error as { where?: unknown }).where));
  if (holder !== null) return heldByText(holder);
  const oldest = await oldestWriter(sql);
  return oldest === null ? UNKNOWN : `${GUESSED} ${sessionText(oldest)}: ${endText(oldest)}, and try again`;
}

const GUESSED = 'another session holds a lock on what this changes; the oldest open transaction that may hold locks is that of';
const UNKNOWN =
  'another session holds a lock on what this changes: find it in pg_stat_activity by its age (xact_start), wait until its transaction ends, and try again';

/** Says that a session is in the way, and how to end that session. */
export const heldByText = (holder: LockHolder): string =>
  `${sessionText(holder)} holds a lock on what this changes: ${endText(holder)}, and try again`;

/** A session that has locked one of these rows; null when there is none by now, or several sessions share each lock. `rows`: a query of their `xmax`. */
export const holderAmong = (sql: Queries, rows: Fragment) =>
  firstRow(sql<LockHolder[]>`select * from ${lockHolders(sql, rows)} limit 1`);

/** The same as a table of a statement. A row names in `xmax` the transaction that locked the row last. */
export const lockHolders = (sql: Queries, rows: Fragment): Fragment => sql`(
  select l.pid, ${sql.unsafe(OF_SESSION)}
  from (${rows}) r join pg_locks l on l.locktype = 'transactionid' and l.transactionid = r.xmax and l.granted
  left join pg_stat_activity a on a.pid = l.pid) holder`;

/** Postgres says at which row a statement waited, such as `while locking tuple (0,1) in relation "purchases"`. */
const AT_ROW = /\((\d+,\d+)\).*?(\w+)\W*$/m;

async function rowHolder(sql: Queries, where: string): Promise<LockHolder | null> {
  const [, row = '', relation = ''] = AT_ROW.exec(where) ?? [];
  const [table] = await sql<{ name: string }[]>`
    select schemaname || '.' || tablename as name from pg_tables
    where schemaname in ('purchase_watch', 'purchase_watch_internal') and tablename = ${relation}`;
  if (table === undefined) return null;
  return holderAmong(sql, sql`select xmax from ${sql(table.name)} where ctid = ${`(${row})`}::tid`);
}

const oldestWriter = (sql: Queries) =>
  firstRow(sql<LockHolder[]>`
    select a.pid, ${sql.unsafe(OF_SESSION)} from pg_stat_activity a
    where a.datname = current_database() and a.pid <> pg_backend_pid() and a.xact_start is not null and (
      a.backend_xid is not null or exists (
        select from pg_locks l where l.pid = a.pid and l.granted and l.locktype = 'relation' and l.mode like '%Exclusive%' and l.mode <> 'RowExclusiveLock'))
    order by a.xact_start limit 1`);

/** A session as people find it again in pg_stat_activity. */
export function sessionText({ pid, login, application, state, since, queriedAt }: LockHolder): string {
  const facts = [
    application ?? 'without a name',
    state,
    since === null ? null : `in a transaction since ${isoTime(since)}`,
    queriedAt === null ? null : `last query at ${isoTime(queriedAt)}`,
  ].filter((fact) => fact !== null);
  return `session ${pid} of login "${login ?? 'unknown'}" (${facts.join(', ')})`;
}

/** The advice about a session in the way. */
export const endText = ({ pid }: Pick<LockHolder, 'pid'>): string =>
  `wait until its transaction ends, or end it with "select pg_terminate_backend(${pid})"`;
