/** Why a purchase has (not) been polled, flagged or announced. */
import { channelRules } from '../../config/channels.ts';
import type { Settings } from '../../config/settings.ts';
import { stateOrNull } from '../../domain/events/make-event.ts';
import { type Explanation, explainPurchase } from '../../domain/explain/explain.ts';
import type { ExplanationStep } from '../../domain/explain/step.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import type { PurchaseRow } from '../../postgres/purchases/purchases.ts';
import { explainFacts } from '../../postgres/reports/explain.ts';
import type { StayLimits } from '../../postgres/stays/limits.ts';
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
  }: { subscriber: string | null; limits: StayLimits; settings: Pick<Settings, 'webhooks'> & Parameters<typeof channelRules>[0] },
): Promise<Explanation | null> {
  const facts = await explainFacts(sql, { id, subscriber });
  if (facts === null) throw new Refused('purchase_not_found', `${JSON.stringify(purchaseId)} was removed just now`);
  if (subscriber !== null && facts.subscribers.length === 0) return null;
  const limitOf = (state: number) => limits.limitOf(site, state);
  const policy = { polling: limits.policyFor(site), limitOf, channels: channelRules(settings) };
  return explainPurchase(facts, { ...policy, schedule: settings.webhooks.schedule });
}

export function explanationBody(explanation: Explanation) {
  const { now, purchase, verdict, matters, steps, standing, next } = explanation;
  return {
    at: isoTime(now),
    purchase: {
      ...purchase,
      state: stateOrNull(purchase.state),
      stateSince: isoTimeOrNull(purchase.stateSince),
      stuckSince: isoTimeOrNull(purchase.stuckSince),
      registeredAt: isoTime(purchase.registeredAt),
      watchedSince: isoTime(purchase.watchedSince),
      lastPolledAt: isoTimeOrNull(purchase.lastPolledAt),
      nextPollAt: isoTimeOrNull(purchase.nextPollAt),
    },
    verdict,
    matters: [...matters],
    steps: steps.map(stepBody),
    standing: standing.map(stepBody),
    next: next.map(stepBody),
  };
}

function stepBody({ at, kind, text, wrong = false, from, to, ...rest }: ExplanationStep) {
  return {
    at: isoTimeOrNull(at),
    kind,
    text,
    wrong,
    ...(from === undefined ? {} : { from: stateOrNull(from) }),
    ...(to === undefined ? {} : { to: namedState(to) }),
    ...rest,
  };
}
