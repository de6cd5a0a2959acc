/** Reading and stopping one purchase. */

import { createRoute, z } from '@hono/zod-openapi';
import { readClock, type Sql } from '../../postgres/connection/database.ts';
import { stopPurchase, transitionsOf } from '../../postgres/purchases/purchases.ts';
import { limitOfPurchase } from '../../postgres/reports/shown.ts';
import type { Limits } from '../../postgres/stays/limits.ts';
import { needs } from '../access/scopes.ts';
import { type Api, jsonAnswer } from '../http/definitions.ts';
import { purchaseIdField, siteParameter } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { problems } from '../http/problems.ts';
import { findPurchase } from './find-purchase.ts';
import { answerText, limitSchema, purchaseSchema, purchaseText, transitionBody, transitionSchema } from './purchase-body.ts';

/** Mounts read and remove. */
export function mountPurchases(app: Api, { sql, changes, limits }: { sql: Sql; changes: Sql; limits: Limits }): void {
  app.openapi(readRoute, async (c) => {
    const row = await findPurchase(sql, { ...c.req.valid('param'), site: c.req.valid('query').site });
    const [transitions, { now }] = await Promise.all([transitionsOf(sql, row.id), readClock(sql)]);
    const limit = limitOfPurchase(row, now, limits);
    return answerText(
      c,
      purchaseText(row, { limit: limit === null ? null : { ...limit }, transitions: transitions.map(transitionBody) }),
    );
  });

  app.openapi(removeRoute, async (c) => {
    const row = await findPurchase(sql, { ...c.req.valid('param'), site: c.req.valid('query').site });
    await stopPurchase(changes, row);
    return c.body(null, 204);
  });
}

const READ_PROBLEMS = ['invalid_request', 'unknown_site', 'unauthorized', 'unavailable'] as const;
const ONE_PROBLEMS = [...READ_PROBLEMS, 'purchase_not_found', 'ambiguous_purchase'] as const;
const onePurchase = { params: z.object({ id: purchaseIdField }), query: strict({ site: siteParameter.optional() }) };

const purchaseWithTransitions = purchaseSchema
  .extend({
    // Not nullable(): that would make null a part of the named schema itself.
    limit: z
      .union([limitSchema, z.null()])
      .openapi({ description: 'Null in a state without a limit, and when it is not watched.' }),
    transitions: z.array(transitionSchema).openapi({ description: 'First to last.' }),
  })
  .openapi('PurchaseWithTransitions');

/** One purchase with its changes of state. */
export type PurchaseDetailsBody = z.output<typeof purchaseWithTransitions>;

const readRoute = createRoute({
  method: 'get',
  path: '/v1/purchases/{id}',
  security: needs('read'),
  summary: 'Read a purchase',
  description: 'With its changes of state, first to last, the latest 1 000 of them, and when it counts as stuck where it is now.',
  tags: ['Purchases'],
  request: onePurchase,
  responses: {
    200: jsonAnswer('The purchase as it is known now.', purchaseWithTransitions),
    ...problems(...ONE_PROBLEMS),
  },
});

const removeRoute = createRoute({
  method: 'delete',
  path: '/v1/purchases/{id}',
  security: needs('operate'),
  summary: 'Stop watching a purchase',
  description: 'It is not polled any more; what is known of it stays. May be repeated.',
  tags: ['Purchases'],
  request: onePurchase,
  responses: { 204: { description: 'It is not watched.' }, ...problems(...ONE_PROBLEMS, 'read_only_key', 'cross_site') },
});
