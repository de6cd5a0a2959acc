/** What people wrote that names a purchase, for who erases it. */

import { createRoute, z } from '@hono/zod-openapi';
import { isoTime } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { findPurchases } from '../../postgres/purchases/purchases.ts';
import { findRemarks, namesOf, referencesOf } from '../../postgres/purchases/remarks.ts';
import { needs } from '../access/scopes.ts';
import { type Api, jsonAnswer } from '../http/definitions.ts';
import { purchaseIdField } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { problems, READ_PROBLEMS } from '../http/problems.ts';
import { timeSchema } from './purchase-body.ts';

/** One text of a person. */
export const remarkSchema = z
  .object({
    place: z.enum(['silence', 'incident', 'subscriber']),
    id: z.string().openapi({ description: 'Of the silence or incident, or the name of the subscriber.' }),
    field: z.enum(['reason', 'acknowledged note', 'answer note', 'description']),
    by: z.string().nullable(),
    at: timeSchema,
    text: z.string(),
  })
  .openapi('Remark');

/** Mounts the call. */
export function mountRemarks(app: Api, { sql }: { sql: Sql }): void {
  app.openapi(remarksRoute, async (c) => {
    const { id } = c.req.valid('param');
    const purchases = await findPurchases(sql, { purchaseId: id, site: null });
    const { remarks, isWhole } = await findRemarks(sql, namesOf(id, purchases.flatMap(referencesOf)));
    return c.json({ data: remarks.map(({ at, ...remark }) => ({ ...remark, at: isoTime(at) })), isWhole }, 200);
  });
}

const remarksRoute = createRoute({
  method: 'get',
  path: '/v1/purchases/{id}/remarks',
  security: needs('read'),
  summary: 'What people wrote about a purchase',
  description:
    'Reasons of silences, notes about incidents and descriptions of subscribers that name this id, or a reference of the purchase of at least four characters while it is registered. `forget` erases a purchase and leaves these: whoever wrote them decides. Works also for ids that were erased.',
  tags: ['Purchases'],
  request: { params: z.object({ id: purchaseIdField }), query: strict({}) },
  responses: {
    200: jsonAnswer(
      'The texts, the newest first.',
      z.object({
        data: z.array(remarkSchema),
        isWhole: z.boolean().openapi({ description: 'False when there are more than the 200 that are listed.' }),
      }),
    ),
    ...problems(...READ_PROBLEMS),
  },
});
