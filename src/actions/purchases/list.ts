/** Lists of purchases as API, commands and pages ask for them: what a filter may say, where a page goes on, and the list as CSV. */
import { OUTCOMES, outcomeOf } from '../../domain/purchases/outcome.ts';
import { stateName } from '../../domain/purchases/states.ts';
import { isDecimal, type JsonValue, parseExact } from '../../domain/values/exact-json.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { listPurchases, ordersOf, SORTS, type Sort } from '../../postgres/purchases/list.ts';
import type { PurchaseFilter } from '../../postgres/purchases/list-filter.ts';
import type { Order, Position } from '../../postgres/purchases/list-sources.ts';
import type { PurchaseRow } from '../../postgres/purchases/purchases.ts';
import { csvLine } from '../csv.ts';
import type { Checked } from '../subscribers/rules.ts';

export { listPurchases, OUTCOMES, type PurchaseFilter, SORTS, type Sort };

/** Reads an amount such as `249.50`. */
export function readAmount(text: string): Checked<string> {
  return /^\d{1,15}(\.\d{1,6})?$/.test(text) ? { is: text } : { problem: 'must be an amount such as 249.50, without a currency' };
}

/** The field of a list's query that does not fit the others, with the reason; null when all fit. */
export function listProblem(
  filter: PurchaseFilter,
  sort: Sort,
): { readonly field: 'currency' | 'from' | 'endedFrom'; readonly detail: string } | null {
  const isByAmount = sort === 'largest' || sort === 'smallest' || filter.least !== undefined || filter.most !== undefined;
  if (isByAmount && filter.currency === undefined)
    return { field: 'currency', detail: 'is missing: amounts of several currencies cannot be compared; give one such as SEK' };
  if (filter.from !== undefined && filter.to !== undefined && filter.from >= filter.to)
    return { field: 'from', detail: 'is not before to' };
  if (filter.endedFrom !== undefined && filter.endedTo !== undefined && filter.endedFrom >= filter.endedTo)
    return { field: 'endedFrom', detail: 'is not before endedTo' };
  return null;
}

/** A position as a cursor, which callers hand back as it is. */
export function cursorAt({ order, key, id }: Position): string {
  return Buffer.from(JSON.stringify([order, key, id])).toString('base64url');
}

const KEYS = {
  id: /^\d{1,16}$/,
  registered: /^\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$/,
  waiting: /^\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$/,
  largest: /^-?\d{1,140}(\.\d{1,140})?$/,
  smallest: /^-?\d{1,140}(\.\d{1,140})?$/,
  name: /^.{1,200}$/u,
} as const satisfies Readonly<Record<Order, RegExp>>;

/** The position that a cursor of this list stands for. */
export function readCursor(text: string, filter: PurchaseFilter, sort: Sort): Checked<Position> {
  try {
    const [order, key, id] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [Order, unknown, unknown];
    const position = { order, key: String(key), id: Number(id) };
    const isOurs = ordersOf(filter, sort).includes(order) && Number.isSafeInteger(position.id) && position.id >= 0;
    if (isOurs && KEYS[order].test(position.key) && cursorAt(position) === text) return { is: position };
  } catch {
    // As any other text that is no cursor.
  }
  return { problem: 'is not a cursor of this list; give nextCursor of the page before, or leave it out' };
}

const COLUMNS = [
  ...['orderReference', 'reference', 'purchaseId', 'site', 'outcome', 'status', 'state', 'stateSince', 'stuckSince'],
  ...['registeredAt', 'lastPolledAt', 'nextPollAt', 'price', 'currency'],
];

/** Rows of a page of the list as CSV. */
const CSV_ROWS = 500;

/** A list as the lines of a CSV file, page by page, the first with the names of its columns; each text ends with a line end. */
export async function* purchasesAsCsv(
  sql: Queries,
  { filter, sort }: { filter: PurchaseFilter; sort: Sort },
): AsyncGenerator<string, void, undefined> {
  yield `${COLUMNS.join(',')}\n`;
  for (let after: Position | null = null; ; ) {
    const { rows, next } = await listPurchases(sql, { filter, sort, after, limit: CSV_ROWS });
    yield rows.map((row) => `${lineOf(row)}\n`).join('');
    if (next === null) return;
    after = next;
  }
}

function lineOf(row: PurchaseRow): string {
  const details = row.details === null ? {} : (parseExact(row.details) as Readonly<Record<string, JsonValue>>);
  const { Price: price = null, CurrencyCode: currency = null, OrderReference: order = null } = details;
  return csvLine([
    ...[cellOf(order), row.reference, row.purchaseId, row.site, outcomeOf(row), row.status],
    ...[row.state === null ? null : stateName(row.state), isoTimeOrNull(row.stateSince), isoTimeOrNull(row.stuckSince)],
    ...[isoTime(row.registeredAt), isoTimeOrNull(row.lastPolledAt), isoTimeOrNull(row.nextPollAt)],
    ...[cellOf(price), cellOf(currency)],
  ]);
}

function cellOf(value: JsonValue): string | number | null {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  return isDecimal(value) ? value.rawJSON : JSON.stringify(value);
}
