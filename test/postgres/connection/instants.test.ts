import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect } from '../../../src/postgres/connection/database.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test.each([
  0,
  1_795_399_538_123,
  1_795_399_538_123.456,
  -1,
  -62_135_596_800_000,
  253_402_300_800_000,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
])('%d ms goes to the database and back to the microsecond', async (at) => {
  const [row] = await database.sql<[{ at: number; ms: number; list: number[] }]>`
    select ${at}::timestamptz as at, (extract(epoch from ${at}::timestamptz) * 1000)::float8 as ms, array[${at}::timestamptz] as list`;
  expect(row).toEqual({ at, ms: at, list: [at] });
});

test('whatever a role has set for how times are written, and null stays null', async () => {
  const { sql, url } = database;
  const name = new URL(url).pathname.slice(1);
  await sql.unsafe(`alter database ${name} set datestyle = 'SQL, DMY'`);
  await sql.unsafe(`alter database ${name} set timezone = 'Asia/Kathmandu'`);
  const other = connect(url, { max: 1 });
  try {
    const at = 1_795_399_538_123.456;
    const rows =
      await other`select ${at}::timestamptz as at, ${null}::timestamptz as none, '2026-11-23 12:00+05:45'::timestamptz as noon`;
    expect(rows).toEqual([{ at, none: null, noon: Date.parse('2026-11-23T06:15Z') }]);
  } finally {
    await other.end();
  }
});

test('a Date is taken as the moment that it is', async () => {
  const at = new Date(1_795_399_538_123);
  expect(await database.sql`select ${at}::timestamptz as at`).toEqual([{ at: at.getTime() }]);
});
