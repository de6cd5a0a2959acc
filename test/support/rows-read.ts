/** How many rows of a table a piece of work reads, as Postgres counts them. */
import type { Queries, Sql } from '../../src/postgres/connection/database.ts';

export interface RowsRead {
  /** From end to end. */
  readonly scanned: number;
  /** By an index. */
  readonly fetched: number;
}

/** Counts in the transaction that does the work: what others do to the table is not in it. */
export async function rowsRead(sql: Sql, table: string, work: (tx: Queries) => Promise<unknown>): Promise<RowsRead> {
  return sql.begin(async (tx) => {
    const counts = async (): Promise<RowsRead> => {
      const [row] = await tx<[RowsRead]>`
        select seq_tup_read::float8 as scanned, coalesce(idx_tup_fetch, 0)::float8 as fetched from pg_stat_xact_user_tables
        where schemaname in ('purchase_watch', 'purchase_watch_internal') and relname = ${table}`;
      return row;
    };
    const before = await counts();
    await work(tx);
    const after = await counts();
    return { scanned: after.scanned - before.scanned, fetched: after.fetched - before.fetched };
  });
}
