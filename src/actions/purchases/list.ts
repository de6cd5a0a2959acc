/** Lists of purchases as API, commands and pages ask for them: what a filter may say, where a page goes on, and the list as CSV. */
import { OUTCOMES, outcomeOf } from '../../domain/purchases/outcome.ts';
import { stateName } from '../../domain/purchases/states.ts';
import { hoursIn, quickZone } from '../../domain/trends/pieces.ts';
import { isDecimal, type JsonValue, parseExact } from '../../domain/values/exact-json.ts';
import { DAY, type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { listPurchases, ordersOf, SORTS, type Sort } from '../../postgres/purchases/list.ts';
import type { PurchaseFilter } from '../../postgres/purchases/list-filter.ts';
import type { Order, Position } from '../../postgres/purchases/list-sources.ts';
import type { PurchaseRow } from '../../postgres/purchases/purchases.ts';
import { zoneOf } from '../../runtime/loops/schedule.ts';
import { csvLine } from '../csv.ts';
import type { Checked } from '../subscribers/rules.ts';

export { listPurchases, OUTCOMES, type PurchaseFilter, SORTS, type Sort };

/** Reads an amount such as `249.50`. */
export function readAmount(text: string): Checked<string> {
  return /^\d{1,15}(\.\d{1,6})?$/.test(text) ? { is: text } : { problem: 'must be an amount such as 249.50, without a currency' };
}

/** Hours of the day: the first and the last, both from 0 to 23. */
interface DayHours {
  readonly first: number;
  readonly last: number;
}

/** Reads an hour of the day such as `14`, or several such as `12-14`. */
export function readHours(text: string): Checked<DayHours> {
  const [, first = '', last = first] = /^(\d|1\d|2[0-3])(?:-(\d|1\d|2[0-3]))?$/.exec(text) ?? [];
  if (first !== '' && Number(first) <= Number(last)) return { is: { first: Number(first), last: Number(last) } };
  return { problem: 'must be an hour of the day from 0 to 23 such as 14, or the first and the last of several such as 12-14' };
}

/** The hours of the week that a list asks for by the clocks of a zone; each undefined: all weekdays, all hours, UTC. */
interface EndedByClock {
  /** 1: Monday. */
  readonly endedWeekday?: number | undefined;
  readonly endedHours?: DayHours | undefined;
  /** An IANA name. */
  readonly zone?: string | undefined;
}

/** Days that a list by weekday or by hours of the day may span at most: the longest trends span 90. */
const MOST_DAYS = 92;

type ListProblem = {
  readonly field: 'currency' | 'from' | 'endedFrom' | 'zone';
  readonly detail: string;
};

/** The filter, with the hours of UTC that it asks for by clocks; or the field that does not fit the others, with the reason. */
export function checkedFilter(
  filter: PurchaseFilter,
  { sort, clock, now }: { sort: Sort; clock: EndedByClock; now: Instant },
): { readonly is: PurchaseFilter } | ListProblem {
  const problem = listProblem(filter, sort);
  if (problem !== null) return problem;
  const { endedWeekday, endedHours, zone } = clock;
  if (endedWeekday === undefined && endedHours === undefined) {
    if (zone === undefined) return { is: filter };
    return { field: 'zone', detail: 'says nothing without endedWeekday or endedHours; give one of them, too, or leave it out' };
  }
  const { endedFrom, endedTo = now } = filter;
  if (endedFrom === undefined)
    return { field: 'endedFrom', detail: 'is missing: endedWeekday and endedHours need a time to look in; give one such as 90d' };
  if (endedTo - endedFrom > MOST_DAYS * DAY) {
    const detail = `${isoTime(endedFrom)} lies more than ${MOST_DAYS} days before endedTo, ${isoTime(endedTo)}; with endedWeekday or endedHours give a shorter time`;
    return { field: 'endedFrom', detail };
  }
  const { first, last } = endedHours ?? { first: 0, last: 23 };
  const hours = hoursIn(
    { from: endedFrom, to: endedTo },
    quickZone(zoneOf(zone ?? 'UTC')).local,
    ({ weekday, hour }) => (endedWeekday ?? weekday) === weekday && hour >= first && hour <= last,
  );
  return { is: { ...filter, endedHours: hours } };
}

function listProblem(filter: PurchaseFilter, sort: Sort): ListProblem | null {
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
