/** The customers around an incident of stuck purchases: those stuck now, and all who came to the state in a time. */
import type { SeenStay } from '../../domain/incidents/customers.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { customerOf } from '../stays/customer.ts';
import { listed, type Place, paidByAnother } from '../stays/evidence.ts';

/** A state of a site that the incident `incident` is made of, with when its first customer came. */
export interface IncidentPlace extends Place {
  readonly incident: string;
  readonly since: Instant;
}

/** The states of sites that each of these incidents is made of; at most `most` for each incident, the largest first. */
export async function placesBelow(
  sql: Queries,
  { ids, most }: { ids: readonly string[]; most: number },
): Promise<IncidentPlace[]> {
  return sql<IncidentPlace[]>`
    with recursive below as (
      select id as incident, i.* from purchase_watch_internal.incidents i where id = any (${ids})
      union all
      select b.incident, c.* from below b join purchase_watch_internal.incidents c on c.parent = b.id)
    select incident, site, state, since from (
      select incident, site, state, coalesce(to_timestamp((alarm::json ->> 'since')::float8 / 1000), since) as since,
        row_number() over (partition by incident order by count desc, position) as rank
      from below where kind = 'stuck' and site is not null and state is not null) ranked
    where rank <= ${most} order by incident, rank`;
}

/** A purchase that is stuck now. Digits are those that the service sent. */
export interface ListedStuckPurchase {
  readonly site: string;
  readonly purchaseId: string;
  readonly state: number;
  readonly reference: string | null;
  readonly orderReference: string | null;
  readonly price: string | null;
  readonly currency: string | null;
  readonly stateSince: Instant;
  readonly stuckSince: Instant;
}

/**
 * The purchases stuck in some places, the longest waiting first, without those whose order was paid by another one.
 * `atLeast`: a place has more than `most`.
 */
export async function stuckPurchases(
  sql: Queries,
  { places, limit, most }: { places: readonly Place[]; limit: number; most: number },
): Promise<{ purchases: ListedStuckPurchase[]; counted: number; atLeast: boolean }> {
  const rows = await sql<(ListedStuckPurchase & { counted: number; atLeast: boolean })[]>`
    with f as materialized (
      select g.place, p.*, ${paidByAnother(sql)} as paid from ${listed(sql, places)}
      -- The front of an index, before anything is asked of single rows: otherwise each row of the place is.
      cross join lateral (
        select id, site, purchase_id, state, reference, registered_at, state_since, stuck_since from purchase_watch.purchases p
        where p.stuck_since is not null and p.site = g.site and p.state = g.state and p.state_since >= g.since and p.status = 'watching'
        order by p.state_since limit ${most + 1}) p),
    o as (select * from f where not paid)
    select o.site, o.purchase_id as "purchaseId", o.state, o.reference, o.state_since as "stateSince", o.stuck_since as "stuckSince",
      purchase_watch_internal.stored_text(d.fields, 'OrderReference') as "orderReference",
      purchase_watch_internal.stored_number(d.fields, 'Price')::text as price,
      nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'CurrencyCode')), '') as currency,
      (select count(*) from o)::float8 as counted,
      (select coalesce(max(n), 0) > ${most} from (select count(*) as n from f group by place) c) as "atLeast"
    from (select * from o order by state_since, purchase_id limit ${limit}) o
    left join purchase_watch_internal.purchase_details d on d.purchase = o.id
    order by o.state_since, o.purchase_id`;
  return {
    purchases: rows.map(({ counted, atLeast, ...row }) => row),
    counted: rows[0]?.counted ?? 0,
    atLeast: rows[0]?.atLeast ?? false,
  };
}

/** A stay with the purchase whose it is. */
export interface NamedStay extends SeenStay {
  readonly purchaseId: string;
}

/** Who comes to a state was registered this long before at most: a checkout lasts no longer. */
const REGISTERED_BEFORE: Milliseconds = 2 * 3_600_000;

/**
 * The stays in a state of a site that began in a time, in order. There is no index of purchases by time: their row ids are in
 * the order of registration, so the ids of that time are found by halving, and of them the newest `most` are looked at.
 * `isComplete`: there were no more.
 */
export async function staysBetween(
  sql: Queries,
  { site, state, from, until, most }: { site: string; state: number; from: Instant; until: Instant; most: number },
): Promise<{ stays: NamedStay[]; isComplete: boolean }> {
  const [first, after] = await Promise.all([firstIdSince(sql, from - REGISTERED_BEFORE), firstIdSince(sql, until)]);
  const rows = await sql<(NamedStay & { looked: number })[]>`
    -- One row after the other by its key, whatever the planner thinks of their number.
    with candidates as materialized (
      select q.id from (
        select distinct status, coalesce(state, -2147483648) as state, stuck from purchase_watch.purchase_totals where site = ${site}) g
      cross join lateral (
        select p.id from purchase_watch.purchases p
        where p.site = ${site} and p.status = g.status and coalesce(p.state, -2147483648) = g.state and (p.stuck_since is not null) = g.stuck
          and -p.id <= ${-first} and -p.id > ${-after}
        order by -p.id limit ${most + 1}) q
      order by q.id desc limit ${most + 1})
    select p.purchase_id as "purchaseId", ${customerOf(sql)}::text as customer, t.not_after as "enteredAt",
      coalesce(case when n.purchase is null then p.stuck_since end, (
        select min(e.created_at) from purchase_watch_internal.events e
        where e.purchase = p.id and e.type = 'purchase.stuck' and e.created_at between t.not_after and coalesce(n.not_after, 'infinity'))) as "overdueAt",
      n.not_after as "leftAt", n.to_state as "toState", (select count(*) from candidates)::float8 as looked
    from candidates c
    cross join lateral (select * from purchase_watch.purchases where id = c.id limit 1) p
    cross join lateral (
      select * from purchase_watch_internal.purchase_transitions t
      where t.purchase = c.id and t.to_state = ${state} and t.not_after >= ${from}::timestamptz and t.not_after < ${until}::timestamptz offset 0) t
    left join purchase_watch_internal.purchase_transitions n on n.purchase = t.purchase and n.from_sequence = t.sequence
    order by t.not_after, p.id`;
  return { stays: rows.map(({ looked, ...stay }) => stay), isComplete: (rows[0]?.looked ?? 0) <= most };
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
    select min(high)::float8 as id from search where low >= high`;
  return row?.id ?? 0;
}
