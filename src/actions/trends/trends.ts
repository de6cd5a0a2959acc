/** How customers' checkouts ended over days, beside the time before: what people and programs are shown. */

import { namedState } from '../../domain/purchases/states.ts';
import { changeOf, shareOf } from '../../domain/trends/compare.ts';
import { customersOf, type Ends, endsOf } from '../../domain/trends/ends.ts';
import { type Period, periodsOf, type TrendRange } from '../../domain/trends/period.ts';
import { PIECE_LENGTHS, piecesOf, quickZone } from '../../domain/trends/pieces.ts';
import { worseSlices } from '../../domain/trends/slices.ts';
import { decimal } from '../../domain/values/exact-json.ts';
import { isoTime } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import type { StayLimits } from '../../postgres/stays/limits.ts';
import {
  attemptsIn,
  type EndedSum,
  endedInHours,
  endedInHoursByWay,
  endedInPieces,
  endedSums,
  firstCountedHour,
  waitedIn,
} from '../../postgres/trends/read.ts';
import { zoneOf } from '../../runtime/loops/schedule.ts';
import { happenedIn } from './lane.ts';
import { receiversOf } from './receivers.ts';
import { sentenceOf } from './sentence.ts';
import { cellsOf, countsOf, type SeriesTime, sharesOf, waitingOf } from './series.ts';

export interface TrendsWanted {
  readonly range: TrendRange;
  /** Null: all sites. */
  readonly site: string | null;
  /** An IANA name. Days begin, and hours are shown, as clocks there show them. */
  readonly zone: string;
  /** Read lately; see `learnedLimits`. */
  readonly limits: StayLimits;
}

export type Trends = Awaited<ReturnType<typeof readTrends>>;

/** Reads the trends of all sites or of one. Throws RangeError when there is no such zone. */
export async function readTrends(sql: Sql, { range, site, zone: name, limits }: TrendsWanted) {
  const zone = quickZone(zoneOf(name));
  const now = await databaseNow(sql);
  const { present, before } = periodsOf(range, now, zone);
  const time: SeriesTime = { range, present, before, zone };
  const pieces = piecesOf(present, PIECE_LENGTHS[range].shares, zone);
  const days = range === '24h' ? [present] : pieces;
  const readSums = endedSums(sql, present, site);
  const [hours, earlier, sums, earlierSums, byWay, waiting, attempts, happened, first] = await Promise.all([
    endedInHours(sql, present, site),
    endedInPieces(sql, piecesOf(before, PIECE_LENGTHS[range].counts, zone), site),
    readSums,
    endedSums(sql, before, site, { amounts: false }),
    range === '24h' ? endedInHoursByWay(sql, present, site) : [],
    readSums.then((sums) => readWaiting(sql, { sums, limits, pieces })),
    attemptsIn(sql, days),
    happenedIn(sql, present, site),
    firstCountedHour(sql, site),
  ]);
  const ways = waysOf(sums, earlierSums, limits);
  const total = compared(sums.filter(isOfWay), earlierSums.filter(isOfWay), 1);
  return {
    at: isoTime(now),
    range,
    site,
    zone: name,
    ...spanOf(present),
    against: spanOf(before),
    countedSince: first !== null && first > before.from ? isoTime(first) : null,
    sentence: sentenceOf(
      range,
      total,
      ways,
      first !== null && first > present.from ? isoTime(zone.local(first)).slice(0, 10) : null,
    ),
    total,
    ways,
    worse: worseSlices(sums.filter(isOfSlice), earlierSums.filter(isOfSlice), { range, isOneSite: site !== null }),
    cells: cellsOf(range === '24h' ? byWay : hours, time, happened.incidents),
    counts: countsOf(hours, earlier, time),
    shares: sharesOf(hours, earlier, time),
    waiting,
    money: moneyOf(sums),
    receivers: receiversOf(attempts, days),
    ...happened,
  };
}

const spanOf = ({ from, to }: Period) => ({ from: isoTime(from), to: isoTime(to) });

const isOfWay = ({ by }: EndedSum): boolean => by === 'way';
type EndedSlice = EndedSum & { readonly site: string };
const isOfSlice = (sum: EndedSum): sum is EndedSlice => sum.by === 'slice';

function shown(ends: Ends) {
  const of = customersOf(ends);
  return { ...ends, customers: of.customers, share: shareOf(of) };
}

/** The ends of a time beside those of the time before; `looks` as for changeOf. */
function compared(present: readonly EndedSum[], before: readonly EndedSum[], looks: number) {
  const [ends, then] = [endsOf(present), endsOf(before)];
  return { ...shown(ends), change: changeOf(customersOf(ends), customersOf(then), looks), before: shown(then) };
}

/** Purchases by the state in which they waited last, those with most customers first. */
function waysOf(present: readonly EndedSum[], before: readonly EndedSum[], limits: StayLimits) {
  const earlier = Map.groupBy(before.filter(isOfWay), ({ way }) => way);
  const ways = [...Map.groupBy(present.filter(isOfWay), ({ way }) => way)];
  const isLimited = (wanted: number | null): boolean =>
    wanted !== null &&
    present.some((sum) => isOfSlice(sum) && sum.way === wanted && limits.limitOf(sum.site, wanted).ms !== null);
  return ways
    .map(([way, counts]) => ({
      state: way === null ? null : namedState(way),
      limited: isLimited(way),
      ...compared(counts, earlier.get(way) ?? [], ways.length),
    }))
    .sort((a, b) => b.customers - a.customers);
}

/** How long customers waited where most of them waited last: a state with a limit, at one site, for limits differ by site. */
async function readWaiting(
  sql: Sql,
  { sums, limits, pieces }: { sums: readonly EndedSum[]; limits: StayLimits; pieces: readonly Period[] },
) {
  const places = Map.groupBy(sums.filter(isOfSlice), ({ site, way }) => JSON.stringify([site, way]));
  const withMost = [...places.values()].sort((a, b) => allOf(b) - allOf(a));
  for (const [{ site, way }] of withMost as [EndedSlice][]) {
    const limitMs = way === null ? null : limits.limitOf(site, way).ms;
    if (way === null || limitMs === null) continue;
    const waited = await waitedIn(sql, pieces, { site, way });
    return { site, state: namedState(way), limitMs, pieces: waitingOf(waited, pieces) };
  }
  return null;
}

const allOf = (sums: readonly EndedSum[]): number => sums.reduce((all, { customers }) => all + customers, 0);

/** Money by currency, never added up over currencies; the largest number of customers first. `stuck`: of purchases that were stuck. */
function moneyOf(sums: readonly EndedSum[]) {
  const ofStuck = Map.groupBy(
    sums.filter(({ by }) => by === 'stuck_currency'),
    ({ currency }) => currency,
  );
  const amountsOf = (rows: readonly EndedSum[]) => {
    const of = (outcome: EndedSum['outcome']) => decimal(rows.find((row) => row.outcome === outcome)?.amount ?? '0');
    return { paid: of('paid'), paidByAnother: of('paid_by_another'), notPaid: of('not_paid'), open: of('open') };
  };
  return [
    ...Map.groupBy(
      sums.filter(({ by }) => by === 'currency'),
      ({ currency }) => currency!,
    ),
  ]
    .map(([currency, rows]) => {
      const stuck = ofStuck.get(currency) ?? [];
      const { paid, paidByAnother, notPaid, open, gone } = endsOf(stuck);
      return {
        currency,
        customers: customersOf(endsOf(rows)).customers,
        ...amountsOf(rows),
        stuck: { purchases: paid + paidByAnother + notPaid + open, gone, ...amountsOf(stuck) },
      };
    })
    .sort((a, b) => b.customers - a.customers);
}
