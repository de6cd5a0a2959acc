/** The purchases that were registered in a time. There is no index by time: row ids are in the order of registration. */
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';

/** Who comes to a state was registered this long before at most: a checkout lasts no longer. */
const REGISTERED_BEFORE: Milliseconds = 2 * 3_600_000;

/**
 * The purchases of a site that may have come to a state in a time, the newest `most + 1`: SQL that answers rows `(id)`. Finds the
 * ids of that time by halving.
 */
export async function registeredFor(
  sql: Queries,
  { site, from, until, most }: { site: string; from: Instant; until: Instant; most: number },
): Promise<{ readonly candidates: Fragment }> {
  const [first, after] = await Promise.all([firstIdSince(sql, from - REGISTERED_BEFORE), firstIdSince(sql, until)]);
  const candidates = sql`
      select q.id from (
        select distinct status, coalesce(state, -2147483648) as state, stuck from purchase_watch.purchase_totals where site = ${site}) g
      cross join lateral (
        select p.id from purchase_watch.purchases p
        where p.site = ${site} and p.status = g.status and coalesce(p.state, -2147483648) = g.state and (p.stuck_since is not null) = g.stuck
          and -p.id <= ${-first} and -p.id > ${-after}
        order by -p.id limit ${most + 1}) q
      order by q.id desc limit ${most + 1}`;
  return { candidates };
}

/** The lowest row id of purchases that were registered since a moment; one above the highest when there is none. */
async function firstIdSince(sql: Queries, at: Instant): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    with recursive search as (
      select min(id) as low, max(id) + 1 as high from purchase_watch.purchases
      union all
      select case when m.registered_at < ${at}::timestamptz then m.id + 1 else s.low end,
        case when m.registered_at < ${at}::timestamptz then s.high else (s.low + s.high) / 2 end
      from search s
      cross join lateral (
        select id, registered_at from purchase_watch.purchases where id >= (s.low + s.high) / 2 order by id limit 1) m
      where s.low < s.high)
    select min(high) as id from search where low >= high`;
  return row?.id ?? 0;
}
