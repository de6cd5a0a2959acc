/**
 * Builds the indexes of a file beside readers and writers, which Postgres does in no transaction. Meanwhile the transaction of
 * the migration holds the lock of migrations and no snapshot, so no index waits for it.
 */
import { openAside, type Queries, type Sql } from '../connection/database.ts';
import type { Watch } from './behind-readers.ts';
import type { BuiltIndex } from './files.ts';

/** The transaction, and the session that looks who is in the way. */
const SESSIONS = 2;

/**
 * The last statement by the extended protocol keeps its snapshot until the transaction's next statement. An index that is built
 * beside writers would wait for that snapshot, and the transaction for the index.
 */
const releaseSnapshot = (tx: Queries) => tx.unsafe('select 1');

/** Runs the statements of a file on a session of its own. What an earlier try built is kept, and what it left half built is removed first. */
export async function buildIndexes(
  { tx, sql, watch }: { tx: Queries; sql: Sql; watch: Watch },
  indexes: readonly BuiltIndex[],
): Promise<void> {
  if (sql.options.max < SESSIONS) throw new Error(`a pool of ${SESSIONS} connections is needed to build an index beside writers`);
  await releaseSnapshot(tx);
  const session = openAside(sql);
  try {
    // The statement waits for older transactions, and no reader or writer waits behind it.
    await session`select set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)`;
    const [{ pid }] = await session<[{ pid: number }]>`select pg_backend_pid() as pid`;
    Object.assign(watch, { pid, isPatient: true });
    for (const { name, table, text } of indexes) {
      const [schema = ''] = table.split('.');
      const [left] = await session<{ valid: boolean }[]>`
        select indisvalid as valid from pg_class c join pg_index i on i.indexrelid = c.oid
        where c.relname = ${name} and c.relnamespace = ${schema}::regnamespace`;
      if (left?.valid) continue;
      if (left !== undefined) await session`drop index concurrently ${session(`${schema}.${name}`)}`;
      await session.unsafe(text);
    }
  } finally {
    watch.pid = null;
    await session`reset statement_timeout`.catch(() => undefined);
    await session`reset lock_timeout`.catch(() => undefined);
    await session.end({ timeout: 1 });
  }
}
