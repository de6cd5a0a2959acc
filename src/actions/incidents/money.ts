/** The money that customers in open incidents wait with, for lists of incidents. */
import type { Sql } from '../../postgres/connection/database.ts';
import { placesBelow } from '../../postgres/incidents/customers.ts';
import type { IncidentRow } from '../../postgres/incidents/list.ts';
import { type MoneyWaiting, moneyWaiting } from '../../postgres/stays/evidence.ts';

/** States of sites of which the money is added up, for one incident. */
const MOST_PLACES = 50;
/** Purchases that are read for a whole list, and those of each state of a site that are read in any case. */
const READ = 1_000;
const LEAST_OF_PLACE = 10;

/** An incident of a list; `money` is null for one that is over, or about no stuck purchases. */
export type ListedIncident = IncidentRow & { readonly money: MoneyWaiting | null };

/** Adds to each open incident of stuck purchases the money that waits in it. Reads a bounded number of purchases, however many wait. */
export async function withMoney(sql: Sql, rows: readonly IncidentRow[]): Promise<ListedIncident[]> {
  const stuck = rows.filter(({ kind, endedAt }) => kind === 'stuck' && endedAt === null);
  if (stuck.length === 0) return rows.map((row) => ({ ...row, money: null }));
  const places = await placesBelow(sql, { ids: stuck.map(({ id }) => id), most: MOST_PLACES });
  const share = Math.floor(READ / Math.max(places.length, 1));
  const sums = await moneyWaiting(sql, {
    groups: stuck.map(({ id }) => places.filter(({ incident }) => incident === id)),
    most: Math.max(share, LEAST_OF_PLACE),
  });
  const byId = new Map(stuck.map(({ id }, index) => [id, sums[index]!]));
  return rows.map((row) => ({ ...row, money: byId.get(row.id) ?? null }));
}
