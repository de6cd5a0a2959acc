/** Why a purchase has (not) been polled, flagged or announced. */

import { explain, explanationBody } from '../../actions/purchases/why.ts';
import { purchaseIdField, siteParameter, subscriberParameter } from '../http/fields.ts';
import { PURCHASE_PROBLEMS } from '../http/problems.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { explanationSchema } from './explanation-body.ts';
import { findPurchase, noSubscriber } from './find-purchase.ts';

export function mountWhy(app: Api, { sql, limits, settings }: ApiDeps): void {
  app.openapi(whyRoute, async (c) => {
    const { site, subscriber = null } = c.req.valid('query');
    const row = await findPurchase(sql, { ...c.req.valid('param'), site });
    const explanation = await explain(sql, row, { subscriber, limits, settings });
    if (explanation === null) throw await noSubscriber(sql, subscriber!);
    return c.json(explanationBody(explanation), 200);
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
