/** The customers in an incident: for pictures, and for people who call customers back. */
import { z } from '@hono/zod-openapi';
import { customersIn } from '../../actions/incidents/customers.ts';
import { LEFT_OUTCOMES, STAY_FATES } from '../../domain/incidents/customers.ts';
import { listOf, named, numberOrNull, orNull, textOrNull, wordParameter } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { stateOrNull, stateSchema, timeOrNull, timeSchema } from '../purchases/purchase-body.ts';
import { acknowledgementSchema, incidentIdField, moneySchema, nearMark, sliceSchema } from './fields.ts';

export function mountCustomers(app: Api, { sql }: ApiDeps): void {
  app.openapi(customersRoute, async (c) => {
    const { outcome } = c.req.valid('query');
    return c.json(await customersIn(sql, c.req.valid('param').id, outcome), 200);
  });
}

const PURCHASE = {
  site: z.string(),
  purchaseId: z.string(),
  state: stateSchema,
  reference: textOrNull,
  orderReference: textOrNull,
  price: textOrNull.openapi({ description: 'A decimal number; null when it is not stored.', example: '1249.00' }),
  currency: textOrNull,
};
const stuckPurchaseSchema = z.object({ ...PURCHASE, stateSince: timeSchema, stuckSince: timeSchema });

const leftSchema = z.object({
  data: listOf({
    ...PURCHASE,
    outcome: z.enum(LEFT_OUTCOMES),
    at: timeSchema.describe('When it got there; of `other`, when the other purchase was paid.'),
  }).describe('The latest first; 100 at most, of the `outcome` that was asked for.'),
  counts: z
    .object({ late: z.int(), other: z.int(), lost: z.int(), open: z.int() })
    .describe(
      'By outcome. `late`: paid. `other`: another purchase of the order was paid. `lost`: not paid. `open`: not decided yet, or not watched any more.',
    ),
  atLeast: z.boolean().describe('Whether only the latest were looked at.'),
});

const shareOf = (description: string) => orNull(z.object({ overdue: z.int(), of: z.int() })).openapi({ description });

const placeSchema = z.object({
  id: z.string().describe('The incident that is about this state of this site alone.'),
  site: z.string(),
  state: stateSchema,
  since: timeSchema.describe('When the first customer came that speaks for it.'),
  count: z.int(),
  peak: z.int(),
  movedOn: z.int().describe('Customers who were stuck and got on after all.'),
  isOver: z.boolean().describe('Whether no customer is stuck in this state of this site any more.'),
  latest: shareOf('How many of the latest 20 customers became stuck; null when none is remembered.'),
  came: shareOf('How many of those who came since it began became stuck; null once the alarm is off.'),
  usualShare: numberOrNull.describe('The share that is usual, from 0 to 1.'),
  acknowledged: orNull(acknowledgementSchema),
  money: orNull(moneySchema).describe('The money that stuck purchases of this part wait with; null when the part is over.'),
});

const staySchema = z.object({
  purchaseId: z.string(),
  enteredAt: timeSchema.describe('The first poll that showed the state.'),
  overdueAt: timeOrNull.describe('When a poll found the purchase stuck; null while none did.'),
  leftAt: timeOrNull.describe('The first poll that showed another state.'),
  to: stateOrNull,
  fate: z
    .enum(STAY_FATES)
    .describe(
      '`well`: the customer got on in time. `other`: left in time by time-out, cancel or error. `overdue`: still there. `late`: left after it was stuck. `open`: not known yet, or the purchase is not watched any more.',
    ),
});

const stepSchema = z
  .object({ at: timeSchema, overdue: z.int(), of: z.int() })
  .describe('From `at` on, `overdue` of the latest `of` customers whose outcome was known had become stuck.');

const cameSchema = z.object({
  from: timeSchema.describe('A while before the first customer came that speaks for the incident.'),
  until: timeSchema.describe('Its end, or now.'),
  isComplete: z.boolean().describe('False when only the purchases registered last were looked at.'),
  stays: z.array(staySchema).describe('Who came to the state in this time, first to last.'),
  share: z.array(stepSchema).describe('The share of the latest 20 customers who became stuck, over time.'),
});

const customersSchema = named('IncidentCustomers', {
  data: z.array(stuckPurchaseSchema).describe('Purchases stuck now, the longest waiting first; 100 at most.'),
  ...moneySchema.shape,
  slice: orNull(sliceSchema).describe(
    'The narrowest slice of customers that holds the fault; null when the fault is everywhere, when it is not known yet, and for incidents of several states or sites.',
  ),
  mark: nearMark.describe('The mark nearest to its beginning, from two hours before to ten minutes after.'),
  left: leftSchema.describe('Purchases that were stuck in it and are not any more.'),
  places: z
    .array(placeSchema)
    .describe('The states of sites that it is made of, open ones first, the largest first; 100 at most.'),
  came: orNull(cameSchema).describe('Null for incidents of several states or sites, whose parts have it, and for other kinds.'),
});

/** The customers in an incident, in an answer. */
export type IncidentCustomersBody = z.output<typeof customersSchema>;

const customersRoute = route('GET /v1/incidents/{id}/customers', {
  summary: 'Read the customers in an incident',
  description:
    'The purchases that are stuck now and those that were, the money that waits, each state of each site, and who came to the state around the time it began, with what became of each. Empty for incidents that are not about stuck purchases.',
  params: { id: incidentIdField },
  query: { outcome: wordParameter(LEFT_OUTCOMES, 'outcome').optional() },
  answers: { 200: jsonAnswer('The customers as they are known now.', customersSchema) },
  problems: ['incident_not_found'],
});
