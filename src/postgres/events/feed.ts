/** The event feed: all events in an order into which nothing is inserted later, page by page. */

import type { EventType } from '../../domain/events/system-event-types.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay } from '../../runtime/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';

/** A place in the feed: events after it, in the order of (era, xid, position), are yet to be read. */
export interface FeedPlace {
  readonly era: number;
  readonly xid: bigint;
  readonly position: number;
}

/** Up to where the feed is complete. */
export interface FeedHorizon {
  /** Every transaction before this one has ended. */
  readonly place: FeedPlace;
  /** Above every transaction that has ended: no cursor of this database lies beyond this number. */
  readonly end: FeedPlace;
}

export interface FedEvent {
  readonly place: FeedPlace;
  readonly type: string;
  /** The body as it was announced, byte for byte. */
  readonly body: string;
}

/** Before the oldest event. */
export const FEED_START: FeedPlace = { era: 0, xid: 0n, position: 0 };

const HIGHEST_ERA = 32_767;
const HIGHEST_XID = 2n ** 64n - 1n;

/** A place as callers keep it. Callers know nothing of its content, which may change. */
export function feedCursor({ era, xid, position }: FeedPlace): string {
  return Buffer.from(`f1:${era}.${xid}.${position}`).toString('base64url');
}

/** The place of a cursor; null for any other text. */
export function placeOfCursor(cursor: string): FeedPlace | null {
  const found = /^f1:(\d{1,5})\.(\d{1,20})\.(\d{1,16})$/.exec(Buffer.from(cursor, 'base64url').toString());
  if (found === null) return null;
  const place = { era: Number(found[1]), xid: BigInt(found[2]!), position: Number(found[3]) };
  const isPossible = place.era <= HIGHEST_ERA && place.xid <= HIGHEST_XID && Number.isSafeInteger(place.position);
  return isPossible && feedCursor(place) === cursor ? place : null;
}

/** Negative when `a` comes first. */
export function comparePlaces(a: FeedPlace, b: FeedPlace): number {
  if (a.era !== b.era) return a.era - b.era;
  if (a.xid !== b.xid) return a.xid < b.xid ? -1 : 1;
  return a.position - b.position;
}

/** Between two looks whether the writers of an older era have ended. */
const LOOK_AGAIN: Milliseconds = 50;
/** How often the era is settled again without a wake-up. A takeover by a standby breaks the listener's connection, which wakes the loop, unless the break went unnoticed. */
const SETTLED_REST: Milliseconds = 60_000;

/**
 * Begins a new era of the feed when the database was moved or set back since the last start; answers the era. Waits for
 * transactions that began before, and needs no lock on the events.
 */
export async function settleFeedEra(sql: Queries): Promise<number> {
  for (;;) {
    const era = await settleOnce(sql);
    if (era !== null) return era;
    await delay(LOOK_AGAIN);
  }
}

/**
 * A loop's tick that settles the era again, because a standby may have taken over while the daemon runs. Until the era is
 * settled the feed shows nothing new, so the loop tries until it succeeds, and its failure shows in /readyz.
 */
export function feedEraTick(sql: Queries): () => Promise<Milliseconds> {
  return async () => ((await settleOnce(sql)) === null ? LOOK_AGAIN : SETTLED_REST);
}

const settleOnce = (sql: Queries) => firstValue<number | null>(sql`select purchase_watch_internal.settle_feed_era() as era`);

/** Asks how far the feed is complete, for pages whose query begins after the answer. */
export async function readHorizon(sql: Queries): Promise<FeedHorizon> {
  const [row] = await sql<[{ era: number; xid: string; end: string }]>`
    select era, purchase_watch_internal.feed_horizon()::text as xid, pg_snapshot_xmax(pg_current_snapshot())::text as end
    from purchase_watch_internal.feed_era`;
  const at = (xid: string): FeedPlace => ({ era: row.era, xid: BigInt(xid), position: 0 });
  return { place: at(row.xid), end: at(row.end) };
}

/** Where an event of one of these types stands, or null. */
export async function placeOfEvent(sql: Queries, id: string, types: readonly EventType[]): Promise<FeedPlace | null> {
  const [row] = await sql<{ era: number; xid: string; position: number }[]>`
    select era, xid::text, position from purchase_watch_internal.events where id = ${id} and type = any(${types}::text[])`;
  return row === undefined ? null : { ...row, xid: BigInt(row.xid) };
}

export interface FeedQuery {
  readonly after: FeedPlace;
  readonly types: readonly EventType[];
  readonly limit: number;
  /** Of bodies: a page ends with the event that passes it. */
  readonly bytes: number;
  /** The horizon that was read before the page. */
  readonly horizon: FeedHorizon;
}

/** The next events of some types, and whether there is nothing else before the horizon; reads one index entry and one row for each. */
export async function readFeed(sql: Queries, { after, types, limit, bytes, horizon }: FeedQuery) {
  const { place } = horizon;
  const rows = await sql<(FedRow & { readonly found: number })[]>`
    select era, xid::text, position, type, body, found from (
      select k.era, k.xid, k.position, k.type, b.body, count(*) over ()::integer as found,
        sum(octet_length(b.body)) over (order by k.era, k.xid, k.position) - octet_length(b.body) as bytes_before
      from purchase_watch_internal.feed_page(${types}::text[], ${after.era}::smallint, ${String(after.xid)}::xid8,
        ${after.position}::bigint, ${place.era}::smallint, ${String(place.xid)}::xid8, ${limit}::integer) k
      -- The offset keeps the planner from a join with the whole table.
      cross join lateral (select e.body from purchase_watch_internal.events e where e.position = k.position offset 0) b) page
    where bytes_before < ${bytes}
    order by page.era, page.xid, page.position`;
  const events = rows.map(fedEvent);
  const found = rows[0]?.found ?? 0;
  return { events, isAll: found < limit && found === rows.length };
}

/** The latest events of some types below the horizon, oldest first; reads at most `limit` index entries of each type. */
export async function readLatest(
  sql: Queries,
  { types, limit, horizon: { place } }: Pick<FeedQuery, 'types' | 'limit' | 'horizon'>,
): Promise<readonly FedEvent[]> {
  const rows = await sql<FedRow[]>`
    select r.era, r.xid::text, r.position, r.type, r.body from unnest(${types}::text[]) as w (type)
    cross join lateral (
      select e.era, e.xid, e.position, e.type, e.body from purchase_watch_internal.events e
      where e.type = w.type and (e.era, e.xid) < (${place.era}::smallint, ${String(place.xid)}::xid8)
      order by e.type desc, e.era desc, e.xid desc, e.position desc limit ${limit}) r
    order by r.era desc, r.xid desc, r.position desc limit ${limit}`;
  return rows.reverse().map(fedEvent);
}

interface FedRow extends Omit<FeedPlace, 'xid'>, Omit<FedEvent, 'place'> {
  readonly xid: string;
}

const fedEvent = ({ era, xid, position, type, body }: FedRow): FedEvent => ({
  place: { era, xid: BigInt(xid), position },
  type,
  body,
});

/** Above every place. */
const FEED_END: FeedPlace = { era: HIGHEST_ERA, xid: HIGHEST_XID, position: 0 };

/** Whether committed events of these types wait behind the horizon. No notification comes when the transaction that they wait for is rolled back. */
export async function isFeedHeld(
  sql: Queries,
  { types, horizon: { place, end } }: Pick<FeedQuery, 'types' | 'horizon'>,
): Promise<boolean> {
  return comparePlaces(place, end) < 0 && hasEvents(sql, { types, after: place, before: FEED_END });
}

/** Whether there are events of these types after one place and before another. */
export const hasEvents = (
  sql: Queries,
  { types, after, before }: { readonly types: readonly EventType[]; readonly after: FeedPlace; readonly before: FeedPlace },
) =>
  firstValue<boolean>(sql`
    select exists (select from purchase_watch_internal.feed_page(${types}::text[], ${after.era}::smallint, ${String(after.xid)}::xid8,
      ${after.position}::bigint, ${before.era}::smallint, ${String(before.xid)}::xid8, 1)) as found`);
