/** How purchases flow from state to state, for the pictures and tables that people are shown. */

import { z } from '@hono/zod-openapi';
import { readFlow } from '../../actions/flow/flow.ts';
import { intOrNull, listOf, named, numberOrNull, orNull, siteParameter, textOrNull } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { requireSite } from '../purchases/find-purchase.ts';
import { limitSchema, stateOrNull, stateSchema, timeOrNull, timeSchema } from '../purchases/purchase-body.ts';

export function mountFlow(app: Api, { sql, limits }: ApiDeps): void {
  app.openapi(flowRoute, async (c) => {
    const { site = null } = c.req.valid('query');
    if (site !== null) await requireSite(sql, site);
    return c.json(await readFlow(sql, { site, limits }), 200);
  });
}

const edgeSchema = named('FlowEdge', {
  from: stateOrNull.describe('Null: the first observation.'),
  to: stateSchema,
  count: z.int().describe('Purchases that went this way between `from` and `to` of the answer.'),
  usual: numberOrNull.describe(
    'The mean of the same minutes on the last 14 days (24, 48, … hours before, weekends among them), over the sites with at least three such days; null while there is no such site.',
  ),
}).describe('A way from state to state that a purchase went in the hour, or that at least one purchase usually goes.');

const agesSchema = named('FlowAges', {
  oldest: listOf({
    ageMs: z.int().describe('Time in the state that counts, without time in which it could not be polled.'),
    share: numberOrNull.describe('The same as a share of the limit; null where there is none.'),
    stuck: z.boolean(),
  }),
  buckets: listOf({
    from: z.number(),
    below: numberOrNull.describe('Null: without end.'),
    count: z.int(),
  })
    .nullable()
    .describe(
      'Those that were read by their share of the limit, empty ones left out; null where all are among the oldest, or no limit holds.',
    ),
  unread: z
    .int()
    .describe('Purchases that were not read, because many wait; each came later than all that were read of its site.'),
}).describe('How long purchases have waited: the 60 oldest one by one, and where more wait, in buckets.');

const flowStateSchema = named('FlowState', {
  state: stateSchema,
  final: z.boolean(),
  watching: z.int().describe('Purchases that are watched and in the state now.'),
  stuck: z.int().describe('How many of them are stuck.'),
  came: z.int().describe('Purchases that came into the state between `from` and `to` of the answer.'),
  usual: z
    .object({
      usualMs: z.int().describe('The median of customers who got on, of the last 14 days.'),
      p95Ms: z.int().describe('95 % of them were faster than this.'),
      purchases: z.int().describe('Purchases that these times are of; there may be few.'),
    })
    .nullable(),
  limits: listOf({ site: z.string(), limit: limitSchema }).describe(
    'Of the site asked for, or of each site that watches purchases in the state (of each site, where none does); those without a limit are missing.',
  ),
  incidents: listOf({
    id: z.string(),
    site: z.string(),
    severity: z.enum(['warning', 'critical']),
    since: timeSchema,
    endsAt: timeOrNull.describe('When it ends unless another customer gets stuck; null while one is stuck.'),
    parent: textOrNull.describe('The incident of several states or sites of which it is a part.'),
  }),
  ages: orNull(agesSchema).describe(
    'How long purchases have waited; null in a state with no waiting purchase, and in New, BeingProcessed and final states without a limit.',
  ),
});

export const flowSchema = named('Flow', {
  at: timeSchema,
  site: textOrNull,
  from: timeSchema.describe(
    'Transitions are counted by ten minutes: the present ten and the six before, so 60 to 70 minutes up to `to`.',
  ),
  to: timeSchema,
  usualDays: intOrNull.describe(
    'Days that `usual` rests on, of the site with the fewest; null while fewer than three are known of each site.',
  ),
  notSeenYet: z.int().describe('Purchases that are watched and had no good answer yet.'),
  edges: z.array(edgeSchema).describe('The busiest first.'),
  states: z
    .array(flowStateSchema)
    .describe('States in which purchases are watched, an incident is open, or to or from which an edge leads.'),
});

/** The answer's body. */
export type FlowBody = z.output<typeof flowSchema>;

const flowRoute = route('GET /v1/flow', {
  summary: 'How purchases flow from state to state',
  description:
    "The last hour's transitions beside the usual ones at this time of day, and for each state how many are there, how long they have waited, the limits and open incidents. Costs the same whatever is registered.",
  query: { site: siteParameter.optional() },
  answers: { 200: jsonAnswer('As it is now.', flowSchema) },
  problems: ['unknown_site'],
});
