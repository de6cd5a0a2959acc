/** Rows for programs outside: all of a kind, or those that came since the last time. */

import { PEOPLE_EVENTS } from '../../domain/events/people-event-types.ts';
import { EVENT_TYPES } from '../../domain/events/system-event-types.ts';
import { AppError } from '../../domain/values/errors.ts';
import { type Instant, isoTime } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { FEED_START, type FeedPlace, feedCursor, placeOfCursor, readHorizon } from '../../postgres/events/feed.ts';
import {
  deliveriesPage,
  type Exported,
  type ExportPage,
  type ExportRow,
  type IncidentCursor,
  incidentsPage,
  staysPage,
  transitionsPage,
} from '../../postgres/reports/export.ts';

export { EXPORTED } from '../../postgres/reports/export.ts';

interface ExportWanted {
  readonly what: Exported;
  /** The cursor of the last row that is known; null: from the oldest that is kept. */
  readonly after: string | null;
  readonly site: string | null;
  /** Rows whose first column lies in this time alone. */
  readonly from: Instant | null;
  readonly to: Instant | null;
}

/** Events, or incidents, in one statement: more at once are no faster, and take memory. */
const AT_ONCE = 1_000;
const FIRST_INCIDENT: IncidentCursor = { at: 0, id: '' };
const ALL_TYPES = [...EVENT_TYPES, ...Object.keys(PEOPLE_EVENTS)];

/**
 * Pages of rows, up to what is committed when the first one is asked for; the first page comes also without rows, for its columns.
 * `cursor` is that of the last row up to here; null when there was none, and no cursor was given.
 * Throws AppError `invalid` for a cursor of another kind.
 */
export async function* exportRows(sql: Sql, wanted: ExportWanted) {
  const chosen = chooser(wanted);
  let { after: cursor } = wanted;
  for await (const { columns, rows } of pagesOf(sql, wanted)) {
    const found = rows.filter(({ row }) => row !== null && chosen(row, columns[0]!)) as { place: string; row: ExportRow }[];
    cursor = found.at(-1)?.place ?? cursor;
    yield { columns, rows: found.map(({ row }) => row), cursor };
  }
}

function chooser({ site, from, to }: ExportWanted): (row: ExportRow, timeColumn: string) => boolean {
  const [first, end] = [from === null ? '' : isoTime(from), to === null ? '~' : isoTime(to)];
  return (row, timeColumn) => {
    const at = row[timeColumn] as string;
    return (site === null || row.site === site) && at >= first && at < end;
  };
}

function pagesOf(sql: Sql, { what, after }: ExportWanted): AsyncGenerator<ExportPage<string>> {
  if (what === 'incidents') {
    const start = after === null ? FIRST_INCIDENT : incidentOf(after);
    return pages(known(start, after), incidentCursor, (place) => incidentsPage(sql, place, AT_ONCE));
  }
  const start = known(after === null ? FEED_START : placeOfCursor(after), after);
  const horizon = readHorizon(sql);
  return pages(start, feedCursor, async (place: FeedPlace) => {
    const query = { after: place, horizon: await horizon, limit: AT_ONCE };
    if (what === 'transitions') return transitionsPage(sql, query);
    return what === 'stays' ? staysPage(sql, query) : deliveriesPage(sql, ALL_TYPES, query);
  });
}

/** A page has the rows of as many places as were asked for, at least, or it is the last one. */
async function* pages<Place>(
  start: Place,
  cursorOf: (place: Place) => string,
  read: (after: Place) => Promise<ExportPage<Place>>,
): AsyncGenerator<ExportPage<string>> {
  for (let place = start, isMore = true; isMore; ) {
    const { columns, rows } = await read(place);
    yield { columns, rows: rows.map((each) => ({ place: cursorOf(each.place), row: each.row })) };
    isMore = rows.length >= AT_ONCE;
    place = rows.at(-1)?.place ?? place;
  }
}

function known<Place>(place: Place | null, cursor: string | null): Place {
  if (place !== null) return place;
  throw new AppError(
    'invalid',
    `the cursor ${JSON.stringify(cursor)} is not one of such an export; leave it out to begin with the oldest row`,
  );
}

function incidentCursor({ at, id }: IncidentCursor): string {
  return Buffer.from(`i1:${at}.${id}`).toString('base64url');
}

function incidentOf(cursor: string): IncidentCursor | null {
  const found = /^i1:(\d{1,15})\.(inc_\w{1,60})$/.exec(Buffer.from(cursor, 'base64url').toString());
  return found === null ? null : { at: Number(found[1]), id: found[2]! };
}
