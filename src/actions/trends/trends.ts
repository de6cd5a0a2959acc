/** How customers' checkouts ended over days, beside the time before: what people and programs are shown. */

import { namedState, stateWords } from '../../domain/purchases/states.ts';
import { boundsOf } from '../../domain/stays/dwell.ts';
import { changeOf, shareOf } from '../../domain/trends/compare.ts';
import { customersOf, type Ends, endsOf } from '../../domain/trends/ends.ts';
import { type Period, periodsOf, type TrendRange } from '../../domain/trends/period.ts';
import { decimal } from '../../domain/values/exact-json.ts';
import { DAY, HOUR, type Instant, isoTime } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { marksIn } from '../../postgres/trends/marks.ts';
import {
  attemptsIn,
  type EndedAmount,
  type EndedByWay,
  type EndedInHour,
  endedAmounts,
  endedByWay,
  endedInHours,
  waitedInHours,
} from '../../postgres/trends/read.ts';
import { type Zone, zoneOf } from '../../runtime/loops/schedule.ts';
import { markBody } from './marks.ts';

export interface TrendsWanted {
  readonly range: TrendRange;
  /** Null: all sites. */
  readonly site: string | null;
  /** An IANA name. Days begin, and hours are shown, as clocks there show them. */
  readonly zone: string;
}

export type Trends = Awaited<ReturnType<typeof readTrends>>;

/** Reads the trends of all sites or of one. Throws RangeError when there is no such zone. */
export async function readTrends(sql: Sql, { range, site, zone: name }: TrendsWanted) {
  const zone = zoneOf(name);
  const now = await databaseNow(sql);
  const { present, before } = periodsOf(range, now, zone);
  const [hours, earlier, ways, earlierWays, amounts, waited, receivers, marks] = await Promise.all([
    endedInHours(sql, present, site),
    endedInHours(sql, before, site),
    endedByWay(sql, present, site),
    endedByWay(sql, before, site),
    endedAmounts(sql, present, site),
    waitedInHours(sql, present, site),
    attemptsIn(sql, present),
    marksIn(sql, present, site),
  ]);
  const [ends, endsBefore] = [endsOf(hours), endsOf(earlier)];
  const total = { ...shown(ends), change: changeOf(customersOf(ends), customersOf(endsBefore)), before: shown(endsBefore) };
  const byWay = waysOf(ways, earlierWays);
  return {
    at: isoTime(now),
    range,
    site,
    zone: name,
    ...spanOf(present),
    against: spanOf(before),
    sentence: sentenceOf(range, total, byWay),
    total,
    cells: cellsOf(hours, zone),
    ways: byWay,
    waiting: waitingOf(waited, zone),
    money: moneyOf(amounts),
    receivers,
    marks: marks.map(markBody),
  };
}

const spanOf = ({ from, to }: Period) => ({ from: isoTime(from), to: isoTime(to) });

function shown(ends: Ends) {
  const of = customersOf(ends);
  return { ...ends, customers: of.customers, share: shareOf(of) };
}

/** Customers of each hour of each local day. */
function cellsOf(hours: readonly EndedInHour[], zone: Zone) {
  const cells = Map.groupBy(hours, ({ hour }) => Math.floor(zone.local(hour) / HOUR) * HOUR);
  return [...cells].map(([local, counts]) => {
    const { customers, paid } = customersOf(endsOf(counts));
    return { day: dateOf(local), hour: Math.floor((local % DAY) / HOUR), customers, paid };
  });
}

/** Purchases by the state in which they waited last, those with most customers first. */
function waysOf(present: readonly EndedByWay[], before: readonly EndedByWay[]) {
  const earlier = Map.groupBy(before, ({ way }) => way);
  const ways = [...Map.groupBy(present, ({ way }) => way)];
  return ways
    .map(([way, counts]) => {
      const [ends, then] = [endsOf(counts), endsOf(earlier.get(way) ?? [])];
      const change = changeOf(customersOf(ends), customersOf(then), ways.length);
      return { state: way === null ? null : namedState(way), ...shown(ends), change, before: shown(then) };
    })
    .sort((a, b) => b.customers - a.customers);
}

/** The median and the 95th percentile of the time in the last state of each local day: the upper bounds of their buckets. */
function waitingOf(waited: readonly { hour: Instant; bucket: number; customers: number }[], zone: Zone) {
  const days = Map.groupBy(waited, ({ hour }) => zone.day(hour));
  return [...days].map(([day, counts]) => {
    const ordered = counts.toSorted((a, b) => a.bucket - b.bucket);
    const customers = ordered.reduce((sum, each) => sum + each.customers, 0);
    const at = (share: number): number => {
      let seen = 0;
      for (const each of ordered) {
        seen += each.customers;
        if (seen >= share * customers) return Math.round(boundsOf(each.bucket).below);
      }
      throw new Error('a share of more than all customers');
    };
    return { day: dateOf(day), customers, medianMs: at(0.5), p95Ms: at(0.95) };
  });
}

/** Money by currency, never added up over currencies; the largest number of customers first. */
function moneyOf(amounts: readonly EndedAmount[]) {
  return [...Map.groupBy(amounts, ({ currency }) => currency)]
    .map(([currency, rows]) => {
      const of = (outcome: EndedAmount['outcome']) => decimal(rows.find((row) => row.outcome === outcome)?.amount ?? '0');
      const { customers } = customersOf(endsOf(rows));
      return { currency, customers, paid: of('paid'), notPaid: of('not_paid'), open: of('open') };
    })
    .sort((a, b) => b.customers - a.customers);
}

const dateOf = (local: number): string => new Date(local).toISOString().slice(0, 10);

const RANGE_WORDS: Readonly<Record<TrendRange, string>> = {
  '24h': 'In the last 24 hours',
  '7d': 'In the last 7 days',
  '30d': 'In the last 30 days',
  '90d': 'In the last 90 days',
};

/** One sentence that a manager can forward. */
function sentenceOf(range: TrendRange, total: { share: number | null } & TotalWords, ways: readonly WayWords[]): string {
  const { customers, share, change, before } = total;
  if (customers === 0) return `${RANGE_WORDS[range]} no customer's checkout ended.`;
  if (share === null) return `${RANGE_WORDS[range]} ${customers} customers came: too few to say more.`;
  const points = before.share === null ? null : Math.round(Math.abs(share - before.share) * 1_000) / 10;
  const compared =
    change === 'too_few'
      ? ''
      : change === 'as_before'
        ? ', as before'
        : `, ${points} points ${change === 'better' ? 'more' : 'fewer'} than before`;
  const worse = ways.filter((way) => way.change === 'worse' && way.state !== null).slice(0, 2);
  const where = worse.map(({ state }) => stateWords(state!.value)).join(' or ');
  return `${RANGE_WORDS[range]} ${percent(share)} of ${customers} customers paid${compared}${where === '' ? '' : `; fewer paid of those who were last ${where}`}.`;
}

interface TotalWords {
  readonly customers: number;
  readonly change: ReturnType<typeof changeOf>;
  readonly before: { readonly share: number | null };
}
interface WayWords {
  readonly state: { readonly value: number } | null;
  readonly change: ReturnType<typeof changeOf>;
}

const percent = (share: number): string => `${Math.round(share * 1_000) / 10} %`;
