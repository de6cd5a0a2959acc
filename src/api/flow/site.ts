/** A site by itself: its settings without secrets, its limits, and how long customers stay in each state. */
import { z } from '@hono/zod-openapi';
import { readSite } from '../../actions/flow/site.ts';
import { listOf, named, orNull, siteParameter, textOrNull } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { requireSite } from '../purchases/find-purchase.ts';
import { limitSchema, stateSchema, timeOrNull, timeSchema } from '../purchases/purchase-body.ts';

export function mountSite(app: Api, { sql, limits, settings }: ApiDeps): void {
  app.openapi(siteRoute, async (c) => {
    const { name } = c.req.valid('param');
    await requireSite(sql, name);
    return c.json(await readSite(sql, { name, settings: settings.sites.find((site) => site.name === name), limits }), 200);
  });
}

/** How one replica calls a site. */
export const siteReplicaSchema = z.object({
  replica: z.string(),
  writtenAt: timeSchema.describe('When the replica wrote this: every ten seconds while it makes calls.'),
  breaker: z.object({
    state: z
      .enum(['closed', 'open', 'recovering'])
      .describe(
        '`closed`: every call may leave. `open`: only probes may. `recovering`: calls return, twice as many each second.',
      ),
    cause: z.enum(['failing', 'throttled']).nullable().describe('Null when it is not open.'),
    since: timeSchema,
    nextProbeAt: timeOrNull.describe('The earliest moment; null when it is not open, and while a probe is under way.'),
  }),
  calls: z.object({
    perSecond: z.number().describe('Calls that left, as an average of the ten seconds before `writtenAt`.'),
    ceiling: z.number().describe("The replica's part of the site's ceiling, in calls a second."),
  }),
  token: z
    .object({
      fetchedAt: timeOrNull.describe('Null before the first token.'),
      expiresAt: timeOrNull,
      refusedAt: timeOrNull.describe('When a token, or a call with a new token, was last refused.'),
      refusal: textOrNull.describe('Why, in a sentence.'),
    })
    .nullable()
    .describe('Never the token itself. Null where credentials go with each call.'),
});

/** How often a purchase pays an order that was paid before. */
export const ordersSchema = z
  .object({
    paid: z.int().describe('Completed purchases whose order is known, lately.'),
    repeated: z.int().describe('Those of them whose order had been paid before.'),
    reused: z
      .boolean()
      .describe(
        'Whether the site reuses the references of paid orders so often that it must be by design; an order paid twice is then not announced.',
      ),
  })
  .describe('How often a purchase pays an order that was paid before.');

const siteSchema = named('Site', {
  site: z.string(),
  configured: z.boolean(),
  settings: z
    .object({
      auth: z.enum(['oauth2', 'basic']),
      timeZone: z.string().openapi({ example: 'Europe/Stockholm' }),
      maxRps: z.number().describe('Ceiling of calls a second, over all replicas.'),
      concurrency: z.int().describe('Calls in flight of each replica.'),
      timeoutMs: z.int(),
      invoices: z.boolean(),
    })
    .nullable()
    .describe('Null where the site is not configured any more.'),
  replicas: z
    .array(siteReplicaSchema)
    .describe('How each running replica calls the site: breaker, share of the ceiling, access token.'),
  orders: ordersSchema,
  states: listOf({
    state: stateSchema,
    limit: orNull(limitSchema).describe('Null: never stuck.'),
    usual: z
      .object({ usualMs: z.int(), p95Ms: z.int(), purchases: z.int() })
      .nullable()
      .describe('From however few; null: no customer got on yet.'),
    stays: listOf({
      fromMs: z.int(),
      belowMs: z.int(),
      count: z.int(),
    }).describe('Stays by the longest time that the polls around the exit allow; empty buckets left out.'),
  }).describe('States with a limit, and those in which customers stayed in the last 14 days.'),
});

/** The answer's body. */
export type SiteBody = z.output<typeof siteSchema>;

const siteRoute = route('GET /v1/sites/{name}', {
  summary: 'One site',
  description:
    'Its settings without addresses and secrets, how each replica calls it, its limits, and how long customers who got on stayed in each state in the last 14 days. Whether it answers is in `GET /v1/overview`.',
  params: { name: siteParameter },
  query: {},
  answers: { 200: jsonAnswer('As it is now.', siteSchema) },
  problems: ['unknown_site'],
});
