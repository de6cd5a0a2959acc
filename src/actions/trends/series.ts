/** Counts by hour as pieces of a period and as cells of a table, by the clocks of a zone. */

import { type NamedState, namedState } from '../../domain/purchases/states.ts';
import { boundsOf } from '../../domain/stays/dwell.ts';
import { addedShares, shareOf } from '../../domain/trends/compare.ts';
import type { Period, TrendRange } from '../../domain/trends/period.ts';
import { PIECE_LENGTHS, piecesOf, placeIn, weekHourOf, type ZoneTime } from '../../domain/trends/pieces.ts';
import { HOUR, type Instant, isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { EndedInHour } from '../../postgres/trends/read.ts';

/** The periods that are compared, and how the zone shows them. */
export interface SeriesTime {
  readonly range: TrendRange;
  readonly present: Period;
  readonly before: Period;
  readonly zone: ZoneTime;
}

/** A cell of the table of hours. */
interface Cell {
  /** The local day; null in tables of weekdays and of states. */
  readonly day: string | null;
  /** 1: Monday. */
  readonly weekday: number | null;
  readonly state: NamedState | null;
}

/** Customers by hour of the day: of 24 hours for each state that was waited in last, of 7 days for each day, of more for each weekday. */
export function cellsOf(
  hours: readonly (EndedInHour & { readonly way?: number | null })[],
  { range, zone: { local }, present }: SeriesTime,
  incidents: readonly OpenTime[],
) {
  const isOpenIn = openHours(incidents, present);
  const rowOf = (hour: Instant, way: number | null): Cell => {
    const at = local(hour);
    const none = { day: null, weekday: null, state: null };
    if (range === '24h') return { ...none, state: way === null ? null : namedState(way) };
    if (range === '7d') return { ...none, day: dateOf(at) };
    return { ...none, weekday: weekHourOf(at).weekday };
  };
  const keyOf = ({ hour, way = null }: (typeof hours)[number]): string | number => {
    const number = Math.floor(local(hour) / HOUR);
    if (range === '24h') return `${way} ${number % 24}`;
    return range === '7d' ? number : number % (7 * 24);
  };
  return [...Map.groupBy(hours, keyOf).values()].map((counts) => {
    const [{ hour, way = null }] = counts as [(typeof hours)[number]];
    const { customers, paid } = customersIn(counts.filter((each) => isOpenIn.has(each.hour)));
    return {
      ...rowOf(hour, way),
      hour: weekHourOf(local(hour)).hour,
      ...customersIn(counts),
      notPaidInIncidents: customers - paid,
    };
  });
}

interface OpenTime {
  readonly since: string;
  /** Null: it is still open. */
  readonly endedAt: string | null;
}

/** The hours of a period in which an incident was open. */
function openHours(incidents: readonly OpenTime[], { from, to }: Period): ReadonlySet<Instant> {
  const open = new Set<Instant>();
  for (const { since, endedAt } of incidents) {
    const end = Math.min(to, endedAt === null ? to : Date.parse(endedAt));
    for (let hour = Math.floor(Math.max(from, Date.parse(since)) / HOUR) * HOUR; hour < end; hour += HOUR) open.add(hour);
  }
  return open;
}

/** Customers and those who paid; `gone`: how many of them no list has any more. */
function customersIn(hours: readonly EndedInHour[]) {
  const of = addedShares(hours);
  return { ...of, share: shareOf(of), gone: hours.reduce((sum, { gone }) => sum + gone, 0) };
}

/** Customers of each hour, or of each day of a longer range, beside those of the time before. */
export function countsOf(hours: readonly EndedInHour[], before: readonly EndedInHour[], time: SeriesTime) {
  return series(hours, before, { ...time, length: PIECE_LENGTHS[time.range].counts });
}

/** Shares of each day, or of every three hours of a day, beside those of the time before. */
export function sharesOf(hours: readonly EndedInHour[], before: readonly EndedInHour[], time: SeriesTime) {
  return series(hours, before, { ...time, length: PIECE_LENGTHS[time.range].shares });
}

function series(
  hours: readonly EndedInHour[],
  earlier: readonly EndedInHour[],
  { present, before, zone, length }: SeriesTime & { length: Milliseconds },
) {
  const [at, then] = [placeIn(present, length, zone.local), placeIn(before, length, zone.local)];
  const now = Map.groupBy(hours, ({ hour }) => at(hour));
  const was = Map.groupBy(earlier, ({ hour }) => then(hour));
  return piecesOf(present, length, zone).map(({ from, to }, place) => {
    const { customers, share } = customersIn(was.get(place) ?? []);
    return {
      from: isoTime(from),
      to: isoTime(to),
      ...customersIn(now.get(place) ?? []),
      before: { customers, share },
    };
  });
}

/** The median and the 95th percentile of waiting in each piece: the upper bounds of their buckets; null for too few. */
export function waitingOf(waited: readonly { place: number; bucket: number; customers: number }[], pieces: readonly Period[]) {
  const byPiece = Map.groupBy(waited, ({ place }) => place);
  return pieces.map(({ from, to }, place) => {
    const counts = byPiece.get(place) ?? [];
    const customers = counts.reduce((sum, each) => sum + each.customers, 0);
    const isFew = shareOf({ customers, paid: 0 }) === null;
    const below = (share: number) => (isFew ? null : boundAt(counts, share, (bucket) => boundsOf(bucket).below));
    return { from: isoTime(from), to: isoTime(to), customers, medianMs: below(0.5), p95Ms: below(0.95) };
  });
}

/** The upper bound of the bucket up to which a share of all counts lies, in whole milliseconds. */
export function boundAt(
  counts: readonly { bucket: number; customers: number }[],
  share: number,
  below: (bucket: number) => Milliseconds,
): Milliseconds {
  const ordered = counts.toSorted((a, b) => a.bucket - b.bucket);
  const all = ordered.reduce((sum, each) => sum + each.customers, 0);
  let seen = 0;
  const found = ordered.find(({ customers }) => {
    seen += customers;
    return seen >= share * all;
  });
  return Math.round(below(found!.bucket));
}

const dateOf = (local: number): string => new Date(local).toISOString().slice(0, 10);
