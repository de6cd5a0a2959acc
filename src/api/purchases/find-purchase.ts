/** The one purchase that a path means. */
import type { Sql } from '../../postgres/connection/database.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { findPurchases, type PurchaseRow } from '../../postgres/purchases/purchases.ts';
import { siteProblem } from '../http/fields.ts';
import { Problem } from '../http/problems.ts';

/** Finds a purchase. A site need not be named where only one has this id. */
export async function findPurchase(sql: Sql, { id, site }: { id: string; site: string | undefined }): Promise<PurchaseRow> {
  const found = await findPurchases(sql, { purchaseId: id, site: site ?? null });
  const [purchase] = found;
  if (purchase === undefined) {
    if (site !== undefined) await requireSite(sql, site);
    const where = site === undefined ? '' : ` at the site ${site}`;
    throw new Problem(
      'purchase_not_found',
      `${JSON.stringify(id)} is not registered${where}; register it with POST /v1/purchases.`,
    );
  }
  if (found.length > 1) {
    const sites = found.map((row) => row.site).join(', ');
    throw new Problem('ambiguous_purchase', `${JSON.stringify(id)} is registered at ${sites}; name one of them with ?site=.`);
  }
  return purchase;
}

/** Throws when no such site exists. Former sites count: their purchases are kept. */
export async function requireSite(sql: Sql, name: string): Promise<void> {
  const detail = await unknownSite(sql, name);
  if (detail !== null)
    throw new Problem('unknown_site', `site: ${detail}.`, { errors: [{ field: 'site', value: name, detail }] });
}

/** Why this is no site, or null. */
async function unknownSite(sql: Sql, name: string): Promise<string | null> {
  const sites = await listSites(sql);
  return siteProblem(
    name,
    sites.map((site) => site.name),
  );
}
