/** Rows of purchases that other sessions have locked, such as a person's open transaction or a merchant's long one. */

import type { Fragment, Queries } from '../connection/database.ts';

/** The row ids whose rows another session has locked, so that a write of them would wait. */
export async function lockedOf(sql: Queries, ids: readonly number[]): Promise<Set<number>> {
  const asked = `{${ids.join()}}`;
  const rows = await sql<{ id: number }[]>`
    with unlocked as materialized (
      select id from purchase_watch.purchases where id = any(${asked}::bigint[]) for no key update skip locked)
    select id from purchase_watch.purchases
    where id = any(${asked}::bigint[]) and id not in (select id from unlocked)`;
  return new Set(rows.map(({ id }) => id));
}

/** A query of a purchase's row for the session that has locked the row; see connection/lock-holder.ts. */
export const rowOf = (sql: Queries, id: number): Fragment => sql`select xmax from purchase_watch.purchases where id = ${id}`;
