/** Doing something to many purchases: those that are named, or all that a filter lets through. */

import { z } from '@hono/zod-openapi';
import type { Sql } from '../../actions/database.ts';
import { actOnMany, MANY_ACTS, type ManyResult, MOST_MATCHING, namesOfMatching } from '../../actions/purchases/many.ts';
import type { PurchaseName } from '../../actions/purchases/purchases.ts';
import { counted } from '../../domain/values/counts.ts';
import { flagField, listOf, named, purchaseIdField, siteParameter, textOrNull, wordParameter } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { fieldProblem } from '../http/problems.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { listParameters, wantedList } from './list.ts';

const MOST_NAMED = 1_000;

export function mountMany(app: Api, { changes: sql, secrets }: ApiDeps): void {
  app.openapi(manyRoute, async (c) => {
    const { act, purchases, matching, dryRun = false } = c.req.valid('json');
    const names = await namesIn(sql, { purchases, matching });
    const done = await actOnMany(sql, names, { act, dryRun, opening: { secrets } });
    c.set('subject', { act: dryRun ? `${act}, dry run` : act, count: done.count });
    return c.json(manyBody(done), 200);
  });
}

async function namesIn(sql: Sql, { purchases, matching }: Wanted): Promise<readonly PurchaseName[]> {
  if ((purchases === undefined) === (matching === undefined)) {
    throw fieldProblem('purchases', 'give either it or matching');
  }
  if (purchases !== undefined) return purchases;
  const { filter } = await wantedList(sql, matching!);
  const { names, isWhole } = await namesOfMatching(sql, filter, MOST_MATCHING);
  if (isWhole) return names;
  const detail = `lets more than ${counted(MOST_MATCHING, 'purchase')} through; use the command "purchase-watch purchases" with the same filter and --act`;
  throw fieldProblem('matching', detail);
}

const manyBody = (done: ManyResult): z.output<typeof manySchema> => ({
  ...done,
  deliveries: done.deliveries.map((each) => ({ ...each })),
  sites: done.sites.map((each) => ({ ...each })),
});

const bodySchema = strict({
  act: wordParameter(MANY_ACTS, 'act'),
  purchases: z
    .array(strict({ purchaseId: purchaseIdField, site: siteParameter }))
    .min(1, 'names no purchase')
    .max(MOST_NAMED, `has more than ${MOST_NAMED} entries`)
    .optional()
    .openapi({ example: [{ purchaseId: '3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', site: 'default' }] }),
  matching: strict(listParameters).optional().describe(`All that a list with these parameters has, ${MOST_MATCHING} at most.`),
  dryRun: flagField.optional().describe('Changes nothing.'),
});
type Wanted = Pick<z.output<typeof bodySchema>, 'purchases' | 'matching'>;

const count = z.int();
const manySchema = named('ManyDone', {
  act: z.enum(MANY_ACTS),
  dryRun: z.boolean(),
  purchases: count.describe('Of the chosen ones, those that there are.'),
  missing: count.describe('Chosen, and not registered.'),
  count: count.describe('Purchases that are polled or stopped; for `announce`, deliveries.'),
  leftAlone: count.describe(
    'Purchases to which nothing is done: stopped ones are not polled, and only polled ones can be stopped.',
  ),
  deliveries: listOf({
    subscriber: z.string(),
    count,
    waiting: count,
    waits: textOrNull,
  }).describe('`waiting` deliveries wait in any case. `waits`: why the others do not leave at once.'),
  sites: listOf({ site: z.string(), count, waits: z.string() }).describe('Sites that are not polled at present.'),
});

/** The result of an act on many purchases, or of its dry run. */
export type ManyDoneBody = z.output<typeof manySchema>;

const manyRoute = route('POST /v1/purchases/act', {
  summary: 'Poll, announce or stop many purchases',
  description:
    '`poll`: now, as `POST /v1/purchases/{id}/poll` does. `announce`: the last event of each again, with its id and bytes, to every subscriber that wants it; Slack is sent nothing again. `stop`: no more polls. `dryRun` answers what would be done. May be repeated.',
  limit: 512 * 1024,
  body: bodySchema,
  answers: { 200: jsonAnswer('What was done, or would be.', manySchema) },
  problems: ['unknown_site'],
});
