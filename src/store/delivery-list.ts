/** Deliveries as people and programs read them. */
import type { Instant } from '../core/purchase.ts';
import type { Queries } from './database.ts';

export type DeliveryStatus = 'pending' | 'delivered' | 'exhausted' | 'suppressed';
export const DELIVERY_STATUSES: readonly DeliveryStatus[] = ['pending', 'delivered', 'exhausted', 'suppressed'];

export interface DeliveryRow {
  readonly id: number;
  readonly subscriber: string;
  readonly status: DeliveryStatus;
  readonly eventId: string;
  readonly type: string;
  /** The purchase's own id; null for events of a site and for tests. */
  readonly purchaseId: string | null;
  /** Empty for tests. */
  readonly site: string;
  readonly sequence: number | null;
  readonly createdAt: Instant;
  readonly dueAt: Instant;
  readonly settledAt: Instant | null;
  readonly attempts: number;
  readonly lastError: string | null;
}

export interface AttemptRow {
  readonly number: number;
  readonly at: Instant;
  readonly tookMs: number;
  readonly httpStatus: number | null;
  /** `delivered`, or the stable word for what went wrong. */
  readonly outcome: string;
  readonly excerpt: string | null;
}

export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly subscriber?: string | undefined;
  /** A Purchase ID. */
  readonly purchase?: string | undefined;
  /** Of the purchase. */
  readonly site?: string | undefined;
  /** An event's id. */
  readonly event?: string | undefined;
}

const COLUMNS = `
  d.id::float8 as id, s.name as subscriber, d.status, e.id as "eventId", e.type, e.site, e.sequence, p.purchase_id as "purchaseId",
  (extract(epoch from e.created_at) * 1000)::float8 as "createdAt", (extract(epoch from d.due_at) * 1000)::float8 as "dueAt",
  (extract(epoch from d.settled_at) * 1000)::float8 as "settledAt", d.attempts, d.last_error as "lastError"`;

const JOINED = `
  join purchase_watch.subscribers s on s.id = d.subscriber
  join purchase_watch.events e on e.position = d.event
  left join purchase_watch.purchases p on p.id = e.purchase`;

/** A page of deliveries, newest first. `before` is the last id of the page before. */
export async function listDeliveries(
  sql: Queries,
  { filter, before, limit }: { filter: DeliveryFilter; before: number | null; limit: number },
): Promise<DeliveryRow[]> {
  return sql<DeliveryRow[]>`
    select ${sql.unsafe(COLUMNS)} from (${chosen(sql, filter, before, limit)}) d ${sql.unsafe(JOINED)} order by d.id desc`;
}

/** The rows of a page. Each way reads a bounded part of an index, however many rows there are. */
function chosen(
  sql: Queries,
  { status, subscriber, purchase, site, event }: DeliveryFilter,
  before: number | null,
  limit: number,
) {
  const earlier = before === null ? sql`true` : sql`d.id < ${before}`;
  const of =
    subscriber === undefined
      ? sql`true`
      : sql`d.subscriber in (select id from purchase_watch.subscribers where name = ${subscriber})`;
  const being = status === undefined ? sql`true` : sql`d.status = ${status}`;
  if (event !== undefined || purchase !== undefined) {
    // Few: the events of one purchase, and of each one delivery per subscriber.
    return sql`
      select d.* from purchase_watch.events e join purchase_watch.deliveries d on d.event = e.position
      where ${event === undefined ? sql`true` : sql`e.id = ${event}`}
        and ${
          purchase === undefined
            ? sql`true`
            : sql`e.purchase in (select p.id from purchase_watch.purchases p where p.purchase_id = ${purchase}
              and ${site === undefined ? sql`p.site in (select name from purchase_watch.sites)` : sql`p.site = ${site}`})`
        }
        and ${earlier} and ${of} and ${being} order by d.id desc limit ${limit}`;
  }
  if (status === undefined && subscriber === undefined) {
    return sql`select d.* from purchase_watch.deliveries d where ${earlier} order by d.id desc limit ${limit}`;
  }
  // Within a subscriber and a status the index lies in the order of the list; the pages of all groups together hold this one.
  return sql`
    select d.* from purchase_watch.subscribers s
    cross join unnest(${(status === undefined ? DELIVERY_STATUSES : [status]) as string[]}::text[]) as w (status)
    cross join lateral (
      select d.* from purchase_watch.deliveries d where d.subscriber = s.id and d.status = w.status and ${before === null ? sql`true` : sql`d.id + 0 < ${before}`}
      order by d.id + 0 desc limit ${limit}) d
    where ${subscriber === undefined ? sql`true` : sql`s.name = ${subscriber}`} order by d.id desc limit ${limit}`;
}

/** One delivery with its attempts, first to last; null when there is none. */
export async function findDelivery(
  sql: Queries,
  id: number,
): Promise<(DeliveryRow & { readonly tries: readonly AttemptRow[] }) | null> {
  const [row] = await sql<DeliveryRow[]>`
    select ${sql.unsafe(COLUMNS)} from purchase_watch.deliveries d ${sql.unsafe(JOINED)} where d.id = ${id}`;
  if (row === undefined) return null;
  const tries = await sql<AttemptRow[]>`
    select number, (extract(epoch from at) * 1000)::float8 as at, took_ms as "tookMs", http_status as "httpStatus", outcome, excerpt
    from purchase_watch.attempts where delivery = ${id} order by number`;
  return { ...row, tries };
}

/** How many attempts were made for a delivery, and whether it is settled. */
export async function progressOf(sql: Queries, id: number): Promise<{ attempts: number; settled: boolean }> {
  const [row] = await sql<{ attempts: number; settled: boolean }[]>`
    select attempts, settled_at is not null as settled from purchase_watch.deliveries where id = ${id}`;
  return row ?? { attempts: 0, settled: false };
}
