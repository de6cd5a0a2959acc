/** Reads purchases that became Completed, and writes which of them paid an order twice, with the events. */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import type { OrderCounts, PaidPurchase } from '../../domain/incidents/paid-twice.ts';
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';
import { announcing, type NewEvent } from '../events/events.ts';
import { holding, type Lease } from '../shards/leases.ts';
import { isOldPayment, paymentsJson, type StoredPayment } from '../stays/order-payments.ts';

/** Completed purchases that one look reads; further ones wait for the next look. */
export const MOST_READ = 500;

type StoredPaid = PaidPurchase<StoredPayment> & KnownPurchase;

/** Purchases that became Completed and are not judged yet, in the order in which they are judged. One query of an index without rows while there are none. */
export async function purchasesToJudge(sql: Queries): Promise<StoredPaid[]> {
  const isLater = sql`exists (
    select from purchase_watch_internal.order_payments w
    where w.purchase = q.id and w.announced_at is null and (w.paid_at, w.purchase) > (f.paid_at, f.purchase))`;
  const rows = await sql<(Omit<StoredPaid, 'order'> & { readonly order: string | null })[]>`
    select p.id, p.site, p.site || '/' || p.purchase_id as purchase, f.paid_at, coalesce(p.state = ${COMPLETED}, false) as is_paid,
      coalesce(${isOldPayment(sql)}, false) as is_old,
      (${paymentsJson(sql, isLater)})::text as order
    from (
      select purchase, paid_at from purchase_watch_internal.order_payments
      where announced_at is null order by paid_at, purchase limit ${MOST_READ}) f
    join purchase_watch.purchases p on p.id = f.purchase
    join purchase_watch_internal.sites s on s.name = p.site
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

const KNOWN = 'id bigint, purchase text';

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
  const counted = [...counts].map(([site, each]) => ({ site, ...each }));
  const names = new Set(named.map(({ id }) => id));
  const rows = await sql<{ saved: boolean | null }[]>`
    with ${holding(sql, lease)},
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
      select r.site, r.paid, r.repeated from ${columns(sql, counted, 'r', 'site text, paid integer, repeated integer')}
      where exists (select from whole)
      on conflict (site) do update set paid = excluded.paid, repeated = excluded.repeated),
    ${announcing(sql, events, sql`exists (select from whole)`)}
    select true as saved from whole union all select null from notified`;
  return rows.some(({ saved }) => saved);
}
