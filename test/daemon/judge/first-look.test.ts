import { afterEach, beforeEach, expect, test } from 'vitest';
import { type AlertMoment, alertFirstLooks } from '../../../src/daemon/judge/first-look.ts';
import { saveFirstLooks } from '../../../src/postgres/incidents/first-look.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { takeLease } from '../../../src/postgres/shards/leases.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const MINUTE = 60_000;
const FOUND = Date.parse('2026-11-20T07:00:00Z');
let database: TestDatabase;
let log: string[];
beforeEach(async () => {
  database = await testDatabase();
  log = [];
  await syncSites(database.sql, ['no', 'se']);
  await database.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('@slack', 'slack', 'people', 'a')`;
});
afterEach(() => database.drop());

async function alert(
  now: number,
  change: Partial<AlertMoment> = {},
  replica = 'a',
  groupWait = 5 * MINUTE,
  meters = createMeters(),
) {
  await renewReplica(database.sql, { id: replica, process: 'test', ttl: 60_000 });
  const epoch = (await takeLease(database.sql, { name: 'judge', replica })) ?? -1;
  const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
  return alertFirstLooks(
    {
      sql: database.sql,
      log: createLogger({ level: 'info', destination }),
      meters,
      policy: { groupWait, quietFor: 0, groupInterval: 0, repeatInterval: 0 },
    },
    { now, lease: { name: 'judge', replica, epoch }, recipients: async () => () => [1], ...change },
  );
}

const at = (moment: number) => database.sql`to_timestamp(${moment}::float8 / 1000)`;

/** Somebody was found at a site that had answered first a quarter of an hour before. */
const found = (site = 'se', when = FOUND) =>
  database.sql`
    update purchase_watch_internal.sites set first_success_at = ${at(when - 15 * MINUTE)}, first_look_since = ${at(when)} where name = ${site}`;

/** Purchases of a state, stuck or not, registered so long before the first answer. */
async function purchases(
  count: number,
  { state = 6 as number | null, overdue = true, before = MINUTE, site = 'se' } = {},
): Promise<void> {
  const stuck = overdue ? FOUND : null;
  const since = state === null ? null : FOUND - 15 * MINUTE;
  await database.sql`
    insert into purchase_watch.purchases (purchase_id, site, registered_at, state, state_since, stuck_since)
    select gen_random_uuid()::text, ${site}, ${at(FOUND - 15 * MINUTE - before)}, ${state}::integer,
      to_timestamp(${since}::float8 / 1000), to_timestamp(${stuck}::float8 / 1000) from generate_series(1, ${count})`;
}

async function said(): Promise<Record<string, unknown>[]> {
  const rows = await database.sql<{ body: string }[]>`
    select body from purchase_watch_internal.events where type = 'incident.first_look' order by position`;
  return rows.map(({ body }) => (JSON.parse(body) as { data: Record<string, unknown> }).data);
}

test('who was there before us is told in one message, five minutes after the first was found', async () => {
  await found();
  await purchases(3);
  await purchases(5, { state: 4 });
  // They came after the first answer, wait no longer, or were never seen.
  await purchases(2, { before: -MINUTE });
  await purchases(4, { overdue: false });
  await purchases(6, { state: null, overdue: false });
  expect(await alert(FOUND + 5 * MINUTE - 1)).toEqual({ written: 0, lookAgainAt: FOUND + 5 * MINUTE });
  expect(await alert(FOUND + 5 * MINUTE)).toEqual({ written: 1, lookAgainAt: null });
  expect(await said()).toEqual([
    {
      kind: 'first_look',
      site: 'se',
      count: 8,
      parts: [
        { state: { value: 4, name: 'WaitingForIdentityProvider' }, count: 5 },
        { state: { value: 6, name: 'WaitingForCardPayments' }, count: 3 },
      ],
      registered: 20,
      unseen: 6,
      since: new Date(FOUND - 15 * MINUTE).toISOString(),
    },
  ]);
  expect(await database.sql`select subscriber, status from purchase_watch_internal.deliveries`).toEqual([
    { subscriber: 1, status: 'pending' },
  ]);
  expect(log.map((line) => JSON.parse(line) as object)).toMatchObject([{ event: 'incident.first_look', site: 'se', count: 8 }]);
});

test('people are alerted groupWait after the last one got stuck, and five minutes after the first at the latest', async () => {
  const soon = (now: number) => alert(now, {}, 'a', 30_000);
  await found();
  await purchases(3);
  expect(await soon(FOUND + 29_000)).toEqual({ written: 0, lookAgainAt: FOUND + 30_000 });
  await database.sql`update purchase_watch.purchases set stuck_since = ${at(FOUND + 20_000)} where id = (select max(id) from purchase_watch.purchases)`;
  expect(await soon(FOUND + 30_000)).toEqual({ written: 0, lookAgainAt: FOUND + 50_000 });
  await database.sql`update purchase_watch.purchases set stuck_since = ${at(FOUND + 290_000)} where id = (select max(id) from purchase_watch.purchases)`;
  expect(await soon(FOUND + 299_000)).toEqual({ written: 0, lookAgainAt: FOUND + 300_000 });
  expect(await soon(FOUND + 300_000)).toEqual({ written: 1, lookAgainAt: null });
});

test('it is told once for ever: after a restart, by another replica, and when somebody is found again', async () => {
  await found();
  await purchases(3);
  await alert(FOUND + 5 * MINUTE);
  await alert(FOUND + 6 * MINUTE);
  await database.sql`delete from purchase_watch_internal.replicas`;
  await alert(FOUND + 7 * MINUTE, {}, 'b');
  await found();
  expect(await alert(FOUND + 8 * MINUTE, {}, 'b')).toEqual({ written: 0, lookAgainAt: null });
  expect(await said()).toHaveLength(1);
});

test('after months of downtime it is told all the same', async () => {
  await found();
  await purchases(3);
  await alert(FOUND + 90 * 86_400_000);
  expect(await said()).toHaveLength(1);
});

test('nothing is told when all have gone on by then, nor later', async () => {
  await found();
  await purchases(3, { overdue: false });
  expect(await alert(FOUND + 5 * MINUTE)).toEqual({ written: 0, lookAgainAt: null });
  await purchases(3);
  await alert(FOUND + 10 * MINUTE);
  expect(await said()).toEqual([]);
  expect(log).toEqual([]);
});

test('each site has its own', async () => {
  await found();
  await found('no', FOUND + 2 * MINUTE);
  await purchases(1);
  await purchases(2, { site: 'no' });
  expect(await alert(FOUND + 5 * MINUTE)).toEqual({ written: 1, lookAgainAt: FOUND + 7 * MINUTE });
  await alert(FOUND + 7 * MINUTE);
  expect((await said()).map(({ site, count }) => [site, count])).toEqual([
    ['se', 1],
    ['no', 2],
  ]);
});

test('the site that is due first decides when to look again, and of its customers the one who waits longest counts', async () => {
  await found();
  await found('no', FOUND + 2 * MINUTE);
  await purchases(1);
  await purchases(1, { state: 4 });
  await database.sql`update purchase_watch.purchases set state_since = ${at(FOUND - 20 * MINUTE)} where state = 6`;
  expect(await alert(FOUND + MINUTE)).toEqual({ written: 0, lookAgainAt: FOUND + 5 * MINUTE });
  const meters = createMeters();
  await alert(FOUND + 5 * MINUTE, {}, 'a', 5 * MINUTE, meters);
  expect((await said()).map(({ since }) => since)).toEqual([new Date(FOUND - 20 * MINUTE).toISOString()]);
  expect(meters.events().get('incident.first_look')).toBe(1);
});

test('where people were alerted of each stuck checkout, only channels for incidents are', async () => {
  await found();
  await found('no', FOUND + 2 * MINUTE);
  await purchases(2);
  await purchases(2, { site: 'no' });
  await database.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('@other', 'slack', 'people', 'b')`;
  const channels = [
    { name: '@each', sites: null, severity: 'warning', stuck: 'each' },
    { name: '@incidents', sites: null, severity: 'warning', stuck: 'incidents' },
  ] as const;
  const recipients: AlertMoment['recipients'] =
    async (isWanted = () => true) =>
    () =>
      channels.flatMap((channel, id) => (isWanted(channel) ? [id + 1] : []));
  const alerted = (site: string) => database.sql`
    insert into purchase_watch_internal.stuck_alerts (purchase, site, state, state_since, stuck_at, first_sight, alerted_at, mode)
    select id, site, state, state_since, stuck_since, true, now(), 'each' from purchase_watch.purchases where site = ${site}`;
  await alerted('se');
  await alert(FOUND + 5 * MINUTE, { recipients });
  await alert(FOUND + 7 * MINUTE, { recipients });
  const told = await database.sql`
    select e.site, array_agg(d.subscriber order by d.subscriber) as subscribers
    from purchase_watch_internal.deliveries d join purchase_watch_internal.events e on e.position = d.event group by e.site order by 1`;
  expect(told.map(({ site, subscribers }) => [site, subscribers])).toEqual([
    ['no', [1, 2]],
    ['se', [2]],
  ]);
});

test('without a channel the log says it, and that was it', async () => {
  await found();
  await purchases(3);
  expect(await alert(FOUND + 5 * MINUTE, { recipients: async () => () => [] })).toEqual({ written: 0, lookAgainAt: null });
  await alert(FOUND + 6 * MINUTE);
  expect(await said()).toEqual([]);
  expect(log).toHaveLength(1);
});

test('whoever judges no longer says nothing, and it is still to be told', async () => {
  await found();
  await purchases(3);
  const lease = { name: 'judge', replica: 'a', epoch: 99 };
  expect(await alert(FOUND + 5 * MINUTE, { lease })).toEqual({ written: 0, lookAgainAt: null });
  expect(await said()).toEqual([]);
  expect(log).toEqual([]);
  await alert(FOUND + 6 * MINUTE);
  expect(await said()).toHaveLength(1);
});

test('when an earlier statement whose answer was lost has told it, a second one tells nothing', async () => {
  await found();
  await renewReplica(database.sql, { id: 'a', process: 'test', ttl: 60_000 });
  const lease = { name: 'judge', replica: 'a', epoch: (await takeLease(database.sql, { name: 'judge', replica: 'a' }))! };
  const draft = { type: 'incident.first_look', sequence: null, at: FOUND, state: null, data: {} } as const;
  const looks = { sites: ['se'], events: [{ site: 'se', purchase: null, shard: 0, recipients: [1], draft }], now: FOUND, lease };
  expect(await saveFirstLooks(database.sql, looks)).toEqual(['se']);
  expect(await saveFirstLooks(database.sql, looks)).toEqual([]);
  expect(await said()).toHaveLength(1);
});

test('an event that cannot be written leaves it to be told', async () => {
  await found();
  await purchases(3);
  const { sql } = database;
  await sql`create function fail() returns trigger language plpgsql as $$ begin raise 'killed'; end $$`;
  await sql`create trigger fail before insert on purchase_watch_internal.deliveries for each row execute function fail()`;
  await expect(alert(FOUND + 5 * MINUTE)).rejects.toThrow('killed');
  await sql`drop trigger fail on purchase_watch_internal.deliveries`;
  await alert(FOUND + 6 * MINUTE);
  expect(await said()).toHaveLength(1);
});
