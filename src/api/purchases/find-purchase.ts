/** The purchase, site or subscriber that a request names. */
import type { Queries } from '../../actions/database.ts';
import { findPurchases, type PurchaseRow } from '../../actions/purchases/purchases.ts';
import { siteNames } from '../../actions/sites/sites.ts';
import { isSubscriberKnown, unknownText } from '../../actions/subscribers/subscribers.ts';
import { purchaseIdField, siteParameter, siteProblem } from '../http/fields.ts';
import { fieldProblem, Problem, PURCHASE_PROBLEMS } from '../http/problems.ts';

/** For calls about one purchase. */
export const onePurchase = {
  params: { id: purchaseIdField },
  query: { site: siteParameter.optional() },
  problems: PURCHASE_PROBLEMS,
};

/** Finds a purchase. A site need not be named where only one has this id. */
export async function findPurchase(sql: Queries, { id, site }: { id: string; site: string | undefined }): Promise<PurchaseRow> {
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
export async function requireSite(sql: Queries, name: string): Promise<void> {
  const detail = siteProblem(name, await siteNames(sql));
  if (detail !== null) throw fieldProblem('site', detail, { value: name, code: 'unknown_site' });
}

/** Throws when there is and was no such subscriber. */
export async function requireSubscriber(sql: Queries, name: string): Promise<void> {
  if (!(await isSubscriberKnown(sql, name))) throw await noSubscriber(sql, name);
}

/** The problem of a caller who named a subscriber that is not there. */
export async function noSubscriber(sql: Queries, name: string): Promise<Problem> {
  return fieldProblem('subscriber', await unknownText(sql, name), { value: name });
}
