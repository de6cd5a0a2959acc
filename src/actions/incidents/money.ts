/** The money that customers in open incidents wait with, for lists of incidents. */
import type { Sql } from '../../postgres/connection/database.ts';
import { placesBelow } from '../../postgres/incidents/customers.ts';
import type { IncidentRow } from '../../postgres/incidents/list.ts';
import { type MoneyWaiting, moneyWaiting } from '../../postgres/stays/money.ts';

/** States of sites that one incident is made of, at most: as many as it may have at a few dozen sites. */
export const MOST_PLACES = 500;

/** An incident of a list; `money` is null for one that is over, or about no stuck purchases. */
export type ListedIncident = IncidentRow & { readonly money: MoneyWaiting | null };

/** Adds to each open incident of stuck purchases the money that waits in it: the sum that messages and the incident's page show. */
export async function withMoney(sql: Sql, rows: readonly IncidentRow[]): Promise<ListedIncident[]> {
  const stuck = rows.filter(({ kind, endedAt }) => kind === 'stuck' && endedAt === null);
  if (stuck.length === 0) return rows.map((row) => ({ ...row, money: null }));
  const places = await placesBelow(sql, { ids: stuck.map(({ id }) => id), most: MOST_PLACES });
  const sums = await moneyWaiting(
    sql,
    stuck.map(({ id }) => places.filter(({ incident }) => incident === id)),
  );
  const byId = new Map(stuck.map(({ id }, index) => [id, sums[index]!]));
  return rows.map((row) => ({ ...row, money: byId.get(row.id) ?? null }));
}
