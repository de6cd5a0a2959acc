/** How customers' checkouts ended over days, beside the time before. */

import { z } from '@hono/zod-openapi';
import { INCIDENT_KINDS } from '../../actions/incidents/rules.ts';
import { readTrends } from '../../actions/trends/trends.ts';
import { TREND_RANGES } from '../../domain/trends/period.ts';
import { type Decimal, isDecimal } from '../../domain/values/exact-json.ts';
import {
  intOrNull,
  listOf,
  named,
  numberOrNull,
  orNull,
  siteParameter,
  textOrNull,
  wordParameter,
  zoneParameter,
} from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { requireSite } from '../purchases/find-purchase.ts';
import { stateOrNull, stateSchema, timeOrNull, timeSchema } from '../purchases/purchase-body.ts';
import { markSchema } from './marks.ts';

export function mountTrends(app: Api, { sql, limits }: ApiDeps): void {
  app.openapi(trendsRoute, async (c) => {
    const { range = '7d', zone = 'UTC', site = null } = c.req.valid('query');
    if (site !== null) await requireSite(sql, site);
    return c.json(await readTrends(sql, { range, zone, site, limits }), 200);
  });
}

const changeSchema = z
  .enum(['too_few', 'as_before', 'better', 'worse'])
  .describe(
    'The share that paid, beside that of the time before. `too_few`: one of the two has fewer than thirty customers. `as_before`: chance alone makes such a difference in more than one of a hundred cases.',
  );
const share = numberOrNull.describe('`paid` of `customers`, from 0 to 1; null for fewer than thirty customers.');
const gone = z.int().describe('How many of these purchases were deleted since: a list of them has so many fewer.');
const ends = {
  customers: z.int().describe('Customers whose checkout ended, each once: `paid`, `notPaid` and `open` together.'),
  paid: z.int(),
  paidLate: z.int().describe('Customers of `paid` who had been stuck before.'),
  paidByAnother: z.int().describe('Purchases whose customer paid with another purchase of the order, and is counted there.'),
  notPaid: z.int(),
  open: z.int().describe('Purchases that were given up or stopped before an end was seen.'),
  stuck: z.int().describe('Customers who were stuck at some time.'),
  gone,
  share,
};
const endsSchema = named('CheckoutEnds', ends);
const span = { from: timeSchema, to: timeSchema };
const customers = { customers: z.int(), paid: z.int(), share, gone };
const piece = named('TrendPiece', {
  ...span,
  ...customers,
  before: z.object({ customers: z.int(), share }).describe('The same piece of the time before.'),
});
const amount = z
  .custom<Decimal>(isDecimal)
  .openapi({ type: 'number', description: 'The sum of the stored prices, with its exact digits.' });
const amounts = { paid: amount, paidByAnother: amount, notPaid: amount, open: amount };
const attempts = { attempts: z.int(), failed: z.int().describe('Attempts that the receiver did not take.') };
const tookMs = intOrNull.describe('Of attempts that were taken; the end of a bucket, which are 19 % apart.');
const kinds = z.enum(INCIDENT_KINDS);

const trendsSchema = named('Trends', {
  at: timeSchema,
  range: z.enum(TREND_RANGES),
  site: textOrNull,
  zone: z.string(),
  ...span,
  against: z.object(span).describe('The time before, which everything is compared with.'),
  countedSince: timeOrNull.describe(
    'The first hour that is counted, where it lies after the beginning of `against`: of the time before it nothing is known. Null: all of it is counted.',
  ),
  sentence: z.string().describe('Everything in a sentence; words may change.'),
  total: z.object({ ...ends, change: changeSchema, before: endsSchema }),
  ways: listOf({
    limited: z
      .boolean()
      .describe(
        'Whether a site of these purchases has a limit for the state. The daemon counts no purchase as stuck in a state without a limit.',
      ),
    state: stateOrNull.describe('The state in which these purchases waited last; null: no poll showed one.'),
    ...ends,
    change: changeSchema,
    before: endsSchema,
  }).describe('The most customers first.'),
  worse: z
    .object({
      looked: z.int().describe('Groups with thirty customers or more now and before, which were compared.'),
      words: z.string().describe('How many were looked at; that none is worse, or too few to say. Words may change.'),
      slices: listOf({
        site: z.string(),
        state: stateOrNull.describe('The state in which these purchases waited last; null: no poll showed one.'),
        currency: textOrNull.describe('Null: whatever the currency.'),
        where: z.string().describe('The group in words; words may change.'),
        words: z.string().describe('The difference in words; words may change.'),
        customers: z.int(),
        paid: z.int(),
        notPaid: z.int(),
        open: z.int(),
        gone,
        share,
        before: z.object({ customers: z.int(), paid: z.int(), share }),
      }),
    })
    .describe(
      'Where fewer paid than before: by site, state waited in last and, where there are several, currency. Three groups at most, those that lost most customers first. Chance alone would name any in fewer than one of a hundred cases, corrected for the groups looked at.',
    ),
  cells: listOf({
    day: textOrNull.describe('With `7d`: the day, as clocks in the zone show it.'),
    weekday: intOrNull.describe('With `30d` and `90d`: the day of the week, 1 for Monday; all its days together.'),
    state: stateOrNull.describe('With `24h`: the state in which these purchases waited last; null: no poll showed one.'),
    hour: z.int(),
    ...customers,
    notPaidInIncidents: z
      .int()
      .describe('Customers who did not pay and whose checkout ended in an hour in which an incident was open.'),
  }).describe('Customers by hour of the day, the hour in which their checkout ended; hours without any are missing.'),
  counts: z.array(piece).describe('Customers of each hour; with `30d` and `90d` of each day.'),
  shares: z.array(piece).describe('Customers of each day; with `24h` of every three hours.'),
  waiting: orNull(
    z.object({
      site: z.string(),
      state: stateSchema,
      limitMs: z.int().describe('From when on a customer counts as stuck there.'),
      pieces: listOf({ ...span, customers: z.int(), medianMs: intOrNull, p95Ms: intOrNull }).describe(
        'As `shares`; null for fewer than thirty customers. The times are the ends of buckets, which are 19 % apart.',
      ),
    }),
  ).describe(
    'How long customers were seen in the state before their end: in the state with a limit, at one site, where most waited last. Null: there is none.',
  ),
  money: listOf({
    currency: z.string(),
    customers: z.int(),
    ...amounts,
    stuck: z
      .object({ purchases: z.int(), gone, ...amounts })
      .describe('Of purchases that were stuck at some time. `paid`: late.'),
  }),
  receivers: listOf({
    subscriber: z.string(),
    ...attempts,
    medianMs: tookMs,
    p95Ms: tookMs,
    days: listOf({ from: timeSchema, ...attempts }),
  }),
  listedSince: timeOrNull.describe(
    'Incidents, silences and marks that began before then may be left out, because there are more than are listed. Null: all are listed.',
  ),
  incidents: listOf({
    id: z.string(),
    kind: kinds,
    site: textOrNull.describe('Null: several sites.'),
    state: stateOrNull,
    severity: z.enum(['warning', 'critical']),
    since: timeSchema,
    endedAt: timeOrNull,
  }).describe('Incidents of sites that were open in this time, the latest first; 200 at most.'),
  silences: listOf({
    id: z.string(),
    site: textOrNull,
    state: stateOrNull,
    kind: orNull(kinds),
    subscriber: textOrNull,
    reason: z.string(),
    startsAt: timeSchema,
    endsAt: timeSchema,
  }).describe('Silences that held in this time, the latest first; 200 at most. Null matches everything.'),
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
