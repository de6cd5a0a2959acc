/** Rows of purchases that other sessions have locked, such as a person's open transaction or a merchant's long one. */

import type { Fragment, Queries } from '../connection/database.ts';

/** Those of the row ids whose rows another session has locked, so that a write of them would wait. */
export async function lockedOf(sql: Queries, ids: readonly number[]): Promise<Set<number>> {
  const asked = `{${ids.join()}}`;
  const rows = await sql<{ id: number }[]>`
    with unlocked as materialized (
      select id from purchase_watch.purchases where id = any(${asked}::bigint[]) for no key update skip locked)
    select id::float8 as id from purchase_watch.purchases
    where id = any(${asked}::bigint[]) and id not in (select id from unlocked)`;
  return new Set(rows.map(({ id }) => id));
}

/** A session that holds the lock of a row. */
export interface RowHolder {
  readonly pid: number;
  /** Null when the login of DATABASE_URL may not see it. */
  readonly login: string | null;
  readonly application: string | null;
}

/** The session that has locked a purchase's row; null when there is none by now, or several sessions share the lock. */
export async function holderOf(sql: Queries, id: number): Promise<RowHolder | null> {
  const [holder] = await sql<RowHolder[]>`select * from ${lockHolders(sql, id)} limit 1`;
  return holder ?? null;
}

/** The session that has locked a purchase's row, as a table of a statement. A row names the transaction that locked the row last. */
export const lockHolders = (sql: Queries, id: number): Fragment => sql`(
  select l.pid, a.usename as login, nullif(a.application_name, '') as application
  from purchase_watch.purchases p
  join pg_locks l on l.locktype = 'transactionid' and l.transactionid = p.xmax and l.granted
  left join pg_stat_activity a on a.pid = l.pid
  where p.id = ${id}) holder`;
