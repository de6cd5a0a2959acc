/** Texts of people that name a purchase, for who erases it. */

import { z } from '@hono/zod-openapi';
import { remarksAbout } from '../../actions/purchases/forget.ts';
import { findPurchases } from '../../actions/purchases/purchases.ts';
import { named, purchaseIdField, textOrNull } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { timeSchema } from './purchase-body.ts';

/** One text of a person. */
export const remarkSchema = named('Remark', {
  place: z.enum(['silence', 'incident', 'subscriber', 'mark']),
  id: z.string().describe('Of the silence, incident or mark, or the name of the subscriber.'),
  field: z.enum(['reason', 'acknowledged note', 'answer note', 'description', 'text']),
  by: textOrNull,
  at: timeSchema,
  text: z.string(),
});

export function mountRemarks(app: Api, { sql }: ApiDeps): void {
  app.openapi(remarksRoute, async (c) => {
    const { id } = c.req.valid('param');
    const purchases = await findPurchases(sql, { purchaseId: id, site: null });
    const { remarks, isWhole } = await remarksAbout(sql, id, purchases);
    return c.json({ data: remarks, isWhole }, 200);
  });
}

const remarksRoute = route('GET /v1/purchases/{id}/remarks', {
  summary: 'What people wrote about a purchase',
  description:
    'Reasons of silences, notes about incidents, descriptions of subscribers and marks that name this id, or a reference of the purchase of at least four characters while it is registered. `forget` erases a purchase and leaves these: whoever wrote them decides. Works also for ids that were erased.',
  params: { id: purchaseIdField },
  query: {},
  answers: {
    200: jsonAnswer(
      'The texts, the newest first.',
      z.object({
        data: z.array(remarkSchema),
        isWhole: z.boolean().describe('False when there are more than the 200 that are listed.'),
      }),
    ),
  },
});
