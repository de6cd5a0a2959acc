/** Lists of one weekday and hour of the day: as long as the cells of trends, and read by the index of hours. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkedFilter, listPurchases, type PurchaseFilter, readHours } from '../../../src/actions/purchases/list.ts';
import { cellsOf } from '../../../src/actions/trends/series.ts';
import { periodsOf } from '../../../src/domain/trends/period.ts';
import { quickZone } from '../../../src/domain/trends/pieces.ts';
import { DAY } from '../../../src/domain/values/time.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { endedInHours } from '../../../src/postgres/trends/read.ts';
import { zoneOf } from '../../../src/runtime/loops/schedule.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

/** In the 90 days before it, clocks go back in Stockholm by an hour, and forward on Lord Howe Island by half of one. */
const NOW = Date.UTC(2026, 10, 28, 5, 20);
const MOST = 1_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['few', 'many']);
  // At one site a purchase ended in each hour and two more in each third one; at the other one eight in each.
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, reference)
    select site || i, site, 'settled', 2, now(), (timestamptz '2026-08-28 00:00Z' + i % 2256 * interval '1 hour')::text
    from (values ('few', 2256), ('many', 8 * 2256)) v (site, count) cross join lateral generate_series(0, count - 1) i
    union all select 'few-more' || i, 'few', 'settled', 2, now(), (timestamptz '2026-08-28 00:00Z' + i % 752 * interval '3 hours')::text
    from generate_series(0, 1503) i`;
  await sql`
    insert into purchase_watch_internal.outcomes (purchase, hour, amount, way, was_stuck, outcome, site)
    select id, reference::timestamptz, 1, 6, false, 'paid', site from purchase_watch.purchases`;
  await sql`
    insert into purchase_watch_internal.outcome_hours (hour, customers, amount, way, was_stuck, outcome, site)
    select hour, count(*), 0, 6, false, 'paid', site from purchase_watch_internal.outcomes group by hour, site`;
  await sql`analyze purchase_watch.purchases, purchase_watch_internal.outcomes`;
});
afterAll(() => database.drop());

const periodIn = (zone: string) => periodsOf('90d', NOW, zoneOf(zone));

function filterOf(clock: { endedWeekday?: number; hours?: string; zone: string }, site: string): PurchaseFilter {
  const { from, to } = periodIn(clock.zone).present;
  const { hours, ...rest } = clock;
  const endedHours = hours === undefined ? { is: undefined } : readHours(hours);
  if ('problem' in endedHours) throw new Error(endedHours.problem);
  const asked = { sort: 'newest', now: NOW, clock: { ...rest, endedHours: endedHours.is } } as const;
  const checked = checkedFilter({ site, endedFrom: from, endedTo: to, end: 'customer' }, asked);
  if ('field' in checked) throw new Error(checked.detail);
  return checked.is;
}

async function listed(filter: PurchaseFilter): Promise<number> {
  const { rows, next } = await listPurchases(database.sql, { filter, sort: 'newest', after: null, limit: MOST });
  expect(next).toBeNull();
  return rows.length;
}

describe.each(['Europe/Stockholm', 'Asia/Kolkata', 'Australia/Lord_Howe'])('in %s', (name) => {
  test('each cell of weekday and hour has a list with that many purchases', { timeout: 120_000 }, async () => {
    const { present, before } = periodIn(name);
    const zone = zoneOf(name);
    const hours = await endedInHours(database.sql, present, 'few');
    const cells = cellsOf(hours, { range: '90d', present, before, zone: quickZone(zone) }, []);
    expect(cells).toHaveLength(7 * 24);
    for (const { weekday, hour, customers } of cells) {
      const filter = filterOf({ endedWeekday: weekday!, hours: String(hour), zone: name }, 'few');
      expect(await listed(filter), `${weekday}, ${hour} h`).toBe(customers);
    }
    const sum = (is: (cell: (typeof cells)[number]) => boolean): number =>
      cells.filter(is).reduce((total, { customers }) => total + customers, 0);
    expect(await listed(filterOf({ endedWeekday: 7, zone: name }, 'few'))).toBe(sum(({ weekday }) => weekday === 7));
    const morning = filterOf({ endedWeekday: 7, hours: '0-2', zone: name }, 'few');
    expect(await listed(morning)).toBe(sum(({ weekday, hour }) => weekday === 7 && hour <= 2));
    expect(await listed(filterOf({ hours: '14', zone: name }, 'few'))).toBe(sum(({ hour }) => hour === 14));
  });
});

test('of those that ended, only rows of the hours are read', async () => {
  const filter = filterOf({ endedWeekday: 1, hours: '14', zone: 'Europe/Stockholm' }, 'many');
  const { scanned, fetched } = await rowsRead(database.sql, 'outcomes', async (tx) => {
    const { rows } = await listPurchases(tx, { filter, sort: 'newest', after: null, limit: MOST });
    // 13 Mondays.
    expect(rows).toHaveLength(13 * 8);
  });
  expect(scanned).toBe(0);
  // Once to count them, once to list them, and once each for the rest of the filter.
  expect(fetched).toBeLessThanOrEqual(3 * 13 * 8);
});

describe('what does not go together is refused with what to do', () => {
  const problemOf = (filter: PurchaseFilter, clock: Parameters<typeof checkedFilter>[1]['clock']): string => {
    const found = checkedFilter(filter, { sort: 'newest', now: NOW, clock });
    return 'field' in found ? `${found.field}: ${found.detail}` : 'none';
  };
  test.each([
    [{}, { endedWeekday: 1 }, 'endedFrom: is missing: endedWeekday and endedHours need a time to look in; give one such as 90d'],
    [{ endedFrom: NOW - 92 * DAY }, { endedWeekday: 1 }, 'none'],
    [
      { endedFrom: NOW - 92 * DAY - 1 },
      { endedHours: { first: 1, last: 1 } },
      'endedFrom: 2026-08-28T05:19:59.999Z lies more than 92 days before endedTo, 2026-11-28T05:20:00.000Z; with endedWeekday or endedHours give a shorter time',
    ],
    [
      { endedFrom: NOW - DAY },
      { zone: 'Asia/Kolkata' },
      'zone: says nothing without endedWeekday or endedHours; give one of them, too, or leave it out',
    ],
  ])('%j, %j', (filter, clock, says) => {
    expect(problemOf(filter, clock)).toBe(says);
  });

  test.each(['24', '-1', '3-', '14-12', '1.5', '12-24', ''])('the hours "%s"', (text) => {
    expect(readHours(text)).toEqual({
      problem: 'must be an hour of the day from 0 to 23 such as 14, or the first and the last of several such as 12-14',
    });
  });
});
