/** Why a purchase has (not) been polled, flagged or announced. */

import { explainFacts } from '../../actions/purchases/why.ts';
import { channelRules } from '../../config/channels.ts';
import { explainPurchase } from '../../domain/explain/explain.ts';
import { purchaseIdField, siteParameter, subscriberParameter } from '../http/fields.ts';
import { Problem, PURCHASE_PROBLEMS } from '../http/problems.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { explanationBody, explanationSchema } from './explanation-body.ts';
import { findPurchase, noSubscriber } from './find-purchase.ts';

export function mountWhy(app: Api, { sql, limits, settings }: ApiDeps): void {
  const { schedule } = settings.webhooks;
  const channels = channelRules(settings);
  app.openapi(whyRoute, async (c) => {
    const { site, subscriber = null } = c.req.valid('query');
    const row = await findPurchase(sql, { ...c.req.valid('param'), site });
    const facts = await explainFacts(sql, { id: row.id, subscriber });
    if (facts === null) throw new Problem('purchase_not_found', `${JSON.stringify(row.purchaseId)} was removed just now.`);
    if (subscriber !== null && facts.subscribers.length === 0) throw await noSubscriber(sql, subscriber);
    const limitOf = (state: number) => limits.limitOf(row.site, state);
    return c.json(
      explanationBody(explainPurchase(facts, { polling: limits.policyFor(row.site), limitOf, schedule, channels })),
      200,
    );
  });
}

const whyRoute = route('GET /v1/purchases/{id}/why', {
  summary: 'Explain a purchase',
  description:
    'What happened to it, how things stand, what comes, and in one sentence what is the matter: the same as the command `why`. With `subscriber`, its deliveries are narrowed to that one.',
  params: { id: purchaseIdField },
  query: { site: siteParameter.optional(), subscriber: subscriberParameter.optional() },
  answers: { 200: jsonAnswer('The explanation.', explanationSchema) },
  problems: [...PURCHASE_PROBLEMS],
});
