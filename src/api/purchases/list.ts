/** The list of purchases, as pages of JSON and as CSV. */

import { z } from '@hono/zod-openapi';
import { readClock, type Sql } from '../../actions/database.ts';
import { purchaseText } from '../../actions/purchases/body.ts';
import {
  checkedFilter,
  cursorAt,
  listPurchases,
  OUTCOMES,
  type PurchaseFilter,
  purchasesAsCsv,
  readAmount,
  readCursor,
  readHours,
  SORTS,
  type Sort,
} from '../../actions/purchases/list.ts';
import { readState } from '../../actions/subscribers/rules.ts';
import { LISTED_ENDS, type ListedEnd } from '../../domain/trends/ends.ts';
import { JsonText, objectText } from '../../domain/values/json-text.ts';
import { lineProblem } from '../../domain/values/one-line.ts';
import {
  lineParameter,
  momentParameter,
  notText,
  parameter,
  referenceField,
  siteParameter,
  stateParameter,
  statusParameter,
  stuckParameter,
  wordParameter,
  zoneParameter,
} from '../http/fields.ts';
import { DEFAULT_LIMIT, pageAnswer, pageParameters } from '../http/page.ts';
import { fieldProblem } from '../http/problems.ts';
import { type Api, type ApiDeps, route } from '../http/route.ts';
import { requireSite } from './find-purchase.ts';
import { answerText, purchaseSchema } from './purchase-body.ts';

export function mountPurchaseList(app: Api, { sql }: ApiDeps): void {
  app.openapi(listRoute, async (c) => {
    const { cursor, limit = DEFAULT_LIMIT, ...query } = c.req.valid('query');
    const list = await wantedList(sql, query);
    const after = cursor === undefined ? { is: null } : readCursor(cursor, list.filter, list.sort);
    if ('problem' in after) throw fieldProblem('cursor', after.problem, { value: cursor!.slice(0, 80) });
    const { rows, next } = await listPurchases(sql, { ...list, after: after.is, limit });
    const data = new JsonText(`[${rows.map((row) => purchaseText(row)).join()}]`);
    return answerText(c, objectText({ data, nextCursor: next === null ? null : cursorAt(next) }));
  });

  app.openapi(csvRoute, async (c) => {
    const lines = purchasesAsCsv(sql, await wantedList(sql, c.req.valid('query')));
    const body = ReadableStream.from(encoded(lines)) as ReadableStream<Uint8Array<ArrayBuffer>>;
    return c.body(body, 200, {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="purchases.csv"',
    }) as never;
  });
}

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  for await (const text of texts) yield encoder.encode(text);
}

/** The list that a query asks for. Throws Problem for a site that is not there, and for parts that do not go together. */
export async function wantedList(sql: Sql, query: ListQuery): Promise<{ filter: PurchaseFilter; sort: Sort }> {
  const { q, from, to, endedFrom, endedTo, endedWeekday, endedHours, zone, sort = 'newest', ...rest } = query;
  if (rest.site !== undefined) await requireSite(sql, rest.site);
  const isTimed = [from, to, endedFrom, endedTo].some((moment) => moment !== undefined);
  const { now } = isTimed ? await readClock(sql) : { now: 0 };
  const filter = {
    ...rest,
    text: q,
    from: from?.(now),
    to: to?.(now),
    endedFrom: endedFrom?.(now),
    endedTo: endedTo?.(now),
  };
  const checked = checkedFilter(filter, { sort, clock: { endedWeekday, endedHours, zone }, now });
  if ('field' in checked) throw fieldProblem(checked.field, checked.detail);
  return { filter: checked.is, sort };
}

const amountParameter = (which: string) =>
  parameter(readAmount).openapi({
    type: 'string',
    format: 'decimal',
    example: '249.50',
    description: `The ${which} price; give \`currency\`, too.`,
  });

/** Filters of lists of purchases. */
export const listParameters = {
  q: lineParameter('the beginning of a purchase id, a reference or an order reference, in any case')
    .openapi({
      description:
        'How a purchase id, a reference or an order reference begins, in any case. Where thousands begin so, they come in the order of these names.',
      example: 'ORD-10',
    })
    .optional(),
  state: stateParameter.optional(),
  status: statusParameter.optional(),
  stuck: stuckParameter.optional(),
  outcome: wordParameter(OUTCOMES, 'outcome')
    .describe('The outcome so far. `paid_late`: paid after it had been stuck; `paid` leaves those out.')
    .optional(),
  site: siteParameter.optional(),
  reference: referenceField.optional(),
  from: momentParameter.describe('Registered since: a time with its zone, or a duration back from now.').optional(),
  to: momentParameter.describe('Registered before.').optional(),
  endedFrom: momentParameter.describe('Ended in an hour that began then or later, as `GET /v1/trends` counts it.').optional(),
  endedTo: momentParameter.describe('Ended in an hour that began before.').optional(),
  endedWeekday: parameter((value) =>
    /^[1-7]$/.test(value)
      ? { is: Number(value) }
      : { problem: `must be a weekday from 1 (Monday) to 7 (Sunday), and not ${JSON.stringify(value)}` },
  )
    .openapi({
      type: 'string',
      enum: ['1', '2', '3', '4', '5', '6', '7'],
      description: 'Ended on this weekday; 1: Monday. Give `endedFrom`, too, of at most 92 days.',
    })
    .optional(),
  endedHours: parameter(readHours)
    .openapi({
      type: 'string',
      example: '12-14',
      description:
        'Ended in this hour of the day, or in one of these, the last included. Give `endedFrom`, too, of at most 92 days.',
    })
    .optional(),
  zone: zoneParameter
    .openapi({
      type: 'string',
      example: 'Europe/Stockholm',
      description:
        'The zone whose clocks `endedWeekday` and `endedHours` go by; UTC, when left out. An hour is one of UTC, as counts are, and has the weekday and hour of its beginning.',
    })
    .optional(),
  end: wordParameter(Object.keys(LISTED_ENDS) as ListedEnd[], 'end')
    .describe(
      'How it is counted among those that ended. `customer`: as a customer: paid, not paid or open. `counted`: `customer` and `paid_by_another`.',
    )
    .optional(),
  lastWaited: parameter((value) => (value === 'none' ? { is: null } : readState(value)))
    .openapi({
      type: 'string',
      description: 'The state in which it waited last before it ended, by name or number; `none`: no poll showed one.',
      example: 'WaitingForCardPayments',
    })
    .optional(),
  wasStuck: stuckParameter.describe('Whether it was stuck at some time before it ended.').optional(),
  least: amountParameter('least').optional(),
  most: amountParameter('most').optional(),
  currency: parameter((value) => {
    const problem = lineProblem(value, 'a currency such as SEK');
    return problem === null && value.length <= 20 ? { is: value } : { problem: problem ?? 'is longer than any currency' };
  })
    .openapi({ type: 'string', example: 'SEK', description: 'As the service writes it.' })
    .optional(),
  sort: wordParameter(SORTS, 'sort')
    .describe(
      '`newest`: the latest registration first, as without `sort`. `waiting`: those that wait in a state, the longest first, then the others. `largest`, `smallest`: by price, of one `currency`; purchases whose price is not known are left out.',
    )
    .optional(),
};

type ListQuery = z.output<z.ZodObject<typeof listParameters>>;

const listRoute = route('GET /v1/purchases', {
  summary: 'List purchases',
  description:
    'All filters given must hold. A page may have fewer than `limit`, or none, and not be the last: one of about 1 MiB ends, and so does one for which many rows were looked at that the filter leaves out; go by `nextCursor`.',
  query: {
    ...listParameters,
    cursor: z.string({ error: notText }).describe('`nextCursor` of the page before.').optional(),
    limit: pageParameters.limit,
  },
  answers: { 200: pageAnswer(purchaseSchema) },
  problems: ['unknown_site'],
});

const csvRoute = route('GET /v1/purchases.csv', {
  summary: 'List purchases as CSV',
  description:
    'The whole list, as it is read, under a line with the names of the columns. It ends early where the database does.',
  query: listParameters,
  answers: { 200: { description: 'Lines as RFC 4180 says.', content: { 'text/csv': { schema: z.string() } } } },
  problems: ['unknown_site'],
});
