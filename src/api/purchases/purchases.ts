/** Reading and stopping one purchase. */

import { z } from '@hono/zod-openapi';
import { purchaseText, transitionBody } from '../../actions/purchases/body.ts';
import { historyOf, stopPurchase } from '../../actions/purchases/purchases.ts';
import { orNull } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { findPurchase, onePurchase } from './find-purchase.ts';
import { answerText, limitSchema, purchaseSchema, transitionSchema } from './purchase-body.ts';

export function mountPurchases(app: Api, { sql, changes, limits }: ApiDeps): void {
  app.openapi(readRoute, async (c) => {
    const row = await findPurchase(sql, { ...c.req.valid('param'), site: c.req.valid('query').site });
    const { transitions, limit } = await historyOf(sql, row, limits);
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

const purchaseWithTransitions = purchaseSchema
  .extend({
    limit: orNull(limitSchema).describe('Null in a state without a limit, and when it is not watched.'),
    transitions: z.array(transitionSchema).describe('First to last.'),
  })
  .openapi('PurchaseWithTransitions');

/** One purchase with its changes of state. */
export type PurchaseDetailsBody = z.output<typeof purchaseWithTransitions>;

const readRoute = route('GET /v1/purchases/{id}', {
  summary: 'Read a purchase',
  description: 'With its changes of state, first to last, the latest 1 000 of them, and when it counts as stuck where it is now.',
  ...onePurchase,
  answers: { 200: jsonAnswer('The purchase as it is known now.', purchaseWithTransitions) },
});

const removeRoute = route('DELETE /v1/purchases/{id}', {
  summary: 'Stop watching a purchase',
  description: 'It is not polled any more; what is known of it stays. May be repeated.',
  ...onePurchase,
  answers: { 204: { description: 'It is not watched.' } },
});
