/** Erasing a purchase. */

import { z } from '@hono/zod-openapi';
import type { Sql } from '../../actions/database.ts';
import { type ErasePlan, erasePurchase, OUT_OF_REACH, planErasing, whyNotErased } from '../../actions/purchases/forget.ts';
import type { PurchaseRow } from '../../actions/purchases/purchases.ts';
import { isoTime } from '../../domain/values/time.ts';
import { flagField, named } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { locked, Problem } from '../http/problems.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { findPurchase, onePurchase } from './find-purchase.ts';
import { timeOrNull } from './purchase-body.ts';
import { remarkSchema } from './remarks.ts';

export function mountForget(app: Api, { changes }: ApiDeps): void {
  app.openapi(forgetRoute, async (c) => {
    const { dryRun } = c.req.valid('json');
    const row = await findPurchase(changes, { ...c.req.valid('param'), site: c.req.valid('query').site });
    const plan = await planErasing(changes, row);
    if (dryRun) return c.json({ ...planBody(row, plan), erased: false, at: null }, 200);
    const { key = null, name = null } = c.get('caller') ?? {};
    const through = key === null ? 'api' : `key ${key}`;
    const by = name === null ? through : `${name}, ${through}`;
    const at = await erasePurchase(changes, row, { by, counts: plan.counts });
    if (at === null) throw await whyNot(changes, row);
    return c.json({ ...planBody(row, plan), erased: true, at: isoTime(at) }, 200);
  });
}

function planBody({ purchaseId, site }: PurchaseRow, { counts, remarks }: ErasePlan) {
  return {
    purchaseId,
    site,
    counts: { ...counts },
    outOfReach: OUT_OF_REACH,
    remarks,
  };
}

async function whyNot(sql: Sql, purchase: PurchaseRow): Promise<Problem> {
  const held = await whyNotErased(sql, purchase);
  if (held !== null) return locked(held);
  return new Problem('purchase_not_found', `${JSON.stringify(purchase.purchaseId)} was erased or deleted meanwhile.`);
}

const count = (description: string) => z.int().openapi({ description });

const erasureSchema = named('Erasure', {
  purchaseId: z.string(),
  site: z.string(),
  erased: z.boolean().describe('False for a dry run.'),
  at: timeOrNull.describe('When it was erased; null for a dry run.'),
  counts: z
    .object({
      transitions: z.int(),
      events: z.int(),
      deliveries: z.int(),
      attempts: z.int(),
      mentions: count('Events of the site and about incidents that name the purchase: they stay, without its id.'),
      pending: count('Deliveries that are still to be made, and will never be.'),
    })
    .describe('What is erased with it.'),
  remarks: z.array(remarkSchema).describe('What people wrote that names it; this stays. 200 at most.'),
  outOfReach: z.array(z.string()).describe('Where traces may remain, for people.'),
});

/** The result of erasing a purchase. */
export type ErasureBody = z.output<typeof erasureSchema>;

const forgetRoute = route('POST /v1/purchases/{id}/forget', {
  summary: 'Erase a purchase',
  description:
    'Erases a purchase and everything known of it, as the command `forget` does: fields, transitions, events, deliveries and attempts, and what else names its id. It cannot be undone. With `dryRun` nothing is erased, and the answer says what would be. One line without the id stays, which says when and by whom.',
  ...onePurchase,
  body: strict({ dryRun: flagField }),
  answers: { 200: jsonAnswer('What was erased, or would be.', erasureSchema) },
});
