/**
 * Builds the one index of a file beside readers and writers, which Postgres does in no transaction. Meanwhile the transaction of
 * the migration holds the lock of migrations and no snapshot, so the index does not wait for it.
 */
import type { Queries, Sql } from '../connection/database.ts';
import type { Watch } from './behind-readers.ts';
import { releaseSnapshot } from './migration-lock.ts';

/** The transaction, the index, and the session that looks who is in the way. */
const SESSIONS = 3;

/** Runs the one statement of a file on a session of its own. What an earlier try left of the index is removed first. */
export async function buildIndex(
  { tx, sql, watch }: { tx: Queries; sql: Sql; watch: Watch },
  { name, table, text }: { name: string; table: string; text: string },
): Promise<void> {
  if (sql.options.max < SESSIONS) throw new Error(`a pool of ${SESSIONS} connections is needed to build an index beside writers`);
  await releaseSnapshot(tx);
  const session = await sql.reserve();
  try {
    // The statement waits for older transactions, and no reader or writer waits behind it.
    await session`select set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)`;
    const [{ pid }] = await session<[{ pid: number }]>`select pg_backend_pid() as pid`;
    Object.assign(watch, { pid, isPatient: true });
    const [schema = ''] = table.split('.');
    const [left] = await session`select from pg_class where relname = ${name} and relnamespace = ${schema}::regnamespace`;
    if (left !== undefined) await session`drop index concurrently ${session(`${schema}.${name}`)}`;
    await session.unsafe(text);
  } finally {
    watch.pid = null;
    await session`reset statement_timeout`.catch(() => undefined);
    await session`reset lock_timeout`.catch(() => undefined);
    session.release();
  }
}
