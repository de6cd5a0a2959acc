import { afterAll, beforeAll, expect, test } from 'vitest';
import { givenUpStep, lastDelivery } from '../../../src/postgres/deliveries/given-up.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['default']);
  await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('sorry', 'webhook', 'systems', 'x'), ('well', 'webhook', 'systems', 'x')`;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
    select 'evt_' || n, 'site.reachable', 'default', 0, now(), '{}' from generate_series(1, 6000) n`;
  await sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at, attempts)
    select e.position, -e.position, s.id, 0, now(), case when s.name = 'well' or e.position % 2 = 0 then 'delivered' else 'exhausted' end, now(), 10
    from purchase_watch_internal.events e cross join purchase_watch_internal.subscribers s order by e.position`;
  await sql`analyze purchase_watch_internal.deliveries`;
});
afterAll(() => database.drop());

test.each([true, false])('a step reads about as many as it sends, whatever there is; only counted: %s', async (dryRun) => {
  const { sql } = database;
  const [sorry] = await sql<{ id: number }[]>`select id from purchase_watch_internal.subscribers where name = 'sorry'`;
  const which = { subscriber: sorry!.id, status: 'exhausted' } as const;
  const last = await lastDelivery(sql);
  const { fetched, scanned } = await rowsRead(sql, 'deliveries', async (tx) => {
    expect(await givenUpStep(tx, which, { after: 0, last, limit: 20, dryRun })).toMatchObject({ count: 20, purchases: 20 });
  });
  expect({ scanned, fetched }).toEqual({ scanned: 0, fetched: expect.any(Number) });
  expect(fetched).toBeLessThanOrEqual(100);
});
