/** The counters: exact whatever happens at once, and folded without losing or repeating a change. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { register } from '../../../src/postgres/purchases/purchases.ts';
import { countPurchases, dropEmptyCounts, foldCounts } from '../../../src/postgres/reports/counts.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['default', 'se']);
});
afterAll(() => database.drop());
beforeEach(() => database.sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges cascade`);

const totals = () => database.sql`
  select site, status, state, stuck, count from purchase_watch.purchase_totals order by site, status, state, stuck`;
const counted = () => database.sql`
  select site, status, state, stuck_since is not null as stuck, count(*)::bigint as count from purchase_watch.purchases
  group by 1, 2, 3, 4 order by 1, 2, 3, 4`;
const waiting = async () => (await database.sql`select from purchase_watch_internal.count_changes`).count;
const add = (from: number, to: number, site: string) =>
  register(
    database.sql,
    Array.from({ length: to - from }, (_, index) => ({
      purchaseId: `${site}-${from + index}`,
      site,
      reference: null,
      metadata: null,
    })),
  );

test('what is folded reads as it did before', async () => {
  await add(0, 30, 'default');
  await add(0, 5, 'se');
  await database.sql`update purchase_watch.purchases set state = 6, state_since = now(), stuck_since = now() where purchase_id like '%3'`;
  const before = await totals();
  expect([...before]).toEqual([...(await counted())]);
  expect(await foldCounts(database.sql)).toBeGreaterThan(0);
  expect([await waiting(), [...(await totals())]]).toEqual([0, [...before]]);
  expect(await foldCounts(database.sql)).toBe(0);
  await database.sql`delete from purchase_watch.purchases where site = 'se'`;
  expect([...(await totals())]).toEqual([...(await counted())]);
});

test('counters of what nobody is in any more are dropped, others are not', async () => {
  await add(0, 3, 'default');
  await foldCounts(database.sql);
  await database.sql`update purchase_watch.purchases set state = 6, state_since = now()`;
  await foldCounts(database.sql);
  const rows = () => database.sql<{ state: number | null; count: number }[]>`
    select state, count from purchase_watch_internal.purchase_counts order by state nulls last`;
  expect([...(await rows())]).toEqual([
    { state: 6, count: 3 },
    { state: null, count: 0 },
  ]);
  await dropEmptyCounts(database.sql);
  expect([...(await rows())]).toEqual([{ state: 6, count: 3 }]);
});

test('a change that somebody has not committed yet is neither waited for nor lost', async () => {
  await add(0, 3, 'default');
  await foldCounts(database.sql);
  await database.sql.begin(async (held) => {
    await held`update purchase_watch.purchases set state = 6, state_since = now() where purchase_id = 'default-1'`;
    await add(3, 5, 'default');
    await foldCounts(database.sql);
    expect([...(await totals())]).toMatchObject([{ state: null, count: 5 }]);
  });
  await foldCounts(database.sql);
  expect([...(await totals())]).toEqual([...(await counted())]);
  expect(await waiting()).toBe(0);
});

test('registering, moving, removing and two who fold at once leave exact counts', async () => {
  const { sql } = database;
  let working = true;
  let folded = 0;
  const folders = [1, 2].map(async () => {
    while (working) {
      folded += await foldCounts(sql);
      await dropEmptyCounts(sql);
    }
  });
  const workers = ['default', 'se'].flatMap((site) =>
    [0, 1, 2].map(async (worker) => {
      for (let turn = 0; turn < 12; turn++) {
        const from = worker * 100_000 + turn * 40;
        await add(from, from + 40, site);
        const state = (turn * 7 + worker) % 5;
        await sql`update purchase_watch.purchases set state = ${state}, state_since = now(),
            stuck_since = case when id % 3 = 0 then now() end, status = case when id % 4 = 0 then 'settled' else 'watching' end
          where site = ${site} and id % 3 = ${worker} and id % 2 = ${turn % 2}`;
        await sql`delete from purchase_watch.purchases where site = ${site} and id % 3 = ${worker} and id % 11 = ${turn % 11}`;
      }
    }),
  );
  const looks = (async () => {
    for (; working; ) {
      // One statement, one snapshot: never a moment in which they differ.
      const [row] = await sql<{ totals: number; rows: number }[]>`
        select (select coalesce(sum(count), 0) from purchase_watch.purchase_totals)::float8 as totals,
          (select count(*) from purchase_watch.purchases)::float8 as rows`;
      expect(row!.totals).toBe(row!.rows);
    }
  })();
  await Promise.all(workers);
  working = false;
  await Promise.all([...folders, looks]);
  while ((await foldCounts(sql)) > 0);
  expect(folded).toBeGreaterThan(0);
  expect([...(await totals())]).toEqual([...(await counted())]);
  expect(await waiting()).toBe(0);
});

test('counts with the oldest of each watched state read one row a state, however many there are', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, status, state, state_since)
    select 'p-' || i, 'se', case when i % 3 = 0 then 'settled' else 'watching' end, case when i % 3 = 0 then 2 else i % 2 * 6 end,
      to_timestamp(1700000000 + i)
    from generate_series(1, 5000) i`;
  let found: Awaited<ReturnType<typeof countPurchases>> = [];
  const read = await rowsRead(sql, 'purchases', async (tx) => {
    found = await countPurchases(tx);
  });
  expect(found.map(({ status, state, oldest }) => [status, state, oldest])).toEqual([
    ['settled', 2, null],
    ['watching', 0, 1_700_000_002_000],
    ['watching', 6, 1_700_000_001_000],
  ]);
  expect(read.scanned).toBe(0);
  expect(read.fetched).toBeLessThanOrEqual(3);
});
