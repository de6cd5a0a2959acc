import { afterAll, beforeAll, expect, test } from 'vitest';
import { messagesTaken, waitingInLane } from '../../../src/postgres/deliveries/channel-lane.ts';
import { SITE_SHARD } from '../../../src/postgres/events/events.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const AT = 1_800_000_000_000;
const MINUTE = 60_000;

let database: TestDatabase;
let slack: number;
/** Ten messages, ten minutes apart, of 500 events each; and as many that wait. A webhook took the same one by one. */
beforeAll(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['default']);
  await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('@slack', 'slack', 'people', 'x'), ('shop', 'webhook', 'systems', 'x')`;
  const [row] = await sql<{ id: number }[]>`select id from purchase_watch_internal.subscribers where name = '@slack'`;
  slack = row!.id;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
    select 'evt_' || n, 'incident.opened', 'default', ${SITE_SHARD}, now(), '{}' from generate_series(1, 10000) n`;
  await sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at, attempts)
    select e.position, case s.name when '@slack' then 0 else e.position end, s.id, ${SITE_SHARD}, now(),
      case when e.position <= 5000 then 'delivered' else 'pending' end,
      case when e.position <= 5000 then to_timestamp(${AT / 1_000}::float8 + 600 * ((e.position - 1) / 500)) end, 1
    from purchase_watch_internal.events e cross join purchase_watch_internal.subscribers s order by e.position`;
  await sql`analyze purchase_watch_internal.deliveries`;
});
afterAll(() => database.drop());

test('messages are counted by when they were taken, the newest first, and not those before', async () => {
  const now = AT + 90 * MINUTE;
  const taken = (since: number, most: number) => messagesTaken(database.sql, { subscriber: slack, since, now, most });
  expect(await taken(AT + 60 * MINUTE, 20)).toEqual([90, 80, 70].map((minutes) => AT + minutes * MINUTE));
  expect(await taken(AT, 2)).toEqual([90, 80].map((minutes) => AT + minutes * MINUTE));
  expect(await taken(AT + 90 * MINUTE, 20)).toEqual([]);
  // Those from before the clock was set back are of another hour.
  const before = await messagesTaken(database.sql, { subscriber: slack, since: AT, now: AT + 15 * MINUTE, most: 20 });
  expect(before).toEqual([AT + 10 * MINUTE]);
});

test('counting them reads one row for each, however many events were in it and however many there are', async () => {
  const { scanned, fetched } = await rowsRead(database.sql, 'deliveries', async (tx) => {
    expect(await messagesTaken(tx, { subscriber: slack, since: AT + 30 * MINUTE, now: AT + 90 * MINUTE, most: 20 })).toHaveLength(
      6,
    );
  });
  expect(scanned).toBe(0);
  expect(fetched).toBeLessThanOrEqual(10);
});

test('a lane is read in the order of events, up to what goes into one message, and no other lane', async () => {
  const { sql } = database;
  let ids: string[] = [];
  const { scanned, fetched } = await rowsRead(sql, 'deliveries', async (tx) => {
    const waiting = await waitingInLane(tx, { subscriber: slack, lane: 0, shard: SITE_SHARD, most: 500 });
    ids = waiting.map(({ event }) => event.id);
    expect(new Set(waiting.map(({ subscriber, lane }) => `${subscriber} ${lane}`))).toEqual(new Set([`${slack} 0`]));
  });
  expect(ids).toEqual(Array.from({ length: 500 }, (_, index) => `evt_${5_001 + index}`));
  expect(scanned).toBe(0);
  expect(fetched).toBeLessThanOrEqual(600);
});
