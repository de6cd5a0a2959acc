/** The aftermath of an incident of stuck purchases, as JSON and as CSV. */
import { z } from '@hono/zod-openapi';
import { aftermathCsv, readAftermath } from '../../actions/incidents/aftermath.ts';
import { MEMBER_OUTCOMES } from '../../domain/trends/aftermath.ts';
import { listOf, named, orNull, textOrNull, wordParameter } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { stateOrNull, stateSchema, timeOrNull, timeSchema } from '../purchases/purchase-body.ts';
import { markSchema } from '../trends/marks.ts';
import { incidentIdField } from './fields.ts';

export function mountAftermath(app: Api, { sql }: ApiDeps): void {
  app.openapi(aftermathRoute, async (c) =>
    c.json(await readAftermath(sql, c.req.valid('param').id, c.req.valid('query').outcome), 200),
  );
  app.openapi(csvRoute, async (c) => {
    const { id } = c.req.valid('param');
    const body = aftermathCsv(await readAftermath(sql, id, c.req.valid('query').outcome));
    const name = `attachment; filename="${id}.csv"`;
    return c.body(body, 200, { 'content-type': 'text/csv; charset=utf-8', 'content-disposition': name }) as never;
  });
}

const RECKONED = { about: z.number(), from: z.number(), to: z.number() };
const lossSchema = z
  .object({
    customers: z
      .object(RECKONED)
      .describe('The expected customers without those who paid, and where that lies with 95 % certainty.'),
    money: listOf({ currency: z.string(), ...RECKONED }),
    came: z.int().describe('Customers who came to the states of the incident between the first and the last who got stuck.'),
    expected: z.number().describe('How many of them were expected to pay by the usual share.'),
    paid: z.int(),
    open: z.int().describe('How many of them may pay yet; the lower ends count them as paid.'),
    usual: z.object({ customers: z.int(), paid: z.int() }).describe('The same hours of up to 14 days before.'),
  })
  .describe('What was lost beyond what is usual.');

const amount = z.string().openapi({ description: 'A decimal number.', example: '69000.50' });
const aftermathSchema = named('Aftermath', {
  id: z.string(),
  at: timeSchema.describe('When the facts were read: those still open change until all have ended.'),
  countedAt: timeOrNull.describe(
    'Up to when the loss was counted: within a minute after the end, and again for a week. Null before.',
  ),
  where: z.string(),
  place: z.string(),
  severity: z.enum(['warning', 'critical']),
  sentence: z.string().describe('What it came to, to forward.'),
  facts: z.string().describe('How those who got stuck ended, in one line; empty when none is known.'),
  reckoning: z.string().describe('How the loss was reckoned, or why none was.'),
  text: z.string().describe('The story for a mail, times in UTC; no ids of purchases.'),
  times: z.object({
    firstCame: timeOrNull,
    firstStuck: timeOrNull,
    noticed: timeSchema,
    acknowledged: timeOrNull,
    acknowledgedBy: textOrNull,
    ended: timeOrNull,
  }),
  marks: z
    .array(markSchema)
    .describe(
      'From two hours before the first customer was found stuck until the end, or now; of its site, or of all sites where it has several.',
    ),
  worstAt: timeOrNull.describe(
    'The time at which most customers were stuck at once, exact to ten minutes. Send it as `at` to `GET /v1/then` to read how everything was then. Null where no customer was stuck, or where the time is more than 14 days ago.',
  ),
  customers: z
    .object({
      stuck: z.int(),
      paid: z.int(),
      paidByAnother: z.int(),
      notPaid: z.int(),
      open: z.int().describe('Not decided yet, or not known because the purchase is not watched any more.'),
      watched: z.int().describe('Of those open, those that are still watched.'),
    })
    .describe('Purchases of one order are one customer.'),
  money: listOf({ currency: z.string(), customers: z.int(), stuck: amount, wonBack: amount, notPaid: amount, open: amount }),
  unpriced: z.int().describe('Customers of whom no amount is known.'),
  isComplete: z.boolean().describe('False when more than 5 000 purchases were in it: then it is of the first of them.'),
  loss: orNull(lossSchema).describe('Null where too few came to say anything, or more than are counted.'),
  data: listOf({
    site: z.string(),
    purchaseId: textOrNull.describe('Null: the purchase was deleted since.'),
    reference: textOrNull,
    orderReference: textOrNull,
    price: textOrNull,
    currency: textOrNull,
    state: stateSchema.describe('The state that the customer was stuck in.'),
    came: timeSchema,
    stuckAt: timeSchema,
    outcome: z.enum(MEMBER_OUTCOMES),
    endState: stateOrNull,
    endedAt: timeOrNull,
    isWatched: z.boolean(),
  }).describe('First come first, of the `outcome` that was asked for.'),
});

/** The aftermath of an incident, in an answer. */
export type AftermathBody = z.output<typeof aftermathSchema>;

const ASKED = { params: { id: incidentIdField }, query: { outcome: wordParameter(MEMBER_OUTCOMES, 'outcome').optional() } };

const aftermathRoute = route('GET /v1/incidents/{id}/aftermath', {
  summary: 'Read what an incident came to',
  description:
    'Who was stuck in it and how each of them ended, when it was noticed and acknowledged, and how many more customers and how much more money were lost than usual. Nobody was in incidents that are not about stuck purchases.',
  ...ASKED,
  answers: { 200: jsonAnswer('What it came to so far.', aftermathSchema) },
  problems: ['incident_not_found'],
});

const csvRoute = route('GET /v1/incidents/{id}/aftermath.csv', {
  summary: 'Read the customers of an incident as CSV',
  description: 'A line for each customer who was stuck in it, under a line with the names of the columns.',
  ...ASKED,
  answers: { 200: { description: 'Lines as RFC 4180 says.', content: { 'text/csv': { schema: z.string() } } } },
  problems: ['incident_not_found'],
});
