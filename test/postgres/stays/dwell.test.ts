import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bucketOf, dwellOf } from '../../../src/domain/stays/dwell.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { readDwell, readUsual } from '../../../src/postgres/stays/dwell.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { addExits, dayOf } from '../../support/dwell-days.ts';

const DAY = 86_400_000;
/** Six in the morning. */
const NOW = Date.UTC(2026, 10, 20, 6);
const SINCE = NOW - 14 * DAY;
const [IDENTIFYING, CARD] = [4, 6];

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se', 'fi']);
});
beforeEach(async () => {
  await database.sql`truncate purchase_watch_internal.dwell_days, purchase_watch_internal.stay_days`;
});
afterAll(() => database.drop());

describe('dwell times', () => {
  test('of fourteen days are one histogram for each state of a site', async () => {
    await addExits(database.sql, NOW, [
      { site: 'se', state: CARD, daysAgo: 0, exits: 3, dwell: 30_000, longest: 40_000 },
      { site: 'se', state: CARD, daysAgo: 1, exits: 4, dwell: 30_000, longest: 50_000 },
      { site: 'se', state: CARD, daysAgo: 13, exits: 5, dwell: 30_000, longest: 40_000 },
      { site: 'se', state: IDENTIFYING, daysAgo: 1, exits: 1, dwell: 9_000 },
      { site: 'fi', state: CARD, daysAgo: 1, exits: 2, dwell: 9_000 },
    ]);
    const rows = await readDwell(database.sql, SINCE);
    const of = (site: string, state: number) => rows.filter((row) => row.site === site && row.state === state);
    expect(of('se', CARD)).toEqual([
      { site: 'se', state: CARD, bucket: bucketOf(30_000), shortest: 12, longest: 0 },
      { site: 'se', state: CARD, bucket: bucketOf(40_000), shortest: 0, longest: 8 },
      { site: 'se', state: CARD, bucket: bucketOf(50_000), shortest: 0, longest: 4 },
    ]);
    expect(dwellOf(of('se', CARD))).toEqual({ usual: 35_000, p95: 54_000, purchases: 12 });
    expect(of('se', IDENTIFYING)).toHaveLength(1);
    expect(of('fi', CARD)).toHaveLength(1);
  });

  test('of earlier days are forgotten', async () => {
    await addExits(database.sql, NOW, [{ site: 'se', state: CARD, daysAgo: 14, exits: 3, dwell: 30_000 }]);
    expect(await readDwell(database.sql, SINCE)).toEqual([]);
    expect(await readDwell(database.sql, SINCE - DAY)).toHaveLength(1);
  });
});

describe('what is usual', () => {
  interface Stays {
    readonly site?: string;
    readonly daysAgo: number;
    readonly calm?: boolean;
    readonly well?: number;
    readonly overdue?: number;
    readonly other?: number;
  }
  const add = async (...days: readonly Stays[]) => {
    for (const { site = 'se', daysAgo, calm = true, well = 0, overdue = 0, other = 0 } of days) {
      await database.sql`
        insert into purchase_watch_internal.stay_days (site, state, day, calm, well, overdue, other)
        values (${site}, ${CARD}, ${dayOf(NOW, daysAgo)}::date, ${calm}, ${well}, ${overdue}, ${other})`;
    }
  };
  const usual = () => readUsual(database.sql, { since: SINCE, now: NOW });

  test('is the share of calm days, and the number of all days', async () => {
    await add(
      { daysAgo: 9, well: 95, overdue: 5, other: 40 },
      { daysAgo: 4, well: 97, overdue: 3 },
      { daysAgo: 4, calm: false, well: 10, overdue: 90 },
      { daysAgo: 0, well: 60, overdue: 0 },
      { daysAgo: 14, well: 1_000, overdue: 1_000 },
      { site: 'fi', daysAgo: 1, well: 50, overdue: 50 },
    );
    // From the beginning of the first day on: nine days and six hours.
    expect(await usual()).toEqual([
      { site: 'fi', state: CARD, share: 0.5, perDay: 100 / 1.25, counted: 100 },
      { site: 'se', state: CARD, share: 8 / 260, perDay: 360 / 9.25, counted: 260 },
    ]);
  });

  test('has no share of fewer than a hundred calm stays', async () => {
    await add({ daysAgo: 2, well: 99 }, { daysAgo: 2, calm: false, well: 500 });
    expect(await usual()).toMatchObject([{ share: null }]);
    await add({ daysAgo: 1, overdue: 1 });
    expect(await usual()).toMatchObject([{ share: 0.01 }]);
  });

  test.each([
    ['few of the first day say nothing yet', { daysAgo: 0, well: 3, overdue: 1 }, null],
    ['five of the first day are enough to say that it is busy', { daysAgo: 0, well: 3, overdue: 2 }, 5],
    ['few of a whole day are few', { daysAgo: 1, well: 3, overdue: 2 }, 4],
    ['one that ended otherwise counts for nothing', { daysAgo: 3, other: 500 }, 0],
  ])('%s', async (_, stays, perDay) => {
    await add(stays);
    const [row] = await usual();
    if (perDay === null) expect(row!.perDay).toBeNull();
    else expect(row!.perDay).toBeCloseTo(perDay, 10);
  });

  test('is no negative share when more was taken back than is left in the window', async () => {
    await add({ daysAgo: 1, well: 200, overdue: -4 });
    expect(await usual()).toMatchObject([{ share: 0 }]);
  });

  test('is nothing where nobody came', async () => {
    expect(await usual()).toEqual([]);
  });
});
