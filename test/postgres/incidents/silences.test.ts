import { afterAll, beforeAll, expect, test } from 'vitest';
import { listSilences } from '../../../src/postgres/incidents/silences.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['default']);
  await database.sql`
    insert into purchase_watch_internal.silences (starts_at, ends_at, reason, created_by)
    select now() - interval '2 days', now() + case when n % 2000 = 7 then 1 else -1 end * interval '1 day', 'moving', 'Kim' from generate_series(1, 10000) n`;
  await database.sql`analyze purchase_watch_internal.silences`;
});
afterAll(() => database.drop());

test.each([
  ['current', [8_007, 6_007, 4_007]],
  ['over', [10_000, 9_999, 9_998]],
  ['all', [10_000, 9_999, 9_998]],
] as const)('a page of those that are %s is the newest, and costs the same however many there are', async (status, expected) => {
  const found: number[] = [];
  const { scanned, fetched } = await rowsRead(database.sql, 'silences', async (tx) => {
    found.push(...(await listSilences(tx, { status, before: null, limit: 3 })).map(({ id }) => id));
  });
  expect(found).toEqual(expected);
  expect([scanned, fetched < 50]).toEqual([0, true]);
});
