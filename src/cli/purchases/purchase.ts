/** Finds the one purchase that a command is about. */

import type { Sql } from '../../actions/database.ts';
import { findPurchases, idsFrom, type PurchaseRow } from '../../actions/purchases/purchases.ts';
import { nearest } from '../../config/kinds/nearest.ts';
import { AppError } from '../../domain/values/errors.ts';
import { requireSite } from '../terminal/site.ts';

/** So much of an id must be right for a suggestion; lists and the demo shorten ids to no less. */
const PREFIX = 6;
const LOOKED_AT = 50;

/** The purchase of this id, or an AppError that says what is wrong: no such id, no such site, or one at several sites. */
export async function findPurchase(
  sql: Sql,
  { purchaseId, site }: { purchaseId: string; site: string | undefined },
): Promise<PurchaseRow> {
  await requireSite(sql, site);
  const found = await findPurchases(sql, { purchaseId, site: site ?? null });
  if (found.length > 1) {
    const sites = found.map((row) => row.site).join(', ');
    throw new AppError('invalid', `${JSON.stringify(purchaseId)} is watched at several sites (${sites}): choose one with --site`);
  }
  const [row] = found;
  if (row !== undefined) return row;
  const where = site === undefined ? '' : ` at site ${site}`;
  throw new AppError('not_found', `${JSON.stringify(purchaseId)} is not registered${where}${await similar(sql, purchaseId)}`);
}

async function similar(sql: Sql, given: string): Promise<string> {
  if (given.length < PREFIX) return '';
  const whole = await idsFrom(sql, { prefix: given, limit: 2 });
  const ids = whole.length > 0 ? whole : await idsFrom(sql, { prefix: given.slice(0, PREFIX), limit: LOOKED_AT });
  const meant = whole.length === 1 ? whole[0] : nearest(given, ids);
  return meant === null || meant === undefined ? '' : ` (did you mean ${meant}?)`;
}
