/** The money that stuck purchases wait with: the one sum that lists, pages and messages show. */
import type { Queries } from '../connection/database.ts';
import { listed, MOST_OF_ONE_ORDER, orderOf, paidByAnother, type StuckPlace } from './evidence.ts';

/** Stuck purchases of each place that are read, the longest waiting first; where more wait, a sum says "at least". */
export const MOST_READ = 1_000;
/** Currencies that are named at most, those with most purchases first. */
const MOST_CURRENCIES = 60;

/** SQL: the price of a purchase as digits and its currency, from its stored fields `d`; null where they are not known. */
export const AMOUNT = `purchase_watch_internal.stored_number(d.fields, 'Price')::text as price,
  nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'CurrencyCode')), '') as currency`;

/** The money that stuck purchases wait with. */
export interface MoneyWaiting {
  /** Exact sums as digits by currency, those of most orders first. */
  readonly waiting: { readonly amount: string; readonly currency: string }[];
  /** Orders of which no amount is known. */
  readonly unpriced: number;
  /** Purchases that the sums are of. */
  readonly counted: number;
  /** Whether a place has more purchases than were read. */
  readonly atLeast: boolean;
}

interface Sum {
  readonly group: number;
  readonly amount: string | null;
  readonly currency: string | null;
  readonly orders: number;
  readonly purchases: number;
  readonly read: number;
}

/**
 * The money that the stuck purchases of each group of places wait with, in the order of the groups. Several purchases of one order
 * count once, with the latest price; those whose order was paid by another purchase are left out. A place that several groups have
 * is read once, and of each place at most `MOST_READ + 1` purchases, paid ones included.
 */
export async function moneyWaiting(sql: Queries, groups: readonly (readonly StuckPlace[])[]): Promise<MoneyWaiting[]> {
  const keyOf = ({ site, state, since = 0 }: StuckPlace): string => JSON.stringify([site, state, since]);
  const places = [...new Map(groups.flat().map((place) => [keyOf(place), place])).values()];
  if (places.length === 0) return groups.map(() => ({ waiting: [], unpriced: 0, counted: 0, atLeast: false }));
  const numbers = new Map(places.map((place, index) => [keyOf(place), index + 1]));
  const members = groups.flatMap((own, group) => own.map((place) => [group, numbers.get(keyOf(place))!] as const));
  const sums = await sql<Sum[]>`
    with overdue as materialized (
      select g.place, p.id, p.site, ${orderOf(sql)} as key, purchase_watch_internal.stored_number(d.fields, 'Price') as price,
        nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'CurrencyCode')), '') as currency,
        count(*) over (partition by g.place) as read, ${paidByAnother(sql)} as paid
      from ${listed(sql, places)}
      -- The front of an index, before anything is asked of single rows: otherwise each row of the place is.
      cross join lateral (
        select id, site, reference, registered_at from purchase_watch.purchases p
        where p.stuck_since is not null and p.site = g.site and p.state = g.state and p.state_since >= g.since and p.status = 'watching'
        order by p.state_since limit ${MOST_READ + 1}) p
      left join purchase_watch_internal.purchase_details d on d.purchase = p.id),
    grouped as (
      select m."group", o.* from overdue o
      join unnest(${members.map(([group]) => group)}::integer[], ${members.map(([, place]) => place)}::integer[]) m ("group", place) on m.place = o.place
      where not o.paid),
    shared as (select *, count(*) over (partition by "group", site, key) as sharing from grouped),
    named as (select *, case when sharing <= ${MOST_OF_ONE_ORDER} then key end as known from shared),
    orders as (
      select distinct on ("group", site, coalesce(known, id), known is null) "group", price, currency, read,
        count(*) over (partition by "group", site, coalesce(known, id), known is null) as purchases
      from named order by "group", site, coalesce(known, id), known is null, id desc)
    select "group", sum(price)::text as amount, case when price is not null then currency end as currency, count(*) as orders,
      sum(purchases)::float8 as purchases, max(read)::float8 as read
    from orders group by 1, 3 order by 1, 4 desc, 3`;
  return groups.map((_, group) => {
    const own = sums.filter((sum) => sum.group === group);
    const known = own.flatMap(({ amount, currency }) => (amount === null || currency === null ? [] : [{ amount, currency }]));
    return {
      waiting: known.slice(0, MOST_CURRENCIES),
      unpriced: own.find(({ currency }) => currency === null)?.orders ?? 0,
      counted: own.reduce((sum, { purchases }) => sum + purchases, 0),
      atLeast: own.some(({ read }) => read > MOST_READ),
    };
  });
}
