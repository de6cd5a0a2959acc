/** Reading and stopping purchases. */

import { createRoute, z } from '@hono/zod-openapi';
import { JsonText, objectText } from '../../domain/values/json-text.ts';
import { readClock, type Sql } from '../../postgres/connection/database.ts';
import { listPurchases, stopPurchase, transitionsOf } from '../../postgres/purchases/purchases.ts';
import { limitOfPurchase } from '../../postgres/reports/shown.ts';
import type { Limits } from '../../postgres/stays/limits.ts';
import { needs } from '../access/scopes.ts';
import { type Api, jsonAnswer } from '../http/definitions.ts';
import {
  purchaseIdField,
  referenceField,
  siteParameter,
  stateParameter,
  statusParameter,
  stuckParameter,
} from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { cursorOf, pageAnswer, pageParameters, pageSize } from '../http/page.ts';
import { problems } from '../http/problems.ts';
import { findPurchase, requireSite } from './find-purchase.ts';
import { answerText, limitSchema, purchaseSchema, purchaseText, transitionBody, transitionSchema } from './purchase-body.ts';

/** Mounts list, read and remove. */
export function mountPurchases(app: Api, { sql, changes, limits }: { sql: Sql; changes: Sql; limits: Limits }): void {
  app.openapi(listRoute, async (c) => {
    const { cursor, limit, ...filter } = c.req.valid('query');
    if (filter.site !== undefined) await requireSite(sql, filter.site);
    const page = await listPurchases(sql, { filter, before: cursor ?? null, limit: pageSize({ limit }) });
    const last = page.at(-1);
    const nextCursor = last?.hasNext ? cursorOf(last.id) : null;
    const data = new JsonText(`[${page.map((row) => purchaseText(row)).join()}]`);
    return answerText(c, objectText({ data, nextCursor }));
  });

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

const listRoute = createRoute({
  method: 'get',
  path: '/v1/purchases',
  security: needs('read'),
  summary: 'List purchases',
  description:
    'Newest registration first. All filters given must hold. A page that would be larger than about 1 MiB ends sooner than `limit` says; go by `nextCursor`.',
  tags: ['Purchases'],
  request: {
    query: strict({
      state: stateParameter.optional(),
      status: statusParameter.optional(),
      stuck: stuckParameter.optional(),
      site: siteParameter.optional(),
      reference: referenceField.optional(),
      ...pageParameters,
    }),
  },
  responses: {
    200: pageAnswer(purchaseSchema),
    ...problems(...READ_PROBLEMS),
  },
});

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
