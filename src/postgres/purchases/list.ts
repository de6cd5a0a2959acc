/** Lists of purchases, page by page. What is read for a page does not grow with the table (list-sources.ts). */
import type { Queries } from '../connection/database.ts';
import type { ListPart, PurchaseFilter } from './list-filter.ts';
import { findRows, type Order, type Position } from './list-sources.ts';
import { PURCHASE_COLUMNS, type PurchaseRow } from './purchases.ts';

/**
 * `newest`: the latest registration first. `waiting`: those that wait in a state, the longest first, then all others, the newest first.
 * `largest`, `smallest`: by the price, of one currency; purchases without a price are not in these lists.
 */
export const SORTS = ['newest', 'waiting', 'largest', 'smallest'] as const;

export type Sort = (typeof SORTS)[number];

/** Bytes of metadata and stored fields on a page; a page ends with the purchase that passes this number. */
const PAGE_BYTES = 1024 * 1024;

/** The orders of a list, one after the other. */
function stretchesOf(filter: PurchaseFilter, sort: Sort): { readonly part: ListPart; readonly order: Order }[] {
  const newest = filter.from === undefined && filter.to === undefined ? 'id' : 'registered';
  if (sort === 'newest') return [{ part: 'all', order: newest }];
  if (sort !== 'waiting') return [{ part: 'all', order: sort }];
  return [
    { part: 'waiting', order: 'waiting' },
    { part: 'rest', order: newest },
  ];
}

/** The orders that the rows of a list may have. */
export function ordersOf(filter: PurchaseFilter, sort: Sort): readonly Order[] {
  const orders = stretchesOf(filter, sort).map(({ order }) => order);
  return filter.text === undefined ? orders : [...orders, 'name'];
}

/**
 * A page of purchases: as many as `limit` says, or as have about 1 MiB of JSON, or fewer where so many rows were looked at that the
 * page would take long; and where the next page begins, null when this was the last. The filter names a currency where it names amounts, and so does a sort by amount.
 */
export async function listPurchases(
  sql: Queries,
  { filter, sort, after, limit }: { filter: PurchaseFilter; sort: Sort; after: Position | null; limit: number },
) {
  const found: Position[] = [];
  let next: Position | null = null;
  const stretches = stretchesOf(filter, sort);
  const begin = Math.max(
    stretches.findIndex(({ order }) => order === after?.order),
    after?.order === 'name' ? stretches.length - 1 : 0,
  );
  for (const [at, { part, order }] of stretches.entries()) {
    if (at < begin) continue;
    const { rows, endedAt } = await findRows(sql, {
      filter,
      part,
      order,
      after: at === begin ? after : null,
      limit: limit + 1 - found.length,
    });
    found.push(...rows);
    next = endedAt;
    if (endedAt !== null || found.length > limit) break;
  }
  const page = found.slice(0, limit);
  if (found.length > limit) next = page.at(-1)!;
  const rows = await read(
    sql,
    page.map(({ id }) => id),
  );
  // The page ended sooner by its size, or rows were erased meanwhile.
  const last = rows.at(-1);
  const isCut = last !== undefined && last.place < page.length && last.isLarge;
  return { rows, next: isCut ? page[last.place - 1]! : next };
}

/** Reads one row after the other by its key, whatever the planner estimates; converts each document to text once. */
const read = (sql: Queries, ids: readonly number[]) => sql<(PurchaseRow & { place: number; isLarge: boolean })[]>`
  with listed as materialized (
    select ${sql.unsafe(PURCHASE_COLUMNS)}, page.place::integer as place from unnest(${ids}::bigint[]) with ordinality page (id, place)
    cross join lateral (select * from purchase_watch.purchases where id = page.id limit 1) p
    left join lateral (select * from purchase_watch_internal.purchase_details where purchase = page.id limit 1) d on true),
  sized as (
    select *, sum(coalesce(octet_length(metadata), 0) + coalesce(octet_length(details), 0)) over (order by place) as bytes,
      coalesce(octet_length(metadata), 0) + coalesce(octet_length(details), 0) as size
    from listed)
  select *, bytes >= ${PAGE_BYTES} as is_large from sized where bytes - size < ${PAGE_BYTES} order by place`;
