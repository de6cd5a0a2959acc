import { afterAll, beforeAll, expect, test } from 'vitest';
import { SHARDS } from '../../../src/domain/replicas/ownership.ts';
import { LEASES } from '../../../src/postgres/migrations/names.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test('the migrations make the shards and leases that the program names', async () => {
  const { sql } = database;
  const shards = await sql<{ id: number }[]>`select id from purchase_watch_internal.shards order by id`;
  expect(shards.map(({ id }) => id)).toEqual(Array.from({ length: SHARDS }, (_, id) => id));
  const leases = await sql<{ name: string }[]>`select name from purchase_watch_internal.leases`;
  expect(leases.map(({ name }) => name).sort()).toEqual(Object.values(LEASES).sort());
});

test('every registered purchase gets one of these shards, and every shard some', async () => {
  const { sql } = database;
  await sql`insert into purchase_watch_internal.sites (name) values ('se')`;
  await sql`insert into purchase_watch.purchases (purchase_id, site) select 'p-' || n, 'se' from generate_series(1, 2000) n`;
  const used = await sql<{ shard: number }[]>`select distinct shard from purchase_watch.purchases`;
  expect(used).toHaveLength(SHARDS);
});
