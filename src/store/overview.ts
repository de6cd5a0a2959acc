/** Lists and counts for people. Nothing the daemon does depends on them. */
import type { Instant, Milliseconds } from '../core/purchase.ts';
import type { Queries } from './database.ts';

/** How far polling is behind its plan. */
export interface DueLag {
  /** Purchases whose time has come. */
  readonly due: number;
  /** How long the oldest of them has been waiting; 0 when there is none. */
  readonly oldest: Milliseconds;
}

/** What is due now, at sites that are configured. */
export async function dueLag(sql: Queries): Promise<DueLag> {
  const [row] = await sql<[DueLag]>`
    select count(*)::float8 as due, coalesce(extract(epoch from now() - min(p.next_poll_at)) * 1000, 0)::float8 as oldest
    from purchase_watch.purchases p join purchase_watch.sites s on s.name = p.site and s.configured
    where p.due_slot <= purchase_watch.due_slot(now()) and p.next_poll_at <= now()`;
  return row;
}

/** How many deliveries wait for each subscriber (by its id), and since when the oldest could have gone. */
export async function pendingDeliveries(
  sql: Queries,
): Promise<{ subscriber: number; pending: number; dueSince: Instant | null }[]> {
  return sql`
    select subscriber, count(*)::float8 as pending,
      (extract(epoch from min(due_at) filter (where due_at <= now())) * 1000)::float8 as "dueSince"
    from purchase_watch.deliveries where status = 'pending' group by subscriber`;
}

/** One event of a purchase for one subscriber, and what became of it. */
export interface ToldRow {
  readonly sequence: number;
  readonly type: string;
  readonly subscriber: string;
  readonly status: 'pending' | 'delivered' | 'exhausted' | 'suppressed';
  readonly attempts: number;
  readonly createdAt: Instant;
  readonly dueAt: Instant;
  readonly settledAt: Instant | null;
  readonly lastError: string | null;
}

/** Who was told what of a purchase, in the order of its events. */
export async function toldOf(sql: Queries, purchase: number): Promise<ToldRow[]> {
  return sql<ToldRow[]>`
    select e.sequence, e.type, s.name as subscriber, d.status, d.attempts,
      (extract(epoch from e.created_at) * 1000)::float8 as "createdAt", (extract(epoch from d.due_at) * 1000)::float8 as "dueAt",
      (extract(epoch from d.settled_at) * 1000)::float8 as "settledAt", d.last_error as "lastError"
    from purchase_watch.events e
    join purchase_watch.deliveries d on d.event = e.position
    join purchase_watch.subscribers s on s.id = d.subscriber
    where e.purchase = ${purchase} order by e.sequence, s.name`;
}

/** Registered ids that follow a text in each site's index, for somebody who mistyped or shortened one. */
export async function idsFrom(sql: Queries, { prefix, limit }: { prefix: string; limit: number }): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select distinct p.id from purchase_watch.sites s
    cross join lateral (
      select purchase_id as id from purchase_watch.purchases
      where site = s.name and purchase_id >= ${prefix} order by purchase_id limit ${limit}) p
    where starts_with(p.id, ${prefix}) limit ${limit}`;
  return rows.map(({ id }) => id);
}
