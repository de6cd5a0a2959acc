/** Deliveries as people and programs read them. */

import { type DeliveryStatus, type StoredStatus, shownStatus } from '../../domain/deliveries/delivery-status.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { firstRow } from '../connection/rows.ts';
import { answerOf, type ReceiverAnswer } from './answers.ts';

export interface DeliveryRow {
  readonly id: number;
  readonly subscriber: string;
  readonly status: DeliveryStatus;
  /** Why the delivery is parked or suppressed. */
  readonly reason: string | null;
  /** Until when the delivery is parked; null when that is not known or it is not parked. */
  readonly parkedUntil: Instant | null;
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
  /** Whether a replay sent the delivery again: then it goes out after new ones. */
  readonly replayed: boolean;
  readonly lastError: string | null;
}

export interface AttemptRow {
  readonly number: number;
  /** When the attempt ended. */
  readonly at: Instant;
  readonly tookMs: number;
  readonly httpStatus: number | null;
  /** `delivered`, or the stable word for what went wrong. */
  readonly outcome: string;
  /** On whose side the attempt failed; `ours` is the daemon's. Null when the attempt delivered, and where no side was noted. */
  readonly fault: 'receiver' | 'ours' | null;
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

/** The columns that decide the status of a delivery `d` of a subscriber `s`; `h` is the subscriber's health, `f` the attempt in flight. */
export const STATUS_COLUMNS = `
  d.status as stored, f.since as in_flight_since, s.configured, s.status as subscriber_status, s.status_reason, h.failures, h.paused_until,
  h.last_error as health_error, d.last_error, now() as now`;
/** The joins that `STATUS_COLUMNS` needs, after `d` and `s`. */
export const STATUS_JOINS = `
  left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id
  left join purchase_watch_internal.deliveries_in_flight() f on f.delivery = d.id`;

export interface StatusRow {
  readonly stored: StoredStatus;
  readonly inFlightSince: Instant | null;
  readonly configured: boolean;
  readonly subscriberStatus: string;
  readonly statusReason: string | null;
  readonly failures: number | null;
  readonly pausedUntil: Instant | null;
  readonly healthError: string | null;
  readonly lastError: string | null;
  readonly now: Instant;
}

/** A row with the shown status and reason in place of `STATUS_COLUMNS`. */
export function withShownStatus<Row extends StatusRow>(row: Row) {
  const { stored, inFlightSince, configured, subscriberStatus, statusReason, failures, pausedUntil, healthError, now, ...rest } =
    row;
  const health = failures === null ? null : { failures, failingSince: null, pausedUntil, lastError: healthError };
  const subscriber = { configured, status: subscriberStatus, statusReason, health };
  const shown = shownStatus({ stored, inFlightSince, subscriber, lastError: rest.lastError }, now);
  const isPaused = configured && subscriberStatus === 'active' && pausedUntil !== null && pausedUntil > now;
  const parkedUntil = shown.status === 'parked' && isPaused ? pausedUntil : null;
  // A suppressed delivery stores the reason as its error.
  return { ...rest, ...shown, parkedUntil, lastError: stored === 'suppressed' ? null : rest.lastError };
}

const COLUMNS = `
  d.id, s.name as subscriber, e.id as event_id, e.type, e.site, e.sequence, p.purchase_id, e.created_at, d.due_at,
  d.settled_at, d.attempts, d.rank = 2 as replayed, ${STATUS_COLUMNS}`;

const JOINED = `
  join purchase_watch_internal.subscribers s on s.id = d.subscriber
  join purchase_watch_internal.events e on e.position = d.event
  left join purchase_watch.purchases p on p.id = e.purchase ${STATUS_JOINS}`;

type Row = Omit<DeliveryRow, 'status' | 'reason' | 'parkedUntil'> & StatusRow;

/** A page of deliveries, newest first. `before` is the last id of the page before. */
export async function listDeliveries(
  sql: Queries,
  { filter, before, limit }: { filter: DeliveryFilter; before: number | null; limit: number },
): Promise<DeliveryRow[]> {
  const rows = await sql<Row[]>`
    select ${sql.unsafe(COLUMNS)} from (${chosen(sql, filter, before, limit)}) d ${sql.unsafe(JOINED)} order by d.id desc`;
  return rows.map(withShownStatus);
}

/** The condition that the deliveries of a subscriber `s` are parked: see `parkedBecause` in domain/deliveries/subscriber-state.ts. */
const isParked = (sql: Queries): Fragment => sql`
  (not s.configured or s.status <> 'active'
    or exists (select from purchase_watch_internal.subscriber_health h where h.subscriber = s.id and h.paused_until is not null))`;
const isInFlight = (sql: Queries): Fragment =>
  sql`d.id = any(array(select f.delivery from purchase_watch_internal.deliveries_in_flight() f))`;

/** The condition that a delivery `d` of a subscriber `s` is shown with a status: see `shownStatus` in domain/deliveries/delivery-status.ts. */
function being(sql: Queries, status: DeliveryStatus | undefined): Fragment {
  if (status === undefined) return sql`true`;
  if (status === 'in_flight') return sql`(d.status = 'pending' and ${isInFlight(sql)})`;
  if (status === 'pending') return sql`(d.status = 'pending' and not ${isInFlight(sql)} and not ${isParked(sql)})`;
  if (status === 'parked') return sql`(d.status = 'pending' and not ${isInFlight(sql)} and ${isParked(sql)})`;
  return sql`d.status = ${status}`;
}

/** Few rows: the events of one purchase, and of each one delivery per subscriber. */
function ofEvents(sql: Queries, { status, subscriber, purchase, site, event }: DeliveryFilter): Fragment {
  const ofSite = site === undefined ? sql`p.site in (select name from purchase_watch_internal.sites)` : sql`p.site = ${site}`;
  const ofPurchase = sql`e.purchase in (
    select p.id from purchase_watch.purchases p where p.purchase_id = ${purchase ?? null} and ${ofSite})`;
  return sql`
    select d.* from purchase_watch_internal.events e join purchase_watch_internal.deliveries d on d.event = e.position
    join purchase_watch_internal.subscribers s on s.id = d.subscriber
    where ${event === undefined ? sql`true` : sql`e.id = ${event}`} and ${purchase === undefined ? sql`true` : ofPurchase}
      and ${ofSubscriber(sql, subscriber)} and ${being(sql, status)}`;
}

const ofSubscriber = (sql: Queries, name: string | undefined): Fragment =>
  name === undefined ? sql`true` : sql`s.name = ${name}`;

/** The rows of a page. Each branch reads a bounded part of an index, however many rows there are. */
function chosen(sql: Queries, filter: DeliveryFilter, before: number | null, limit: number): Fragment {
  const { status, subscriber } = filter;
  const earlier = before === null ? sql`true` : sql`d.id < ${before}`;
  const of = ofSubscriber(sql, subscriber);
  if (filter.event !== undefined || filter.purchase !== undefined) {
    return sql`${ofEvents(sql, filter)} and ${earlier} order by d.id desc limit ${limit}`;
  }
  if (status === 'in_flight') {
    // Few rows: as many as the replicas have sockets. Each delivery is looked up by its id; the limit keeps the planner from
    // reading all pending deliveries of the subscriber instead.
    return sql`
      select d.* from purchase_watch_internal.deliveries_in_flight() f
      cross join lateral (select d.* from purchase_watch_internal.deliveries d where d.id = f.delivery limit 1) d
      join purchase_watch_internal.subscribers s on s.id = d.subscriber
      where d.status = 'pending' and ${earlier} and ${of} order by d.id desc limit ${limit}`;
  }
  if (status === undefined && subscriber === undefined) {
    return sql`select d.* from purchase_watch_internal.deliveries d where ${earlier} order by d.id desc limit ${limit}`;
  }
  // Within a subscriber and a stored status the index has the order of the list, so the first rows of all groups together
  // hold this page. All pending deliveries of a subscriber are parked, or none is, except for the few in flight.
  const stored = status === undefined ? STORED : status === 'parked' ? ['pending'] : [status];
  const shown = status === 'pending' ? sql`not ${isParked(sql)}` : status === 'parked' ? isParked(sql) : sql`true`;
  const still = status === 'pending' || status === 'parked' ? sql`not ${isInFlight(sql)}` : sql`true`;
  return sql`
    select d.* from purchase_watch_internal.subscribers s
    cross join unnest(${stored}::text[]) as w (status)
    cross join lateral (
      select d.* from purchase_watch_internal.deliveries d
      where d.subscriber = s.id and d.status = w.status and ${before === null ? sql`true` : sql`d.id + 0 < ${before}`} and ${still}
      order by d.id + 0 desc limit ${limit}) d
    where ${of} and ${shown} order by d.id desc limit ${limit}`;
}

const STORED: readonly StoredStatus[] = ['pending', 'delivered', 'exhausted', 'suppressed'];

/** A delivery with its attempts, first to last, and the whole answer to the last that failed, as far as it is kept. */
export interface DeliveryWithAttempts extends DeliveryRow {
  readonly tries: readonly AttemptRow[];
  readonly answer: ReceiverAnswer | null;
}

/** One delivery with its attempts; null when there is none. */
export async function findDelivery(sql: Queries, id: number): Promise<DeliveryWithAttempts | null> {
  const [row] = await sql<Row[]>`
    select ${sql.unsafe(COLUMNS)} from purchase_watch_internal.deliveries d ${sql.unsafe(JOINED)} where d.id = ${id}`;
  if (row === undefined) return null;
  // Attempts that failed are rows; the delivery's own row holds the attempt that delivered.
  const tries = await sql<AttemptRow[]>`
    select number, at, took_ms, http_status, outcome, fault, excerpt
    from (
      select number, at, took_ms, http_status, outcome, fault, excerpt from purchase_watch_internal.attempts where delivery = ${id}
      union all
      select attempts, settled_at, took_ms, http_status, 'delivered', null, excerpt from purchase_watch_internal.deliveries
      where id = ${id} and status = 'delivered' and took_ms is not null) a
    order by number`;
  return { ...withShownStatus(row), tries, answer: await answerOf(sql, id) };
}

/** The delivery that must be settled first in the lane of a pending delivery: that delivery, or one before it; null when it is settled. */
export const laneHead = (sql: Queries, id: number) =>
  firstRow(sql<{ id: number; dueAt: Instant }[]>`
    select f.id, f.due_at
    from purchase_watch_internal.deliveries d
    join purchase_watch_internal.deliveries f on f.subscriber = d.subscriber and f.lane = d.lane and f.status = 'pending'
    where d.id = ${id} and d.status = 'pending' order by f.rank = 2, f.event limit 1`);

/** How many attempts were made for a delivery, and whether it is settled. */
export async function progressOf(sql: Queries, id: number): Promise<{ attempts: number; settled: boolean }> {
  const [row] = await sql<{ attempts: number; settled: boolean }[]>`
    select attempts, settled_at is not null as settled from purchase_watch_internal.deliveries where id = ${id}`;
  return row ?? { attempts: 0, settled: false };
}
