/** The customers around an incident of stuck purchases: those stuck now, and all who came to the state in a time. */
import type { Alarm, Detection } from '../../domain/incidents/detection.ts';
import { MARKS_BEFORE, type NearMark, type SlicedStay } from '../../domain/incidents/slice.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { customerOf, sliced } from '../stays/customer.ts';
import { listed, paidByAnother, paidByAnotherAt, type StuckPlace } from '../stays/evidence.ts';
import { AMOUNT, MOST_READ } from '../stays/money.ts';
import { registeredFor } from '../stays/registered.ts';
import { marksIn } from '../trends/marks.ts';

/** A state of a site that the incident `incident` is made of, with the incident `id` that is about it alone. */
export interface IncidentPlace extends Required<StuckPlace> {
  readonly incident: string;
  readonly id: string;
  readonly count: number;
  readonly peak: number;
  /** Customers who were stuck and got on after all since the alarm. */
  readonly movedOn: number;
  readonly usualShare: number | null;
  readonly isOver: boolean;
  /** The judge's memory of customers at the place; null when it remembers nothing. */
  readonly seen: Pick<Detection, 'run' | 'lately'> | null;
  /** The owner of the place's incident; an incident above gives its owner to parts that have none. */
  readonly acknowledged: { readonly by: string; readonly note: string | null; readonly at: Instant } | null;
}

type PlaceRow = Omit<IncidentPlace, 'usualShare' | 'seen' | 'acknowledged'> & {
  readonly alarm: string | null;
  readonly memory: string | null;
  readonly by: string | null;
  readonly note: string | null;
  readonly at: Instant | null;
};

/** The states of sites that each of these incidents is made of; at most `most` for each incident, the largest first. */
export async function placesBelow(
  sql: Queries,
  { ids, most }: { ids: readonly string[]; most: number },
): Promise<IncidentPlace[]> {
  const rows = await sql<PlaceRow[]>`
    with recursive below as (
      select id as incident, i.* from purchase_watch_internal.incidents i where id = any (${ids})
      union all
      select b.incident, c.* from below b join purchase_watch_internal.incidents c on c.parent = b.id)
    select incident, id, r.site, r.state, coalesce(to_timestamp((alarm::json ->> 'since')::float8 / 1000), since) as since, count, peak, moved_on,
      ended_at is not null or quiet_since is not null as is_over, alarm, d.memory, acknowledged_by as by, acknowledged_note as note, acknowledged_at as at
    from (
      select *, row_number() over (partition by incident order by ended_at is not null, count desc, peak desc, position) as rank
      from below where kind = 'stuck' and site is not null and state is not null) r
    left join purchase_watch_internal.detections d on d.site = r.site and d.state = r.state
    where rank <= ${most} order by incident, rank`;
  return rows.map(({ alarm, memory, by, note, at, ...row }) => ({
    ...row,
    usualShare: alarm === null ? null : (JSON.parse(alarm) as Alarm).usualShare,
    seen: memory === null ? null : (JSON.parse(memory) as Detection),
    acknowledged: by === null || at === null ? null : { by, note, at },
  }));
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

/** The fields of purchases in lists of an incident; `p` is the purchase and `d` its details. */
const listedFields = (sql: Queries): Fragment => sql`
  p.site, p.purchase_id, p.state, p.reference, p.state_since,
  purchase_watch_internal.stored_text(d.fields, 'OrderReference') as order_reference, ${sql.unsafe(AMOUNT)}`;

/** The purchases stuck in some places, the longest waiting first, without those whose order was paid by another one. */
export const stuckPurchases = (
  sql: Queries,
  { places, limit }: { places: readonly StuckPlace[]; limit: number },
): Promise<ListedStuckPurchase[]> => sql`
    select ${listedFields(sql)}, p.stuck_since
    from (
      select q.* from ${listed(sql, places)}
      cross join lateral (
        select p.* from (
          -- The front of an index, before anything is asked of single rows: otherwise each row of the place is.
          select id, site, purchase_id, state, reference, registered_at, state_since, stuck_since from purchase_watch.purchases p
          where p.stuck_since is not null and p.site = g.site and p.state = g.state and p.state_since >= g.since and p.status = 'watching'
          order by p.state_since limit ${MOST_READ + 1}) p
        where not ${paidByAnother(sql)} order by p.state_since limit ${limit}) q
      order by q.state_since, q.purchase_id limit ${limit}) p
    left join purchase_watch_internal.purchase_details d on d.purchase = p.id
    order by p.state_since, p.purchase_id`;

/** A purchase that was stuck in an incident and is not any more, as it is now. */
export interface LeftPurchase extends Omit<ListedStuckPurchase, 'stuckSince'> {
  readonly status: string;
  /** When another purchase of its order was paid; null: none was. */
  readonly paidByAnotherAt: Instant | null;
}

/** Events about stuck purchases that are looked at for those who left, the latest of all sites. */
const MOST_EVENTS = 2_000;

/**
 * The purchases that were found stuck in some places until a moment and do not wait there any more, whose state changed last first.
 * `isComplete`: no older event was left out.
 */
export async function leftPurchases(
  sql: Queries,
  { places, until }: { places: readonly Required<StuckPlace>[]; until: Instant },
): Promise<{ left: LeftPurchase[]; isComplete: boolean }> {
  if (places.length === 0) return { left: [], isComplete: true };
  const rows = await sql<(LeftPurchase & { oldest: Instant })[]>`
    with told as materialized (
      select purchase, site, state, created_at from purchase_watch_internal.events
      where type = 'purchase.stuck' order by type desc, era desc, xid desc, position desc limit ${MOST_EVENTS}),
    gone as (
      select distinct p.id from ${listed(sql, places)}
      join told t on t.site = g.site and t.state = g.state and t.created_at >= g.since and t.created_at <= ${until}::timestamptz
      join purchase_watch.purchases p on p.id = t.purchase
      where p.stuck_since is null or p.state <> g.state or p.status <> 'watching' or ${paidByAnother(sql)})
    select ${listedFields(sql)}, p.status, ${paidByAnotherAt(sql)} as paid_by_another_at,
      case when (select count(*) from told) = ${MOST_EVENTS} then (select min(created_at) from told) end as oldest
    from gone join purchase_watch.purchases p on p.id = gone.id
    left join purchase_watch_internal.purchase_details d on d.purchase = p.id
    where p.state is not null order by p.state_since desc, p.id desc`;
  const from = Math.min(...places.map(({ since }) => since));
  return { left: rows.map(({ oldest, ...row }) => row), isComplete: (rows[0]?.oldest ?? from) <= from };
}

/** A stay with the purchase whose it is. */
export interface NamedStay extends SlicedStay {
  readonly purchaseId: string;
}

/**
 * The stays in a state of a site that began in a time, in order; of the purchases registered for it, the newest `most` are looked at.
 * `isComplete`: there were no more.
 */
export async function staysBetween(
  sql: Queries,
  { site, state, from, until, most }: { site: string; state: number; from: Instant; until: Instant; most: number },
): Promise<{ stays: NamedStay[]; isComplete: boolean }> {
  const { candidates } = await registeredFor(sql, { site, from, until, most });
  const rows = await sql<(NamedStay & { looked: number })[]>`
    -- One row after the other by its key, whatever the planner thinks of their number.
    with candidates as materialized (${candidates})
    select p.purchase_id, ${customerOf(sql)}::text as customer, t.not_after as entered_at,
      coalesce(case when n.purchase is null then p.stuck_since end, (
        select min(e.created_at) from purchase_watch_internal.events e
        where e.purchase = p.id and e.type = 'purchase.stuck' and e.created_at between t.not_after and coalesce(n.not_after, 'infinity'))) as overdue_at,
      n.not_after as left_at, n.to_state, ${sliced(sql, 'PaymentMethod')} as method, ${sliced(sql, 'CountryCode')} as country,
      ${sliced(sql, 'CurrencyCode')} as currency, (select count(*) from candidates) as looked
    from candidates c
    cross join lateral (select * from purchase_watch.purchases where id = c.id limit 1) p
    cross join lateral (
      select * from purchase_watch_internal.purchase_transitions t
      where t.purchase = c.id and t.to_state = ${state} and t.not_after >= ${from}::timestamptz and t.not_after < ${until}::timestamptz offset 0) t
    left join purchase_watch_internal.purchase_transitions n on n.purchase = t.purchase and n.from_sequence = t.sequence
    left join purchase_watch_internal.purchase_details d on d.purchase = p.id
    order by t.not_after, p.id`;
  return { stays: rows.map(({ looked, ...stay }) => stay), isComplete: (rows[0]?.looked ?? 0) <= most };
}

/** Purchases of which the stays in one place are looked for. */
const MOST_EXAMINED = 1_000;
/** States of a site whose customers are looked for. */
const MOST_STATES = 4;

/**
 * Everything that shows where the fault of an incident is: the stays of its customers, and marks around its beginning. Of an incident at
 * several sites no stays are read.
 */
export async function readAround(
  sql: Queries,
  { places, until }: { places: readonly Required<StuckPlace>[]; until: Instant },
): Promise<{ stays: SlicedStay[]; marks: NearMark[] }> {
  const sites = [...new Set(places.map(({ site }) => site))];
  const [only, another] = sites;
  if (only === undefined) return { stays: [], marks: [] };
  const stays: SlicedStay[] = [];
  // One statement after the other: the judge has one connection.
  for (const { state, since } of another === undefined ? places.slice(0, MOST_STATES) : [])
    stays.push(...(await staysBetween(sql, { site: only, state, from: since, until, most: MOST_EXAMINED })).stays);
  const from = Math.min(...places.map(({ since }) => since)) - MARKS_BEFORE;
  return { stays, marks: await marksIn(sql, { from, to: until }, another === undefined ? only : null) };
}
