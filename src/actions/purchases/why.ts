/** Why a purchase has (not) been polled, flagged or announced. */
import { channelRules } from '../../config/channels.ts';
import type { Settings } from '../../config/settings.ts';
import { type Explanation, explainPurchase } from '../../domain/explain/explain.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import type { PurchaseRow } from '../../postgres/purchases/purchases.ts';
import { explainFacts } from '../../postgres/reports/explain.ts';
import type { Limits } from '../../postgres/stays/limits.ts';
import { Refused } from '../subscribers/refused.ts';

/**
 * Explains a purchase to all subscribers or to the one named, by the limits and settings at hand; null when there is and was no
 * such subscriber. Throws Refused when the purchase was removed meanwhile.
 */
export async function explain(
  sql: Queries,
  { id, purchaseId, site }: PurchaseRow,
  {
    subscriber,
    limits,
    settings,
  }: { subscriber: string | null; limits: Limits; settings: Pick<Settings, 'webhooks'> & Parameters<typeof channelRules>[0] },
): Promise<Explanation | null> {
  const facts = await explainFacts(sql, { id, subscriber });
  if (facts === null) throw new Refused('purchase_not_found', `${JSON.stringify(purchaseId)} was removed just now`);
  if (subscriber !== null && facts.subscribers.length === 0) return null;
  const limitOf = (state: number) => limits.limitOf(site, state);
  const policy = { polling: limits.policyFor(site), limitOf, channels: channelRules(settings) };
  return explainPurchase(facts, { ...policy, schedule: settings.webhooks.schedule });
}
