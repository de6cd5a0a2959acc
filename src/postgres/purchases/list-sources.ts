/**
 * Where the rows of a list come from. A filter that few purchases pass gives all of them, which are then put into any order. Otherwise
 * the index that has the list's order is walked, and the rest of the filter is asked of each row; after so many rows the page ends,
 * however few were found, and the next page goes on there. So no combination reads more than a page can.
 */
import type { Fragment, Queries } from '../connection/database.ts';
import { idsByText, idsOfEnds } from './few-ids.ts';
import {
  amountMatches,
  asksForEnd,
  asksForLate,
  CURRENCY,
  groupMatches,
  isGrouped,
  type ListPart,
  MINUS_PRICE,
  matches,
  NO_STATE,
  type PurchaseFilter,
} from './list-filter.ts';
import { beginsAs, keyOf, ORDER } from './search-key.ts';

/**
 * The direction of each order, its key of a purchase `p` or its stored fields `d`, and the key's type. `registered`: as `id`, but by the
 * time of registration, where the list is filtered by it. `name`: in their place where more purchases than a few begin as the text does,
 * for those may all be far from the newest.
 */
const ORDERS = {
  id: { way: 'desc', key: 'p.id', type: 'bigint' },
  registered: { way: 'desc', key: 'p.registered_at', type: 'timestamptz' },
  waiting: { way: 'asc', key: 'p.state_since', type: 'timestamptz' },
  largest: { way: 'asc', key: MINUS_PRICE, type: 'numeric' },
  smallest: { way: 'desc', key: MINUS_PRICE, type: 'numeric' },
  name: { way: 'asc', key: 'p.id', type: 'bigint' },
} as const;
export type Order = keyof typeof ORDERS;

const isByAmount = (order: Order): boolean => order === 'largest' || order === 'smallest';

/** The last row of the page before: its key in the order, as text, and its id. */
export interface RowAfter {
  readonly key: string;
  readonly id: number;
}

/** Where a list goes on, and the order that its rows have had so far. */
export interface Position extends RowAfter {
  readonly order: Order;
}

/** A part of a list in one order. */
export interface Stretch {
  readonly filter: PurchaseFilter;
  readonly part: ListPart;
  readonly order: Order;
  readonly after: Position | null;
  /** Rows at most. */
  readonly limit: number;
}

export interface Found {
  readonly rows: readonly Position[];
  /** Where the search ended before the list does; null where it did not. */
  readonly endedAt: Position | null;
}

/** So many rows are looked at for a page at most: some 50 ms where they lie apart. */
const MOST_LOOKED_AT = 2_000;
/** How many rows the statement reads of each range at most, where it merges the rows of several ranges. */
const MOST_OF_EACH = 300;
/** Where a condition of the filter lets at most so many purchases through, all of them are read, and then sorted. */
const FEW = 3_000;
/** The same for a condition on the amount. Fewer, because Postgres reads each amount out of JSON. */
const FEW_BY_AMOUNT = 1_000;
/** The same of those that ended in some hours, which may be far from the newest: a busy day of a site, some 100 ms. */
const FEW_ENDED = 12_000;

/** The next rows of a list. */
export async function findRows(sql: Queries, stretch: Stretch): Promise<Found> {
  if (isExact(stretch)) return walk(sql, stretch, { isExact: true });
  const byName = { ...stretch, order: 'name' } as const;
  if (stretch.after?.order === 'name') return walk(sql, byName, { isExact: false });
  const [few] = await fewIds(sql, stretch);
  if (few !== undefined) return collect(sql, stretch, few);
  const isNamed =
    stretch.filter.text !== undefined && stretch.after === null && (stretch.order === 'id' || stretch.order === 'registered');
  return walk(sql, isNamed ? byName : stretch, { isExact: false });
}

/** Whether the index with the order shows the whole filter, so that each row of it is one of the list. */
function isExact({ filter, part, order }: Stretch): boolean {
  const { site, reference, text, from, to, least, most, currency, outcome, stuck } = filter;
  const has = (...values: readonly unknown[]): boolean => values.some((value) => value !== undefined);
  if (has(reference, text) || asksForLate(filter) || asksForEnd(filter)) return false;
  if (isByAmount(order)) return !has(site, from, to) && !isGrouped(filter, part);
  if (has(least, most, currency)) return false;
  if (order === 'id') return true;
  if (order === 'registered') return !isGrouped(filter, part);
  return !has(from, to, stuck) && (outcome === undefined || outcome === 'stuck' || outcome === 'waiting');
}

/** A statement for the ids of a part of the filter that few pass; empty without one. In an array: a promise's answer that is a statement runs. */
async function fewIds(sql: Queries, { filter, part }: Stretch): Promise<readonly Fragment[]> {
  const { reference, text, from, to, least, most, endedFrom } = filter;
  const enough = FEW + 1;
  const sources = [
    text === undefined ? null : idsByText(sql, text, enough),
    reference === undefined
      ? null
      : sql`select p.id from purchase_watch.purchases p where p.reference = ${reference} order by p.id desc limit ${enough}`,
    isGrouped(filter, part) ? idsOfGroups(sql, filter, part, enough) : null,
    from === undefined && to === undefined
      ? null
      : sql`select q.id from (${byTime(sql, filter, null, enough)}) q limit ${enough}`,
  ].map((ids) => ({ ids, most: FEW }));
  const priced =
    least === undefined && most === undefined
      ? null
      : sql`select a.id from (${byAmount(sql, { filter, order: 'largest', after: null }, FEW_BY_AMOUNT + 1)}) a`;
  const ended = endedFrom === undefined ? null : idsOfEnds(sql, filter, FEW_ENDED + 1);
  for (const { ids, most: few } of [...sources, { ids: priced, most: FEW_BY_AMOUNT }, { ids: ended, most: FEW_ENDED }]) {
    if (ids === null) continue;
    const [row] = await sql<[{ count: number }]>`select count(*) from (${ids}) s`;
    if (row.count <= few) return [ids];
  }
  return [];
}

// Counters and rows are of one snapshot, so every row's group has its counter.
const idsOfGroups = (sql: Queries, filter: PurchaseFilter, part: ListPart, limit: number): Fragment => sql`
  select q.id from (${groupsOf(sql, filter, part)}) g
  cross join lateral (select p.id from purchase_watch.purchases p where ${isOfGroup(sql, filter)} order by -p.id limit ${limit}) q
  limit ${limit}`;

const groupsOf = (sql: Queries, filter: PurchaseFilter, part: ListPart): Fragment => sql`
  select distinct status, coalesce(state, ${NO_STATE}) as state, stuck from purchase_watch.purchase_totals g
  where ${groupMatches(sql, filter, part)}`;

const isOfGroup = (sql: Queries, { site, state }: PurchaseFilter): Fragment => sql`
  ${site === undefined ? sql`true` : sql`p.site = ${site}`}
  and p.status = g.status and coalesce(p.state, ${sql.unsafe(String(NO_STATE))}) = g.state and (p.stuck_since is not null) = g.stuck
  -- The lowest number stands for no state in the index, and is a state as well.
  and ${state === undefined ? sql`true` : sql`p.state = ${state}`}`;

/** Ids with their time of registration, the latest of each site. */
const byTime = (sql: Queries, { site, from, to }: PurchaseFilter, after: RowAfter | null, limit: number): Fragment => sql`
  select q.id, q.k, q.n from (select name as site from purchase_watch_internal.sites ${site === undefined ? sql`` : sql`where name = ${site}`}) g
  cross join lateral (
    select id, k, row_number() over (order by k desc, id desc) as n from (
      select p.id, p.registered_at as k from purchase_watch.purchases p
      where p.site = g.site and ${from === undefined ? sql`true` : sql`p.registered_at >= ${from}::timestamptz`}
        and ${to === undefined ? sql`true` : sql`p.registered_at < ${to}::timestamptz`}
        and ${after === null ? sql`true` : sql`(p.registered_at, p.id) < (${after.key}::timestamptz, ${after.id}::bigint)`}
      order by p.registered_at desc, p.id desc limit ${limit}) r) q`;

const byWaiting = (sql: Queries, { filter, part, after }: Stretch, limit: number): Fragment => sql`
  select q.id, q.k, q.n from (
    select distinct site, state from purchase_watch.purchase_totals g where ${groupMatches(sql, filter, part)}) g
  cross join lateral (
    select id, k, row_number() over (order by k, id) as n from (
      select p.id, p.state_since as k from purchase_watch.purchases p
      where p.site = g.site and p.state = g.state and p.status = 'watching' and p.state is not null
        and ${filter.outcome === undefined ? sql`true` : sql`(p.stuck_since is not null) = ${filter.outcome === 'stuck'}`}
        and ${
          after === null
            ? sql`true`
            : sql`p.state_since >= ${after.key}::timestamptz and (p.state_since > ${after.key}::timestamptz or p.id > ${after.id}::bigint)`
        }
      order by p.state_since, p.id limit ${limit}) r) q`;

/** Beyond any price that is stored. */
const NO_LIMIT = '1e200';
const LAST_ID = '9223372036854775807';

/**
 * Both ends of the range are rows of the index's columns. With an equation for the currency the planner may take it for rare, and
 * collect and sort all its rows.
 */
const byAmount = (
  sql: Queries,
  { filter, order, after }: Pick<Stretch, 'filter' | 'order' | 'after'>,
  limit: number,
): Fragment => {
  const { currency = '', least, most } = filter;
  const [dearest, cheapest] = [most === undefined ? `-${NO_LIMIT}` : `-${most}`, least === undefined ? NO_LIMIT : `-${least}`];
  const isLargest = order === 'largest';
  const begin = isLargest && after !== null ? after : { key: dearest, id: -1 };
  const end = !isLargest && after !== null ? after : { key: cheapest, id: LAST_ID };
  const columns = sql.unsafe(`(${CURRENCY}, ${MINUS_PRICE}, d.purchase)`);
  const price = sql.unsafe(MINUS_PRICE);
  const way = sql.unsafe(ORDERS[order].way);
  return sql`
    select id, k, row_number() over (order by k ${way}, id ${way}) as n from (
      select d.purchase as id, ${price} as k from purchase_watch_internal.purchase_details d
      where purchase_watch_internal.stored_number(d.fields, 'Price') is not null
        and ${columns} > (${currency}, ${begin.key}::numeric, ${begin.id}::bigint) and ${columns} < (${currency}, ${end.key}::numeric, ${end.id}::bigint)
      order by ${sql.unsafe(CURRENCY)} ${way}, ${price} ${way}, d.purchase ${way} limit ${limit}) r`;
};

const byName = (sql: Queries, { filter: { text = '' }, after }: Stretch, limit: number): Fragment => {
  const names: readonly (readonly [from: string, id: string, name: string, also: Fragment])[] = [
    ['purchase_watch.purchases p', 'p.id', 'p.purchase_id', sql`true`],
    ['purchase_watch.purchases p', 'p.id', 'p.reference', sql`p.reference is not null`],
    ['purchase_watch_internal.purchase_details d', 'd.purchase', ORDER, sql`true`],
  ];
  const ranges = names.map(([from, id, name, also]) => {
    const key = sql.unsafe(keyOf(name));
    return sql`(
      select id, k, row_number() over (order by k, id) as n from (
        select ${sql.unsafe(id)} as id, ${key} as k from ${sql.unsafe(from)}
        where ${also} and ${beginsAs(sql, name, text)}
          and ${after === null ? sql`true` : sql`${key} >= ${after.key} and (${key} > ${after.key} or ${sql.unsafe(id)} > ${after.id}::bigint)`}
        order by k, id limit ${limit}) r)`;
  });
  return sql`${ranges[0]!} union all ${ranges[1]!} union all ${ranges[2]!}`;
};

const byId = (sql: Queries, { filter, part, after }: Stretch, limit: number, isExact: boolean): Fragment => {
  if (!isExact || (filter.site === undefined && !isGrouped(filter, part))) {
    return sql`
      select id, id as k, row_number() over (order by id desc) as n from (
        select p.id from purchase_watch.purchases p where ${after === null ? sql`true` : sql`p.id < ${after.id}::bigint`}
        order by p.id desc limit ${limit}) r`;
  }
  return sql`
    select q.id, q.id as k, 0 as n from (${groupsOf(sql, filter, part)}) g
    cross join lateral (
      select p.id from purchase_watch.purchases p
      where ${isOfGroup(sql, filter)} and ${after === null ? sql`true` : sql`-p.id > ${-after.id}::bigint`}
      order by -p.id limit ${limit}) q`;
};

/** The ranges of the index that has the order: rows with key `k` and place `n` in their range, so many of each. */
function rangesOf(sql: Queries, stretch: Stretch, most: number, isExact: boolean): Fragment {
  const { filter, order, after } = stretch;
  if (order === 'id') return byId(sql, stretch, most, isExact);
  if (order === 'registered') return byTime(sql, filter, after, most);
  if (order === 'waiting') return byWaiting(sql, stretch, most);
  return order === 'name' ? byName(sql, stretch, most) : byAmount(sql, stretch, most);
}

/**
 * Walks the index that has the order, in one range or in several that are merged. A range of which not everything was read ends the
 * merge: behind its last row a row of it may be missing.
 */
async function walk(sql: Queries, stretch: Stretch, { isExact }: { isExact: boolean }): Promise<Found> {
  const { filter, part, order, limit } = stretch;
  const isOne = isByAmount(order) || order === 'id' || (order === 'registered' && filter.site !== undefined);
  const most = isExact ? limit : Math.max(limit, isOne ? MOST_LOOKED_AT : MOST_OF_EACH);
  const ranges = rangesOf(sql, stretch, most, isExact);
  const way = sql.unsafe(ORDERS[order].way);
  const within = ORDERS[order].way === 'asc' ? sql`<=` : sql`>=`;
  if (isExact) {
    const rows = await sql<RowAfter[]>`
      select id, k::text as key from (${ranges}) r order by k ${way}, r.id ${way} limit ${limit}`;
    return foundIn(rows, order);
  }
  const rows = await sql<(RowAfter & { isEnd: boolean })[]>`
    with range as materialized (${ranges}),
    cut as materialized (select id, k from range where n = ${most} order by k ${way}, id ${way} limit 1),
    page as materialized (
      select r.id, r.k from (
        select id, k from range where not exists (select from cut) or (k, id) ${within} (select k, id from cut) order by k ${way}, id ${way}) r
      -- Reads one row after the other by its key, and none beyond the page.
      cross join lateral (select from (select * from purchase_watch.purchases where id = r.id limit 1) p where ${matches(sql, filter, part)} limit 1) p
      order by r.k ${way}, r.id ${way} limit ${limit})
    select id, k::text as key, false as is_end from page
    union all select id, k::text, true from cut where (select count(*) from page) < ${limit}`;
  return foundIn(rows, order);
}

function foundIn(rows: readonly (RowAfter & { readonly isEnd?: boolean })[], order: Order): Found {
  const positions = rows.map(({ isEnd = false, id, key }) => ({ isEnd, position: { id, key, order } }));
  const end = positions.find(({ isEnd }) => isEnd);
  return { rows: positions.flatMap(({ isEnd, position }) => (isEnd ? [] : [position])), endedAt: end?.position ?? null };
}

/** Puts the few rows that a part of the filter lets through into the order, without those that the rest of it does not. */
async function collect(sql: Queries, { filter, part, order, after, limit }: Stretch, ids: Fragment): Promise<Found> {
  const isAmount = isByAmount(order);
  const { key, type } = ORDERS[order];
  const way = sql.unsafe(ORDERS[order].way);
  const beyond = ORDERS[order].way === 'asc' ? sql`>` : sql`<`;
  const rows = await sql<RowAfter[]>`
    with few as materialized (${ids})
    select id, k::text as key from (
      select p.id, ${sql.unsafe(key)} as k from few
      cross join lateral (select * from purchase_watch.purchases where id = few.id limit 1) p
      ${isAmount ? sql`cross join lateral (select * from purchase_watch_internal.purchase_details where purchase = few.id limit 1) d` : sql``}
      where ${matches(sql, filter, part)} and ${isAmount ? amountMatches(sql, filter) : sql`true`}) r
    where ${after === null ? sql`true` : sql`(k, id) ${beyond} (${after.key}::${sql.unsafe(type)}, ${after.id}::bigint)`}
    order by k ${way}, id ${way} limit ${limit}`;
  return foundIn(rows, order);
}
