/** Purchases that became Completed, and orders that were paid twice: noted by the statement that records the poll, judged later. */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import { MOST_PAYMENTS, type OrderCounts, type OrderPayment, type PaidPurchase } from '../../domain/incidents/paid-twice.ts';
import type { Instant } from '../../domain/values/time.ts';
import { type Columns, columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { jsonInstant } from '../connection/instants.ts';
import { announcing, type NewEvent } from '../events/events.ts';
import type { Lease } from '../shards/leases.ts';
import { paymentsOfOrder } from '../stays/evidence.ts';

/** Completed purchases that one look reads; further ones wait for the next look. */
export const MOST_READ = 500;

/** A completed purchase of an order, with what names it and its money. */
export interface StoredPayment extends OrderPayment {
  readonly purchaseId: string;
  readonly reference: string | null;
  readonly orderReference: string | null;
  /** The amount's exact digits. */
  readonly price: string | null;
  readonly currency: string | null;
  readonly completedAt: Instant;
}

/** The part of a recording statement that notes purchases that became Completed, from its part `transition`. */
export const notingPayments = (sql: Queries): Fragment => sql`
    payment as (
      insert into purchase_watch_internal.order_payments (purchase, paid_at)
      select purchase, not_after from transition where to_state = ${COMPLETED} on conflict do nothing)`;

/** SQL: what is read of each completed purchase of the order of the row `p`, as JSON, the earliest first. */
export const paymentsJson = (sql: Queries, isLater: Fragment): Fragment => sql`
    select json_agg(json_build_object('id', q.id, 'purchaseId', q.purchase_id, 'reference', q.reference,
        'orderReference', nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'OrderReference')), ''),
        'price', purchase_watch_internal.stored_number(d.fields, 'Price')::text,
        'currency', nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'CurrencyCode')), ''),
        'completedAt', ${sql.unsafe(jsonInstant('q.state_since'))}, 'isLater', ${isLater}) order by q.state_since, q.id)
    from (select * from (${paymentsOfOrder(sql)}) o order by o.state_since, o.id limit ${MOST_PAYMENTS + 1}) q
    left join purchase_watch_internal.purchase_details d on d.purchase = q.id`;

type StoredPaid = PaidPurchase<StoredPayment> & KnownPurchase;

/** Purchases that became Completed and are not judged yet, in the order in which they are judged. One query of an index without rows while there are none. */
export async function purchasesToJudge(sql: Queries): Promise<StoredPaid[]> {
  const isLater = sql`exists (
    select from purchase_watch_internal.order_payments w
    where w.purchase = q.id and w.announced_at is null and (w.paid_at, w.purchase) > (f.paid_at, f.purchase))`;
  const rows = await sql<(Omit<StoredPaid, 'order'> & { readonly order: string | null })[]>`
    select p.id::float8 as id, p.site, p.site || '/' || p.purchase_id as purchase, f.paid_at as "paidAt", coalesce(p.state = ${COMPLETED}, false) as "isPaid",
      (${paymentsJson(sql, isLater)})::text as order
    from (
      select purchase, paid_at from purchase_watch_internal.order_payments
      where announced_at is null order by paid_at, purchase limit ${MOST_READ}) f
    join purchase_watch.purchases p on p.id = f.purchase
    order by f.paid_at, f.purchase`;
  // All numbers in this JSON are keys and times, so doubles hold them exactly.
  return rows.map((row) => ({ ...row, order: row.order === null ? [] : (JSON.parse(row.order) as StoredPayment[]) }));
}

/** How often orders repeat, by site; sites without a paid purchase are missing. A row for each site is read. */
export async function orderCounts(sql: Queries): Promise<ReadonlyMap<string, OrderCounts>> {
  const rows = await sql<(OrderCounts & { readonly site: string })[]>`
    select site, paid, repeated from purchase_watch_internal.order_counts`;
  return new Map(rows.map(({ site, paid, repeated }) => [site, { paid, repeated }]));
}

/** A purchase by its row id, and by `site/purchaseId`: a database that went back may have given the row id to another purchase. */
interface KnownPurchase {
  readonly id: number;
  readonly purchase: string;
}

const KNOWN: Columns<KnownPurchase> = {
  id: ['bigint', ({ id }) => id],
  purchase: ['text', ({ purchase }) => purchase],
};

export interface PaymentResults {
  readonly judged: readonly KnownPurchase[];
  /** The purchases that the events name. */
  readonly named: readonly KnownPurchase[];
  readonly counts: ReadonlyMap<string, OrderCounts>;
  readonly events: readonly NewEvent[];
}

/**
 * Writes the counts, which purchases were named, and the events, all or nothing; false when the judge's lease belongs to another
 * replica by now, or when one of the purchases was judged, erased or noted again meanwhile.
 */
export async function savePayments(
  sql: Queries,
  { judged, named, counts, events, now, lease }: PaymentResults & { now: Instant; lease: Lease },
): Promise<boolean> {
  const names = new Set(named.map(({ id }) => id));
  const rows = await sql<{ saved: boolean | null }[]>`
    with held as materialized (
      select from purchase_watch_internal.leases where name = ${lease.name} and owner = ${lease.replica} and epoch = ${lease.epoch} for share),
    ready as materialized (
      select o.purchase from purchase_watch_internal.order_payments o
      join ${columns(sql, judged, 'r', KNOWN)} on r.id = o.purchase
      join purchase_watch.purchases p on p.id = r.id and p.site || '/' || p.purchase_id = r.purchase
      where exists (select from held) and o.announced_at is null
      order by o.purchase for update of o),
    there as materialized (
      select p.id from ${columns(sql, named, 'r', KNOWN)}
      join purchase_watch.purchases p on p.id = r.id and p.site || '/' || p.purchase_id = r.purchase
      where exists (select from held) order by p.id for key share of p),
    whole as materialized (
      select where exists (select from held) and (select count(*) from ready) = ${judged.length} and (select count(*) from there) = ${named.length}),
    done as (
      delete from purchase_watch_internal.order_payments o using ready r
      where o.purchase = r.purchase and o.purchase <> all(${`{${[...names].join()}}`}::bigint[]) and exists (select from whole)),
    announced as (
      insert into purchase_watch_internal.order_payments as o (purchase, paid_at, announced_at)
      select id, ${now}::timestamptz, ${now}::timestamptz from there where exists (select from whole)
      on conflict (purchase) do update set announced_at = coalesce(o.announced_at, excluded.announced_at)),
    counted as (
      insert into purchase_watch_internal.order_counts (site, paid, repeated)
      select r.site, r.paid, r.repeated from ${columns(sql, [...counts], 'r', {
        site: ['text', ([site]) => site],
        paid: ['integer', ([, { paid }]) => paid],
        repeated: ['integer', ([, { repeated }]) => repeated],
      })}
      where exists (select from whole)
      on conflict (site) do update set paid = excluded.paid, repeated = excluded.repeated),
    ${announcing(sql, events, sql`exists (select from whole)`)}
    select true as saved from whole union all select null from notified`;
  return rows.some(({ saved }) => saved);
}
