/** Ids of the purchases that a part of a list's filter lets through, for parts that few pass. Each stops at its limit. */
import type { Fragment, Queries } from '../connection/database.ts';
import { endMatches, hourMatches, type PurchaseFilter } from './list-filter.ts';
import { beginsAs, keyOf, ORDER } from './search-key.ts';

/** Purchases that ended in the hours of a filter: so many of a site are looked at for those that the rest of it lets through. */
const MOST_ENDED = 50_000;

// The order asks for the index: where many begin so the planner would rather read the table, perhaps to its end.
export const idsByText = (sql: Queries, text: string, limit: number): Fragment => sql`
  select id from (
    select p.id from purchase_watch.purchases p where ${beginsAs(sql, 'p.purchase_id', text)}
    order by ${sql.unsafe(keyOf('p.purchase_id'))} limit ${limit}) a
  union select id from (
    select p.id from purchase_watch.purchases p where p.reference is not null and ${beginsAs(sql, 'p.reference', text)}
    order by ${sql.unsafe(keyOf('p.reference'))} limit ${limit}) b
  union select id from (
    select d.purchase as id from purchase_watch_internal.purchase_details d where ${beginsAs(sql, ORDER, text)}
    order by ${sql.unsafe(keyOf(ORDER))} limit ${limit}) c
  limit ${limit}`;

// Where more ended than are looked at, all of these pass, so that the filter does not count as one for few.
export const idsOfEnds = (sql: Queries, filter: PurchaseFilter, limit: number): Fragment => sql`
  select o.purchase as id from purchase_watch_internal.sites s
  cross join lateral (
    select *, count(*) over () as ended from (
      select o.purchase, o.outcome, o.way, o.was_stuck from purchase_watch_internal.outcomes o
      where o.site = s.name and ${hourMatches(sql, filter)} limit ${MOST_ENDED + 1}) o) o
  where ${filter.site === undefined ? sql`true` : sql`s.name = ${filter.site}`} and (o.ended > ${MOST_ENDED} or ${endMatches(sql, filter)})
  limit ${limit}`;
