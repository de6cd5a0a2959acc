/** The customers in an incident: for pictures, and for people who call customers back. */
import { createRoute, z } from '@hono/zod-openapi';
import { customersIn } from '../../actions/incidents/customers.ts';
import { STAY_FATES } from '../../domain/incidents/customers.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { needs } from '../access/scopes.ts';
import { type Api, jsonAnswer } from '../http/definitions.ts';
import { problems, READ_PROBLEMS } from '../http/problems.ts';
import { stateOrNull, stateSchema, timeSchema } from '../purchases/purchase-body.ts';
import { incidentIdField } from './fields.ts';

/** Mounts the call. */
export function mountCustomers(app: Api, { sql }: { sql: Sql }): void {
  app.openapi(customersRoute, async (c) => c.json(await customersIn(sql, c.req.valid('param').id), 200));
}

const stuckPurchaseSchema = z.object({
  site: z.string(),
  purchaseId: z.string(),
  state: stateSchema,
  reference: z.string().nullable(),
  orderReference: z.string().nullable(),
  price: z.string().nullable().openapi({ description: 'A decimal number; null when it is not stored.', example: '1249.00' }),
  currency: z.string().nullable(),
  stateSince: timeSchema,
  stuckSince: timeSchema,
});

const staySchema = z.object({
  purchaseId: z.string(),
  enteredAt: timeSchema.openapi({ description: 'The first poll that showed the state.' }),
  overdueAt: timeSchema.nullable().openapi({ description: 'When a poll found the purchase stuck; null while none did.' }),
  leftAt: timeSchema.nullable().openapi({ description: 'The first poll that showed another state.' }),
  to: stateOrNull,
  fate: z.enum(STAY_FATES).openapi({
    description:
      '`well`: the customer got on in time. `other`: left in time by time-out, cancel or error. `overdue`: still there. `late`: left after it was stuck. `open`: not known yet, or the purchase is not watched any more.',
  }),
});

const stepSchema = z
  .object({ at: timeSchema, overdue: z.int(), of: z.int() })
  .openapi({ description: 'From `at` on, `overdue` of the latest `of` customers whose outcome was known had become stuck.' });

const cameSchema = z.object({
  from: timeSchema.openapi({ description: 'A while before the first customer came that speaks for the incident.' }),
  until: timeSchema.openapi({ description: 'Its end, or now.' }),
  isComplete: z.boolean().openapi({ description: 'False when only the purchases registered last were looked at.' }),
  stays: z.array(staySchema).openapi({ description: 'Who came to the state in this time, first to last.' }),
  share: z.array(stepSchema).openapi({ description: 'The share of the latest 20 customers who became stuck, over time.' }),
});

const customersSchema = z
  .object({
    data: z.array(stuckPurchaseSchema).openapi({ description: 'Purchases stuck now, the longest waiting first; 100 at most.' }),
    counted: z.int().openapi({ description: 'How many there are; see `atLeast`.' }),
    atLeast: z.boolean().openapi({ description: 'Whether a state of a site has more than the 1000 that are counted.' }),
    waiting: z
      .array(z.object({ amount: z.string(), currency: z.string() }))
      .openapi({ description: 'The sums of those counted, an order once.' }),
    unpriced: z.int().openapi({ description: 'Orders without a known amount.' }),
    came: z
      .union([cameSchema, z.null()])
      .openapi({ description: 'Null for incidents of several states or sites, whose parts have it, and for other kinds.' }),
  })
  .openapi('IncidentCustomers');

/** The customers in an incident, in an answer. */
export type IncidentCustomersBody = z.output<typeof customersSchema>;

const customersRoute = createRoute({
  method: 'get',
  path: '/v1/incidents/{id}/customers',
  security: needs('read'),
  summary: 'Read the customers in an incident',
  description:
    'The purchases that are stuck now, the money that waits, and who came to the state around the time it began, with what became of each. Empty for incidents that are not about stuck purchases.',
  tags: ['Incidents'],
  request: { params: z.object({ id: incidentIdField }) },
  responses: {
    200: jsonAnswer('The customers as they are known now.', customersSchema),
    ...problems(...READ_PROBLEMS, 'incident_not_found'),
  },
});
