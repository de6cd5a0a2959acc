/** Reads the queues of all sites in as few statements as possible, and says what to read next. */
import type { Instant } from '../../../domain/values/time.ts';
import { type Cursor, dueSlot, LAST_SLOT, type QueueRead } from '../../../postgres/polling/queue.ts';
import type { Cursors } from './cursors.ts';
import type { Window } from './window.ts';

/** A read of purchases into a window, from one of its queues. */
export interface WindowRead extends QueueRead {
  readonly window: Window;
  readonly queue: Pick<Cursors, 'moved'>;
}

/** By site. */
export type Windows = ReadonlyMap<string, Window>;

const ROWS_PER_SHARD = 300;
/** Into an empty window, so that the first polls after a start do not wait for all that is due. */
const FIRST_ROWS_PER_SHARD = 10;
/** Fewer, so that a purchase that is registered meanwhile does not wait long for the statement. */
const BULK_ROWS_PER_SHARD = 50;
/** Room for fewer rows than this is worth a query only while no poll is due. */
const FEWEST_ROWS = 64;
/** The most that one statement reads: index ranges, and rows. */
const MOST_RANGES = 4_096;
const MOST_ROWS = 20_000;

/** Reads of many sites in as few statements as their ranges and rows allow, in order. */
export function inStatements(reads: readonly WindowRead[]): WindowRead[][] {
  const statements: WindowRead[][] = [];
  let ranges = 0;
  let rows = 0;
  for (const read of reads) {
    const { length } = read.cursors;
    ranges += length;
    rows += length * read.limit;
    if (statements.length === 0 || ranges > MOST_RANGES || rows > MOST_ROWS) {
      statements.push([]);
      ranges = length;
      rows = length * read.limit;
    }
    statements.at(-1)!.push(read);
  }
  return statements;
}

/** The next read of each site's queues that have something to read, and room for it. May evict what is due later. */
export function nextReads(windows: Windows, now: Instant): WindowRead[] {
  return [...windows].flatMap(([site, window]) =>
    [nextRead(site, window, now), nextBulkRead(site, window)].filter((read) => read !== null),
  );
}

/** Sets for each window whether something due has no room. Answers whether there is more to read at once. */
export function setPressures(windows: Windows, now: Instant): boolean {
  let isMore = false;
  for (const [site, window] of windows) {
    const isReadable = nextRead(site, window, now) !== null;
    window.setPressure(!isReadable && window.behind(dueSlot(now)).length > 0);
    isMore ||= isReadable || nextBulkRead(site, window) !== null;
  }
  return isMore;
}

/** Whether something due, or of a bulk registration, had no room at a site, and polls have made some. */
export function hasRoomAgain(windows: Windows): boolean {
  return [...windows.values()].some((window) => window.hasRoomAgain());
}

function nextRead(site: string, window: Window, now: Instant): WindowRead | null {
  const slot = dueSlot(now);
  // Purchases that are due already first, whatever their age; then those due in this slot; then those due soon.
  const through = [slot - 1, slot, slot + 1].find((each) => window.behind(each).length > 0);
  if (through === undefined) return null;
  const behind = window.behind(through);
  const room = through > slot ? window.roomAhead() : window.makeRoom(Math.max(behind.length, FEWEST_ROWS), through);
  // A few rows are not worth a query while polls are making room.
  const isWaiting = room < FEWEST_ROWS && (window.nextDue() ?? Number.POSITIVE_INFINITY) <= now;
  if (room === 0 || isWaiting) return null;
  const cursors = furthestBehind(behind, room);
  const most = window.isEmpty() ? FIRST_ROWS_PER_SHARD : ROWS_PER_SHARD;
  return { window, queue: window, site, cursors, through, limit: Math.min(Math.floor(room / cursors.length), most) };
}

/** All rows of the queue are due. Once it is read to its end, it costs nothing until a bulk registration adds to it. */
function nextBulkRead(site: string, window: Window): WindowRead | null {
  const room = window.roomForBulk();
  const behind = room === 0 ? [] : window.bulk.behind(LAST_SLOT);
  if (behind.length === 0) return null;
  const cursors = furthestBehind(behind, room);
  const limit = Math.min(Math.floor(room / cursors.length), BULK_ROWS_PER_SHARD);
  return { window, queue: window.bulk, site, cursors, through: LAST_SLOT, limit };
}

/** With little room, only some shards: those that are furthest behind. */
function furthestBehind(behind: readonly Cursor[], room: number): readonly Cursor[] {
  return behind.toSorted((a, b) => a.slot - b.slot || a.id - b.id).slice(0, room);
}
