/** Pages of rows for programs outside, each kind in an order into which no row is inserted later. */
import postgres, { type RowList } from 'postgres';
import type { Queries } from '../connection/database.ts';
import type { FeedHorizon, FeedPlace } from '../events/feed.ts';

/** The kinds of rows that can be exported, by the names that a command gives them. */
export const EXPORTED = ['transitions', 'stays', 'incidents', 'deliveries'] as const;
export type Exported = (typeof EXPORTED)[number];

/** Columns by name, in their order; times as ISO texts in UTC. */
export type ExportRow = Readonly<Record<string, string | number | boolean | null>>;

/** Rows with their places; `row` is null at a place that has none. */
export interface ExportPage<Place> {
  /** Names of the columns, also where there is no row. The first one holds the time by which rows are chosen. */
  readonly columns: readonly string[];
  readonly rows: readonly { readonly place: Place; readonly row: ExportRow | null }[];
}

export interface ExportQuery {
  readonly after: FeedPlace;
  readonly horizon: FeedHorizon;
  /** Events at most; of each, all rows come. */
  readonly limit: number;
}

/** The rows of a statement that answers a place in its first columns, then the row under the names that it has in SQL. `always`: a field that no row lacks. */
function pageOf<Row extends ExportRow, Place>(
  found: RowList<Row[]>,
  { placed, placeOf, always }: { placed: number; placeOf: (row: Row) => Place; always: string },
): ExportPage<Place> {
  const columns = found.columns.slice(placed).map(({ name }) => [postgres.fromCamel(name), name] as const);
  return {
    columns: columns.map(([column]) => column),
    rows: found.map((row) => ({
      place: placeOf(row),
      row: row[always] === null ? null : Object.fromEntries(columns.map(([column, field]) => [column, row[field]!])),
    })),
  };
}

type Placed = ExportRow & { readonly era: number; readonly xid: string; readonly position: number };

const pageOfFeed = (found: RowList<Placed[]>, always: string): ExportPage<FeedPlace> =>
  pageOf(found, { placed: 3, placeOf: ({ era, xid, position }) => ({ era, xid: BigInt(xid), position }), always });

const iso = (sql: Queries, time: string) => sql`to_char(${sql(time)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The next places of events of some types; the offset keeps the planner from joins with whole tables. */
const feedPage = (sql: Queries, types: readonly string[], { after, horizon: { place }, limit }: ExportQuery) => sql`(
    select k.era, k.xid, k.position, e.id, e.type, e.site, e.purchase, e.sequence, e.created_at
    from purchase_watch_internal.feed_page(${types}::text[], ${after.era}::smallint, ${String(after.xid)}::xid8,
      ${after.position}::bigint, ${place.era}::smallint, ${String(place.xid)}::xid8, ${limit}::integer) k
    cross join lateral (select * from purchase_watch_internal.events e where e.position = k.position offset 0) e) e`;

const CHANGES = ['purchase.state_changed'];

/** Changes of state. */
export async function transitionsPage(sql: Queries, query: ExportQuery): Promise<ExportPage<FeedPlace>> {
  const found = await sql<Placed[]>`
    select e.era, e.xid::text, e.position, ${iso(sql, 't.not_after')} as not_after, ${iso(sql, 't.not_before')} as not_before, p.site,
      p.purchase_id, e.sequence, e.id as event_id, t.from_state, purchase_watch_internal.state_name(t.from_state) as from_name,
      t.to_state, purchase_watch_internal.state_name(t.to_state) as to_name
    from ${feedPage(sql, CHANGES, query)}
    left join lateral (select * from purchase_watch_internal.purchase_transitions t
      where t.purchase = e.purchase and t.sequence = e.sequence offset 0) t on true
    left join lateral (select p.purchase_id, p.site from purchase_watch.purchases p where p.id = e.purchase offset 0) p on true
    order by e.era, e.xid, e.position`;
  return pageOfFeed(found, 'toState');
}

/** Stays that ended: at the place of the change that ended each. */
export async function staysPage(sql: Queries, query: ExportQuery): Promise<ExportPage<FeedPlace>> {
  const found = await sql<Placed[]>`
    select e.era, e.xid::text, e.position, ${iso(sql, 't.not_after')} as left_at, ${iso(sql, 'f.not_after')} as entered_at, p.site,
      p.purchase_id, f.sequence, t.from_state as state, purchase_watch_internal.state_name(t.from_state) as state_name, t.to_state,
      purchase_watch_internal.state_name(t.to_state) as to_name, extract(epoch from t.not_after - f.not_after)::float8 as seconds,
      case when t.sequence > f.sequence + 1 then (select ${iso(sql, 's.created_at')} from purchase_watch_internal.events s
        where s.purchase = e.purchase and s.sequence > f.sequence and s.sequence < t.sequence and s.type = 'purchase.stuck'
        order by s.sequence limit 1) end as stuck_at
    from ${feedPage(sql, CHANGES, query)}
    left join lateral (select * from purchase_watch_internal.purchase_transitions t
      where t.purchase = e.purchase and t.sequence = e.sequence offset 0) t on true
    left join lateral (select * from purchase_watch_internal.purchase_transitions f
      where f.purchase = e.purchase and f.sequence = t.from_sequence and f.to_state = t.from_state offset 0) f on true
    left join lateral (select p.purchase_id, p.site from purchase_watch.purchases p where p.id = e.purchase offset 0) p on true
    order by e.era, e.xid, e.position`;
  return pageOfFeed(found, 'sequence');
}

/** Deliveries as they stand now: at the place of the event of each. What receivers answered is a text of theirs, and stays here. */
export async function deliveriesPage(sql: Queries, types: readonly string[], query: ExportQuery): Promise<ExportPage<FeedPlace>> {
  const found = await sql<Placed[]>`
    select e.era, e.xid::text, e.position, ${iso(sql, 'e.created_at')} as created_at, nullif(e.site, '') as site, p.purchase_id, e.sequence,
      e.id as event_id, e.type, d.subscriber, d.status, d.attempts, ${iso(sql, 'd.due_at')} as due_at, ${iso(sql, 'd.settled_at')} as settled_at,
      d.took_ms, d.http_status::integer as http_status
    from ${feedPage(sql, types, query)}
    left join lateral (select d.status, d.attempts, d.due_at, d.settled_at, d.took_ms, d.http_status, s.name as subscriber from purchase_watch_internal.deliveries d
      join purchase_watch_internal.subscribers s on s.id = d.subscriber where d.event = e.position offset 0) d
      on true
    left join lateral (select p.purchase_id from purchase_watch.purchases p where p.id = e.purchase offset 0) p on true
    order by e.era, e.xid, e.position, d.subscriber`;
  return pageOfFeed(found, 'subscriber');
}

/** A place among incidents: milliseconds of the last opening, reopening or end, and the id. */
export interface IncidentCursor {
  readonly at: number;
  readonly id: string;
}

/** Incidents that opened, opened again or ended after a place, as they are now. Who acknowledged or answered, and notes, stay here. */
export async function incidentsPage(sql: Queries, after: IncidentCursor, limit: number): Promise<ExportPage<IncidentCursor>> {
  const found = await sql<({ changed: number; incidentId: string } & ExportRow)[]>`
    select trunc(extract(epoch from i.changed_at) * 1000)::float8 as changed, ${iso(sql, 'i.opened_at')} as opened_at,
      ${iso(sql, 'i.ended_at')} as ended_at, ${iso(sql, 'i.reopened_at')} as reopened_at, ${iso(sql, 'i.since')} as since, i.id as incident_id, i.site, i.kind,
      i.state, purchase_watch_internal.state_name(i.state) as state_name, i.subscriber, i.parent, i.count, i.peak, i.reminders,
      ${iso(sql, 'i.acknowledged_at')} as acknowledged_at, i.answer_cause
    from (select *, greatest(opened_at, reopened_at, ended_at) as changed_at from purchase_watch_internal.incidents) i
    where (trunc(extract(epoch from i.changed_at) * 1000)::float8, i.id) > (${after.at}::float8, ${after.id}::text)
    order by 1, i.id limit ${limit}::integer`;
  return pageOf(found, {
    placed: 1,
    placeOf: ({ changed, incidentId }) => ({ at: changed, id: incidentId }),
    always: 'incidentId',
  });
}
