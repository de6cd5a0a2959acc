/** How customers' checkouts ended over days, beside the time before. */

import { z } from '@hono/zod-openapi';
import { readTrends } from '../../actions/trends/trends.ts';
import { TREND_RANGES } from '../../domain/trends/period.ts';
import { type Decimal, isDecimal } from '../../domain/values/exact-json.ts';
import { isZone } from '../../runtime/loops/schedule.ts';
import { listOf, named, numberOrNull, parameter, siteParameter, textOrNull, wordParameter } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { requireSite } from '../purchases/find-purchase.ts';
import { stateOrNull, timeSchema } from '../purchases/purchase-body.ts';
import { markSchema } from './marks.ts';

export function mountTrends(app: Api, { sql }: ApiDeps): void {
  app.openapi(trendsRoute, async (c) => {
    const { range = '7d', zone = 'UTC', site = null } = c.req.valid('query');
    if (site !== null) await requireSite(sql, site);
    return c.json(await readTrends(sql, { range, zone, site }), 200);
  });
}

const zoneParameter = parameter<string>((value) =>
  isZone(value)
    ? { is: value }
    : { problem: `must be the IANA name of a zone such as Europe/Stockholm, and not ${JSON.stringify(value)}` },
);

const changeSchema = z
  .enum(['too_few', 'as_before', 'better', 'worse'])
  .describe(
    'The share that paid, beside that of the time before. `too_few`: one of the two has fewer than thirty customers. `as_before`: chance alone makes such a difference in more than one of a hundred cases.',
  );
const ends = {
  customers: z.int().describe('Customers whose checkout ended, each once: `paid`, `notPaid` and `open` together.'),
  paid: z.int(),
  paidByAnother: z.int().describe('Purchases whose customer paid with another purchase of the order, and is counted there.'),
  notPaid: z.int(),
  open: z.int().describe('Purchases that were given up or stopped before an end was seen.'),
  share: numberOrNull.describe('`paid` of `customers`, from 0 to 1; null for fewer than thirty customers.'),
};
const endsSchema = named('CheckoutEnds', ends);
const span = { from: timeSchema, to: timeSchema };
const amount = z
  .custom<Decimal>(isDecimal)
  .openapi({ type: 'number', description: 'The sum of the stored prices, with its exact digits.' });

const trendsSchema = named('Trends', {
  at: timeSchema,
  range: z.enum(TREND_RANGES),
  site: textOrNull,
  zone: z.string(),
  ...span,
  against: z.object(span).describe('The time before, which everything is compared with.'),
  sentence: z.string().describe('Everything in a sentence; words may change.'),
  total: z.object({ ...ends, change: changeSchema, before: endsSchema }),
  cells: listOf({
    day: z.string().describe('The day, as clocks in the zone show it.'),
    hour: z.int(),
    customers: z.int(),
    paid: z.int(),
  }).describe('Customers of each hour; hours without any are missing.'),
  ways: listOf({
    state: stateOrNull.describe('The state in which these purchases waited last; null: no poll showed one.'),
    ...ends,
    change: changeSchema,
    before: endsSchema,
  }).describe('The most customers first.'),
  waiting: listOf({
    day: z.string(),
    customers: z.int(),
    medianMs: z.int().describe('Half of them waited no longer in the state before the end.'),
    p95Ms: z.int(),
  }).describe(
    'How long customers were seen in the state before their end. The times are the ends of buckets, which are 19 % apart.',
  ),
  money: listOf({ currency: z.string(), customers: z.int(), paid: amount, notPaid: amount, open: amount }),
  receivers: listOf({ subscriber: z.string(), attempts: z.int(), failed: z.int() }),
  marks: z.array(markSchema).describe('What people and programs marked in the time, in order; the latest 500.'),
});

const trendsRoute = route('GET /v1/trends', {
  summary: 'Read how checkouts ended over days',
  description:
    'How many customers paid and where the others were lost, by hour, by the state in which they waited last and by currency, beside the time before. Counted as it happens and kept for `store.retention.trends`, so it costs the same however many purchases there are. A purchase counts when its end is seen, a minute later at most.',
  query: {
    range: wordParameter(TREND_RANGES, 'range')
      .optional()
      .describe('Whole days up to today, which is left out; of 24h, whole hours. 7d when left out.'),
    site: siteParameter.optional(),
    zone: zoneParameter
      .optional()
      .describe('The IANA name of the zone in which days begin, such as Europe/Stockholm; UTC when left out.'),
  },
  answers: { 200: jsonAnswer('Counts and shares.', trendsSchema) },
  problems: ['unknown_site'],
});
