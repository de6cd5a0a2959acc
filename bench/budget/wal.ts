/** What the database server wrote, by its write-ahead log: every row, index entry and commit is a record of it. */
import type { Sql } from '../../src/postgres/connection/database.ts';

export interface Written {
  /** Bytes of records, without images of whole pages: a checkpoint decides about those. */
  readonly bytes: number;
  /** Records of each kind, as `pg_get_wal_stats` names them: `Heap/HOT_UPDATE`, `Btree/INSERT_LEAF`, `Transaction/COMMIT`. */
  readonly records: ReadonlyMap<string, number>;
}

/** Begins to count; the function that it returns answers what was written since, by all sessions. Null without `pg_walinspect`. */
export async function countWal(sql: Sql): Promise<() => Promise<Written | null>> {
  const [{ has }] = await sql<[{ has: boolean }]>`
    select exists (select from pg_available_extensions where name = 'pg_walinspect') as has`;
  if (!has) return () => Promise.resolve(null);
  await sql`create extension if not exists pg_walinspect`;
  const [{ from }] = await sql<[{ from: string }]>`select pg_current_wal_insert_lsn()::text as from`;
  return async () => {
    const rows = await sql<{ kind: string; count: number; bytes: number }[]>`
      select "resource_manager/record_type" as kind, count::float8, record_size::float8 as bytes
      from pg_get_wal_stats(${from}::pg_lsn, pg_current_wal_flush_lsn(), true) where count > 0`;
    return {
      bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
      records: new Map(rows.map(({ kind, count }) => [kind, count])),
    };
  };
}

/** The records of some kinds together. */
export const recordsOf = ({ records }: Written, ...kinds: readonly string[]): number =>
  kinds.reduce((sum, kind) => sum + (records.get(kind) ?? 0), 0);
