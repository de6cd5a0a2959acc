/** What the list of needs reads of the database: deliveries that were given up, stuck purchases by their orders, clock and queue. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnSettings, ownFindings } from '../../../src/actions/doctor/system-page.ts';
import { readFacts } from '../../../src/actions/overview/facts.ts';
import { needsOf } from '../../../src/actions/overview/needs.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { announce } from '../../support/announce.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['se']);
  await renewReplica(sql, { id: 'a', process: 'test', ttl: 600_000 });
  await sql`update purchase_watch_internal.sites set last_success_at = now()`;
  await sql`
    insert into purchase_watch_internal.subscribers (name, kind, origin, url, keys, address_hash)
    values ('shop', 'webhook', 'api', '\\x00', '\\x00', 'a')`;
});
afterAll(() => database.drop());

const texts = async (): Promise<string[]> => needsOf(await readFacts(database.sql)).map(({ text }) => text);

test('events that a subscriber misses need somebody until they are sent again, for a day', async () => {
  const { sql } = database;
  const missed = 'shop misses 2 events: their deliveries were given up';
  for (let made = 0; made < 3; made++) await announce(sql);
  expect(await texts()).not.toContain(missed);
  // The incident of such a subscriber ends after an hour; what it misses it still misses.
  await sql`
    update purchase_watch_internal.deliveries set status = 'exhausted', settled_at = now() - interval '3 h'
    where id in (select id from purchase_watch_internal.deliveries order by id limit 2)`;
  expect(await texts()).toContain(missed);
  const [need] = needsOf(await readFacts(sql)).filter(({ text }) => text === missed);
  expect(need).toMatchObject({ kind: 'subscriber', action: { path: '/subscribers/shop' } });
  expect(Math.round((Date.now() - need!.since!) / 60_000)).toBe(180);
  await sql`update purchase_watch_internal.deliveries set settled_at = now() - interval '25 h' where status = 'exhausted'`;
  expect(await texts()).not.toContain(missed);
  await sql`update purchase_watch_internal.deliveries set settled_at = now() - interval '1 min' where status = 'exhausted'`;
  expect(await texts()).toContain(missed);
  await sql`update purchase_watch_internal.deliveries set status = 'delivered' where status = 'exhausted'`;
  expect(await texts()).not.toContain(missed);
});

test('stuck purchases are named by their orders, the longest waiting first', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, reference, state, state_since, seen_at, polls, stuck_since, status)
    select 'p' || n, 'se', case when n > 1 then 'ORD-' || n end, 6, now() - n * interval '10 min', now(), 3, now() - interval '1 min', 'watching'
    from generate_series(1, 4) n`;
  const facts = await readFacts(sql);
  expect(facts.stuck.map(({ order }) => order)).toEqual(['ORD-4', 'ORD-3', 'ORD-2', null]);
  expect(Math.abs(facts.clockOffset)).toBeLessThan(1_000);
  expect(facts.notificationQueue).toBeLessThan(0.1);
  const [need] = needsOf(facts).filter(({ kind }) => kind === 'stuck');
  expect(need).toMatchObject({ text: 'se: 4 purchases are stuck waiting for the card provider' });
  expect(need!.why).toMatch(/^ORD-4 waiting for the card provider for 40 min.*, ORD-3 .*, ORD-2 .*, and more$/);
});

test("a dead man's switch that nobody calls needs somebody, once a daemon has had the time to call it", async () => {
  const { sql } = database;
  const settings = { apiKeys: [], channels: [], slack: { deadMansSwitch: 'https://switch.example' } } as unknown as OwnSettings;
  const said = async (): Promise<string[]> => {
    const needs = needsOf(await readFacts(sql), await ownFindings(sql, settings, []));
    return needs.filter(({ kind }) => kind === 'settings').map(({ text }) => text);
  };
  expect(await said()).toEqual([]);
  await sql`update purchase_watch_internal.replicas set started_at = now() - interval '10 min'`;
  expect(await said()).toEqual(["Dead man's switch: it was never called"]);
  await sql`update purchase_watch_internal.leases set done_at = now() where name = 'dead_mans_switch'`;
  expect(await said()).toEqual([]);
  await sql`update purchase_watch_internal.leases set done_at = now() - interval '9 min' where name = 'dead_mans_switch'`;
  expect(await said()).toEqual(["Dead man's switch: it was called 9 min ago for the last time"]);
});
