import { afterEach, beforeEach, expect, test } from 'vitest';
import { createUpkeep, type Upkeep } from '../../../src/daemon/upkeep/upkeep.ts';
import type { SkippedTime } from '../../../src/domain/values/clock-steps.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { releaseReplica, renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { foldAppended } from '../../../src/postgres/upkeep/folding.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { startTestApp } from '../../support/test-app.ts';
import { type TestClock, testClock } from '../../support/test-clock.ts';

const DAY = 86_400_000;
/** Twelve hours from now in UTC, so that no test runs across it by itself. */
const middle = new Date(Date.now() + DAY / 2);
const AT = `${middle.getUTCMinutes()} ${middle.getUTCHours()} * * *`;
let database: TestDatabase;
let clock: TestClock;
let log: string[];
let skipped: SkippedTime;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
  clock = testClock();
  log = [];
  skipped = [];
});
afterEach(() => database.drop());

async function upkeepOf(replica: string, retention = {}): Promise<Upkeep> {
  await renewReplica(database.sql, { id: replica, process: 'test', ttl: 60_000 });
  const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
  return createUpkeep({
    sql: database.sql,
    clock,
    skipped: () => skipped,
    log: createLogger({ level: 'info', destination }),
    replica,
    retention: { settled: 90 * DAY, attempts: 30 * DAY, events: 90 * DAY, trends: 400 * DAY, at: AT, ...retention },
  });
}

async function keep(upkeep: Upkeep): Promise<void> {
  while ((await upkeep.tick()) <= 1_000);
}

async function addEnded(count: number): Promise<void> {
  await database.sql`
    insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, ended_at)
    select 'p-' || n || clock_timestamp(), 'se', 'settled', 2, now(), now() - interval '100 days' from generate_series(1, ${count}) n`;
  await database.sql`update purchase_watch.purchases set next_poll_at = null, due_slot = null`;
}

const left = async (): Promise<number> =>
  (await database.sql<[{ count: number }]>`select count(*)::int as count from purchase_watch.purchases`)[0].count;

test('a database clock that skips time makes nothing old enough to be deleted', async () => {
  const upkeep = await upkeepOf('a');
  await addEnded(3);
  // Ten days more than the purchases need are what the clock skipped.
  skipped = [{ from: clock.now() - 30 * DAY, until: clock.now() - 10 * DAY }];
  clock.advance('24h');
  await keep(upkeep);
  expect(await left()).toBe(3);
  clock.advance('240h');
  await keep(upkeep);
  expect(await left()).toBe(0);
});

test('old purchases go at the set time, once, with one line that says how many', async () => {
  const upkeep = await upkeepOf('a');
  await addEnded(3);
  await keep(upkeep);
  expect(await left()).toBe(3);
  clock.advance('24h');
  await keep(upkeep);
  expect(await left()).toBe(0);
  await addEnded(2);
  await keep(upkeep);
  expect(await left()).toBe(2);
  const lines = log.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toMatchObject([{ event: 'retention.done', purchases: 3, attempts: 0, siteEvents: 0, incidents: 0 }]);
});

test('a run of a clock that was set back since does not keep others waiting until that clock catches up', async () => {
  const upkeep = await upkeepOf('a');
  await keep(upkeep);
  const { sql } = database;
  await sql`update purchase_watch_internal.leases set done_at = now() + interval '90 days' where name = 'upkeep'`;
  await sql`update purchase_watch_internal.renewals set renewed_at = now() + interval '91 days'`;
  await addEnded(1);
  await keep(upkeep);
  expect(await left()).toBe(0);
  await addEnded(1);
  await keep(upkeep);
  expect(await left()).toBe(1);
  expect(log.join('')).toMatch(/"byMs":-78\d+,.*clock\.step_followed/);
});

test('a run that was missed while no daemon ran is done by the next one', async () => {
  await addEnded(1);
  await database.sql`update purchase_watch_internal.leases set done_at = now() - interval '3 days' where name = 'upkeep'`;
  await keep(await upkeepOf('a'));
  expect(await left()).toBe(0);
});

test('what is kept for ever stays', async () => {
  await addEnded(1);
  const forever = Number.POSITIVE_INFINITY;
  const upkeep = await upkeepOf('a', { settled: forever, attempts: forever, events: forever, trends: forever });
  clock.advance('24h');
  await keep(upkeep);
  expect(await left()).toBe(1);
  expect(log.join()).toContain('retention.done');
});

test('one replica at a time does it, and the next one goes on where it ended', async () => {
  await addEnded(1_200);
  while (await foldAppended(database.sql));
  await database.sql`update purchase_watch_internal.leases set done_at = now() - interval '3 days' where name = 'upkeep'`;
  const [a, b] = [await upkeepOf('a'), await upkeepOf('b')];
  expect(await a.tick()).toBeLessThanOrEqual(1_000);
  expect(await left()).toBe(1_000);
  await keep(b);
  expect(await left()).toBe(1_000);
  // The first one ends in the middle of its run.
  await releaseReplica(database.sql, 'a');
  await keep(b);
  expect(await left()).toBe(0);
  expect(log.map((line) => (JSON.parse(line) as { purchases: number }).purchases)).toEqual([1_000]);
});

test('counters are folded', async () => {
  const upkeep = await upkeepOf('a');
  await addEnded(3);
  const unfolded = async () =>
    (await database.sql<[{ count: number }]>`select count(*)::int as count from purchase_watch_internal.count_changes`)[0].count;
  expect(await unfolded()).toBeGreaterThan(0);
  await keep(upkeep);
  expect(await unfolded()).toBe(0);
  const [total] = await database.sql`select sum(count)::int as count from purchase_watch_internal.purchase_counts`;
  expect(total).toEqual({ count: 3 });
});

test('what came for a subscriber while it was being deleted is given up', async () => {
  const { sql } = database;
  await sql`
    with gone as (
      insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, configured, deleted_at)
      values ('books', 'webhook', 'systems', '', false, now()) returning id),
    event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      values ('evt_1', 'site.reachable', 'se', 0, now(), '{}') returning position)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at) select position, 0, id, 0, now() from event, gone`;
  // One that another session has locked keeps upkeep from nothing, and goes with a later run.
  await sql.begin(async (tx) => {
    await tx`select from purchase_watch_internal.deliveries for update`;
    await keep(await upkeepOf('one'));
  });
  expect(await sql`select status from purchase_watch_internal.deliveries`).toEqual([{ status: 'pending' }]);
  await keep(await upkeepOf('one'));
  expect(await sql`select status from purchase_watch_internal.deliveries`).toEqual([{ status: 'suppressed' }]);
});

test('what waits for a channel for people that is off is given up after three days, unless its incident goes on', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, status) values
      ('@slack', 'slack', 'people', '', 'off'), ('@slack-ops', 'slack', 'people', '', 'active'), ('books', 'webhook', 'systems', '', 'off')`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, ended_at)
    select 'inc_' || n, 'stuck', 'se', n, now(), now(), 1, 1, case n when 1 then now() end from generate_series(1, 2) n`;
  await sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body, incident)
      select 'evt_' || n, 'incident.opened', 'se', 0, now() - make_interval(days => days), '{}', incident
      from (values (1, 4, 'inc_1'), (2, 4, 'inc_2'), (3, 2, 'inc_1'), (4, 4, null)) as v (n, days, incident)
      returning position, id)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select e.position, 0, s.id, 0, now() from event e, purchase_watch_internal.subscribers s`;
  await keep(await upkeepOf('one'));
  const given = await sql`
    select s.name, e.id, d.last_error from purchase_watch_internal.deliveries d join purchase_watch_internal.events e on e.position = d.event
    join purchase_watch_internal.subscribers s on s.id = d.subscriber where d.status = 'suppressed' order by e.id`;
  const lastError = 'The channel was switched off for days after it was made.';
  expect(given).toEqual([
    { name: '@slack', id: 'evt_1', lastError },
    { name: '@slack', id: 'evt_4', lastError },
  ]);
});

test('the daemon keeps house, and forgets nothing that it still polls', async () => {
  const t = await startTestApp({ inventsEvents: true });
  try {
    const paid = await t.watch({ script: [{ state: 'Completed' }] });
    const waiting = await t.watch({ script: [{ state: 'New' }] });
    await t.live(20_000);
    expect(t.changesOf(paid)).toEqual(['Completed']);
    t.clock.advance(`${92 * DAY}ms`);
    await t.app.keepOnce();
    const rows = await t.app.sql<{ id: string }[]>`select purchase_id as id from purchase_watch.purchases`;
    expect(rows.map(({ id }) => id)).toEqual([waiting]);
  } finally {
    await t.stop();
  }
});
