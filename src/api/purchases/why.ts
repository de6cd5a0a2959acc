/** Why a purchase has (not) been polled, flagged or announced. */

import { createRoute, z } from '@hono/zod-openapi';
import { explainPurchase } from '../../domain/explain/explain.ts';
import type { ChannelRule } from '../../domain/incidents/audience.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { explainFacts } from '../../postgres/reports/explain.ts';
import type { Limits } from '../../postgres/stays/limits.ts';
import { needs } from '../access/scopes.ts';
import { type Api, jsonAnswer } from '../http/definitions.ts';
import { purchaseIdField, siteParameter, subscriberParameter } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { Problem, PURCHASE_PROBLEMS, problems, READ_PROBLEMS } from '../http/problems.ts';
import { explanationBody, explanationSchema } from './explanation-body.ts';
import { findPurchase, noSubscriber } from './find-purchase.ts';

/** Mounts the call. */
export function mountWhy(
  app: Api,
  {
    sql,
    limits,
    schedule,
    channels,
  }: { sql: Sql; limits: Limits; schedule: readonly Milliseconds[]; channels: readonly ChannelRule[] },
): void {
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

const whyRoute = createRoute({
  method: 'get',
  path: '/v1/purchases/{id}/why',
  security: needs('read'),
  summary: 'Explain a purchase',
  description:
    'What happened to it, how things stand, what comes, and in one sentence what is the matter: the same as the command `why`. With `subscriber`, its deliveries are narrowed to that one.',
  tags: ['Purchases'],
  request: {
    params: z.object({ id: purchaseIdField }),
    query: strict({ site: siteParameter.optional(), subscriber: subscriberParameter.optional() }),
  },
  responses: {
    200: jsonAnswer('The explanation.', explanationSchema),
    ...problems(...READ_PROBLEMS, ...PURCHASE_PROBLEMS),
  },
});
