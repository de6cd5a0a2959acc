/** Lists and counts for people. No work of the daemon depends on them. */

import type { DeliveryStatus } from '../../domain/deliveries/delivery-status.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue, firstValues, onlyRow } from '../connection/rows.ts';
import { STATUS_COLUMNS, STATUS_JOINS, type StatusRow, withShownStatus } from '../deliveries/delivery-list.ts';
import { MOST_WAITING } from '../deliveries/waiting.ts';
import { EVERY_SHARD } from '../migrations/names.ts';

/** The time by the database's clock. */
export const databaseNow = (sql: Queries) => firstValue<Instant>(sql`select clock_timestamp() as now`);

/** The database as a whole: the time by its clock, how full its queue of notifications is (from 0 to 1), and its oldest open transaction. */
export const databaseMoment = (sql: Queries) =>
  onlyRow(sql<{ at: Instant; notificationQueue: number; oldestTransaction: Milliseconds }[]>`
    select clock_timestamp() as at, pg_notification_queue_usage() as notification_queue,
      coalesce(greatest(extract(epoch from clock_timestamp() - least(
        (select min(xact_start) from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()),
        (select min(prepared) from pg_prepared_xacts where database = current_database()))) * 1000, 0), 0)::float8 as oldest_transaction`);

/** Rows of each shard's queue that are counted at most. */
const COUNTED_PER_SHARD = 200;

/** How far polling of a site is behind its plan. */
export interface DueLag {
  readonly site: string;
  /** Purchases whose time has come. */
  readonly due: number;
  /** Whether there are more than were counted. */
  readonly atLeast: boolean;
  /** How long the purchase that has been due for longest waits; 0 when none is due. */
  readonly oldest: Milliseconds;
  /** The longest wait of purchases that were not registered in bulk. */
  readonly oldestSingle: Milliseconds;
}

/**
 * The due purchases of configured sites, and of sites that no living replica names. Reads the front of each queue, however many are
 * due, past rows that are due later: their owners keep those in memory.
 */
export const dueLag = (sql: Queries): Promise<DueLag[]> => sql<DueLag[]>`
    select name as site, sum(due)::float8 as due, bool_or(due >= ${COUNTED_PER_SHARD}) as at_least,
      greatest(coalesce(extract(epoch from now() - min(first)) * 1000, 0), 0)::float8 as oldest,
      greatest(coalesce(extract(epoch from now() - min(first_single)) * 1000, 0), 0)::float8 as oldest_single
    from (
      select s.name, count(q.at) as due, min(q.at) as first,
        min(q.at) filter (where q.bulk is not true) as first_single
      from purchase_watch_internal.sites s cross join ${sql.unsafe(EVERY_SHARD)}
      left join lateral (
        select p.next_poll_at as at, p.bulk from purchase_watch.purchases p
        where p.site = s.name and p.shard = g.shard::smallint and p.due_slot is not null and p.due_slot <= purchase_watch_internal.due_slot(now())
          and p.next_poll_at <= now()
        order by p.due_slot, p.id limit ${COUNTED_PER_SHARD}) q on true
      where s.configured or s.unnamed_since is not null group by s.name, g.shard) shard
    group by name order by name`;

/** The lag of several sites together. */
export function totalLag(lags: readonly DueLag[]): Omit<DueLag, 'site' | 'oldestSingle'> {
  return {
    due: lags.reduce((sum, { due }) => sum + due, 0),
    atLeast: lags.some(({ atLeast }) => atLeast),
    oldest: Math.max(0, ...lags.map(({ oldest }) => oldest)),
  };
}

/** The deliveries that wait for a subscriber, each counted as one of pending, in flight and parked. */
export interface WaitingDeliveries {
  /** The subscriber's row id. */
  readonly subscriber: number;
  /** Deliveries that wait for their turn or their next try. */
  readonly pending: number;
  /** Deliveries whose attempt has been under way for a moment. */
  readonly inFlight: number;
  /** Deliveries that wait until the subscriber is resumed. */
  readonly parked: number;
  /** Whether there are more pending or parked deliveries than were counted. */
  readonly atLeast: boolean;
  /** Since when the oldest pending delivery is due, or would be if its subscriber were not paused; null when there is none. */
  readonly dueSince: Instant | null;
}

/** How many deliveries wait for each configured subscriber. Reads no more than it counts. */
export async function waitingDeliveries(sql: Queries): Promise<WaitingDeliveries[]> {
  type Row = Omit<WaitingDeliveries, 'pending' | 'parked'> & { readonly count: number; readonly isParked: boolean };
  const rows = await sql<Row[]>`
    with flying as materialized (
      select d.subscriber, count(*) as count from purchase_watch_internal.deliveries_in_flight() f
      cross join lateral (select d.subscriber, d.status from purchase_watch_internal.deliveries d where d.id = f.delivery limit 1) d
      where d.status = 'pending' group by d.subscriber)
    select s.id as subscriber, n.count::float8 as count, coalesce(f.count, 0)::float8 as in_flight, n.count >= ${MOST_WAITING} as at_least,
      s.status <> 'active' or h.paused_until is not null as is_parked,
      case when d.first <= now() then d.first end as due_since
    from purchase_watch_internal.subscribers s
    left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id
    left join flying f on f.subscriber = s.id
    cross join lateral (
      select count(*) as count from (
        select from purchase_watch_internal.deliveries where subscriber = s.id and status = 'pending' limit ${MOST_WAITING}) p) n
    cross join lateral (
      select min(f.due_at) as first from ${sql.unsafe(EVERY_SHARD)} cross join generate_series(0, 2) k (rank)
      cross join lateral (
        select due_at from purchase_watch_internal.deliveries
        where subscriber = s.id and shard = g.shard::smallint and rank = k.rank::smallint and status = 'pending'
        order by due_at, event limit 1) f) d
    where s.configured order by s.id`;
  return rows.map(({ count, isParked, inFlight, ...row }) => {
    const rest = Math.max(count - inFlight, 0);
    return { ...row, inFlight, pending: isParked ? 0 : rest, parked: isParked ? rest : 0 };
  });
}

/** The deliveries that wait for one subscriber; zeros when the subscriber is not in the list. */
export function waitingOf(all: readonly WaitingDeliveries[], subscriber: number): WaitingDeliveries {
  const none = { subscriber, pending: 0, inFlight: 0, parked: 0, atLeast: false, dueSince: null };
  return all.find((each) => each.subscriber === subscriber) ?? none;
}

/** One event of a purchase for one subscriber, and the status of its delivery. */
export interface PurchaseDelivery {
  readonly sequence: number;
  readonly type: string;
  readonly subscriber: string;
  readonly status: DeliveryStatus;
  /** Why the delivery is parked or suppressed. */
  readonly reason: string | null;
  readonly attempts: number;
  readonly createdAt: Instant;
  readonly dueAt: Instant;
  readonly settledAt: Instant | null;
  readonly lastError: string | null;
}

/** The deliveries of a purchase to all subscribers, in the order of its events. */
export async function deliveriesOfPurchase(sql: Queries, purchase: number): Promise<PurchaseDelivery[]> {
  const rows = await sql<(Omit<PurchaseDelivery, 'status' | 'reason'> & StatusRow)[]>`
    select e.sequence, e.type, s.name as subscriber, d.attempts, e.created_at, d.due_at,
      d.settled_at, ${sql.unsafe(STATUS_COLUMNS)}
    from purchase_watch_internal.events e
    join purchase_watch_internal.deliveries d on d.event = e.position
    join purchase_watch_internal.subscribers s on s.id = d.subscriber ${sql.unsafe(STATUS_JOINS)}
    where e.purchase = ${purchase} order by e.sequence, s.name`;
  return rows.map(withShownStatus);
}

/** Registered ids that follow a text in each site's index, for a person who mistyped or shortened an id. */
export const idsFrom = (sql: Queries, { prefix, limit }: { prefix: string; limit: number }) =>
  firstValues<string>(sql`
    select distinct p.id from purchase_watch_internal.sites s
    cross join lateral (
      select purchase_id as id from purchase_watch.purchases
      where site = s.name and purchase_id >= ${prefix} order by purchase_id limit ${limit}) p
    where starts_with(p.id, ${prefix}) limit ${limit}`);

/** A watched purchase of which no answer could be used or recorded for some time. */
export interface UnreadablePurchase {
  readonly site: string;
  readonly purchaseId: string;
  /** When a good answer was recorded last, or the registration. */
  readonly since: Instant;
  readonly lastError: string | null;
}

/** Unreadable purchases that are read at most for each site and state, and shown at most. */
const MOST_READ = 500;
const MOST_UNREADABLE = 20;

/** The latest unreadable purchases, without ids that the service never knew. */
export const unreadablePurchases = (sql: Queries, site: string | undefined): Promise<UnreadablePurchase[]> => sql`
    select q.site, q.purchase_id, coalesce(q.seen_at, q.watched_since) as since, q.last_error
    from (select distinct site, state, stuck from purchase_watch.purchase_totals
      where status = 'unreadable' and ${site === undefined ? sql`true` : sql`site = ${site}`}) g
    cross join lateral (
      select p.* from purchase_watch.purchases p
      where p.site = g.site and p.status = 'unreadable' and coalesce(p.state, -2147483648) = coalesce(g.state, -2147483648)
        and (p.stuck_since is not null) = g.stuck
      order by -p.id limit ${MOST_READ}) q
    where q.state is not null or q.unknowns < q.failures
    order by since desc, q.id limit ${MOST_UNREADABLE}`;

/** A stuck purchase, with its order as the shop or the service calls it. */
export interface StuckPurchase {
  readonly purchaseId: string;
  readonly site: string;
  readonly state: number;
  readonly order: string | null;
  readonly stateSince: Instant;
}

/** The stuck purchases that have stayed in their state for longest; the oldest of each site and state are looked up. */
export const longestStuck = (
  sql: Queries,
  { site, most }: { site: string | undefined; most: number },
): Promise<StuckPurchase[]> => sql<StuckPurchase[]>`
    select q.purchase_id, q.site, q.state, q.state_since,
      coalesce(q.reference, (select purchase_watch_internal.stored_text(d.fields, 'OrderReference')
        from purchase_watch_internal.purchase_details d where d.purchase = q.id)) as order
    from (select distinct site, state from purchase_watch.purchase_totals
      where stuck and state is not null and ${site === undefined ? sql`true` : sql`site = ${site}`}) g
    cross join lateral (
      select * from purchase_watch.purchases p
      where p.stuck_since is not null and p.site = g.site and p.state = g.state order by p.state_since limit ${most}) q
    order by q.state_since limit ${most}`;
