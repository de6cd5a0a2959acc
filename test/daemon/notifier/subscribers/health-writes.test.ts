/** What is written of a subscriber's health, with a real database; what other replicas do then is tested in stories/failing-subscriber. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { endOwnFailures, noteOwnFailure, setHealth } from '../../../../src/daemon/notifier/subscribers/health-in-memory.ts';
import { createHealthWrites } from '../../../../src/daemon/notifier/subscribers/health-writes.ts';
import type { SubscriberHealth } from '../../../../src/domain/deliveries/subscriber-health.ts';
import { syncSites } from '../../../../src/postgres/polling/sites.ts';
import { renewReplica } from '../../../../src/postgres/shards/replicas.ts';
import { type TestDatabase, testDatabase } from '../../../support/database.ts';
import { refuseWrites } from '../../../support/refused-writes.ts';
import { aLog, aSubscriber, NOW } from '../parts.ts';

const MINUTE = 60_000;
const PAUSED = { failures: 4, pauses: 1, failingSince: NOW, pausedUntil: NOW + MINUTE, lastError: 'No.', cause: 'http_503' };
/** The receiver asked for it. */
const ASKED = { ...PAUSED, failures: 1, pauses: 0 };

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['default']);
  // Id 1.
  await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('shop', 'webhook', 'systems', 'x')`;
  for (const id of ['me', 'other']) await renewReplica(sql, { id, process: 'test', ttl: 60 * MINUTE });
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.sql`truncate purchase_watch_internal.events, purchase_watch_internal.deliveries, purchase_watch_internal.subscriber_health cascade`;
});

function writing() {
  const { log, logged } = aLog();
  const clock = { now: () => NOW, monotonic: () => 0, sleep: async () => {} };
  const writes = createHealthWrites({ sql: database.sql, clock, log, replica: 'me' });
  const subscriber = aSubscriber({ allowed: 'digest' });
  subscriber.reading.begin()(NOW, false);
  return {
    ...{ writes, subscriber, logged },
    /** The subscriber's health is this now, and is written if need be. */
    save: async (health: SubscriberHealth | null): Promise<void> => {
      setHealth(subscriber.health, health);
      await writes.save(subscriber);
      await writes.quiet();
    },
    /** So many failures on this side, each begun after the one before had ended. */
    ours: (count: number): void => {
      for (let at = 0; at < count; at++) noteOwnFailure(subscriber.health, NOW + MINUTE, NOW + at, 'No route.');
    },
  };
}

/** The subscriber's health as it is stored, in a few words. */
async function stored(): Promise<string[]> {
  const rows = await database.sql<Record<string, unknown>[]>`
    select failures, (extract(epoch from paused_until) * 1000)::float8 - ${NOW}::float8 as paused, allowed, our_failures as ours, our_replica as by
    from purchase_watch_internal.subscriber_health`;
  return rows.map((row) => Object.values(row).join(' '));
}

/** A delivery that waits for a minute after so many attempts, of which so many failed on this side; answers in how long each is due. */
async function waiting(attempts: number, before = 0) {
  await database.sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      values ('evt_' || gen_random_uuid(), 'site.reachable', 'default', 0, now(), '{}') returning position)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, attempts, attempts_before)
    select position, position, 1, 0, to_timestamp(${NOW + MINUTE}::float8 / 1000), ${attempts}, ${before} from event`;
}
async function due(): Promise<number[]> {
  const rows = await database.sql<{ wait: number }[]>`
    select (extract(epoch from due_at) * 1000)::float8 - ${NOW}::float8 as wait from purchase_watch_internal.deliveries order by id`;
  return rows.map(({ wait }) => wait);
}
/** A delivery that some replica got through at this time. */
const taken = (at: number) => database.sql`
  with event as (
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
    values ('evt_taken', 'site.reachable', 'default', 0, now(), '{}') returning position)
  insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, attempts, settled_at)
  select position, position, 1, 0, now(), 'delivered', 1, to_timestamp(${at}::float8 / 1000) from event`;

test('the first failures are kept in memory only, and a pause is written once', async () => {
  const { save, subscriber } = writing();
  await taken(NOW + 1);
  const first = { ...PAUSED, failures: 3, pausedUntil: null };
  await save(first);
  expect([await stored(), subscriber.health.saved, subscriber.health.current]).toEqual([[], null, first]);
  await database.sql`delete from purchase_watch_internal.deliveries`;
  await save(PAUSED);
  expect([await stored(), subscriber.health.saved]).toEqual([[`4 ${MINUTE} digest 0 `], PAUSED]);
  await database.sql`delete from purchase_watch_internal.subscriber_health`;
  await save(PAUSED);
  // Failures of attempts that had begun before the pause are no news.
  await save({ ...PAUSED, lastError: 'Again.' });
  expect([await stored(), subscriber.health.saved]).toEqual([[], PAUSED]);
  await save({ ...PAUSED, failures: 5, pausedUntil: NOW + 2 * MINUTE });
  expect(await stored()).toEqual([`5 ${2 * MINUTE} digest 0 `]);
});

test('a subscriber that takes events again has no failures in the database', async () => {
  const { save, subscriber } = writing();
  await save(PAUSED);
  await save(null);
  expect([await stored(), subscriber.health.saved]).toEqual([[], null]);
});

test('a pause ends before it begins where another replica got through meanwhile: only some events fail', async () => {
  const { save, subscriber, logged } = writing();
  await taken(NOW + 1);
  await save(PAUSED);
  expect([await stored(), subscriber.health.current, subscriber.reading.mayHoldMore]).toEqual([[], null, true]);
  expect(logged).toMatchObject([
    { event: 'subscriber.resumed', subscriber: 'shop', failures: 4, detail: expect.stringContaining('got through') },
  ]);
});

test.each([
  ['what was taken before the first failure', PAUSED, NOW - 1],
  ['what was taken meanwhile, where the receiver asked for the pause', ASKED, NOW + 1],
])('a pause begins whatever %s', async (_, health, at) => {
  const { save, subscriber, logged } = writing();
  await taken(at);
  await save(health);
  expect([await stored(), subscriber.health.current, logged]).toEqual([[`${health.failures} ${MINUTE} digest 0 `], health, []]);
});

test('a pause that is known is not asked about again when it grows', async () => {
  const { save, subscriber } = writing();
  await save(PAUSED);
  await taken(NOW + 1);
  const longer = { ...PAUSED, failures: 5, pausedUntil: NOW + 2 * MINUTE };
  await save(longer);
  expect(subscriber.health.current).toBe(longer);
});

test('a pause that another one took the place of, while the database was asked, is not ended', async () => {
  const { writes, subscriber, logged } = writing();
  await taken(NOW + 1);
  setHealth(subscriber.health, PAUSED);
  const saved = writes.save(subscriber);
  const longer = { ...PAUSED, failures: 5, pausedUntil: NOW + 2 * MINUTE };
  setHealth(subscriber.health, longer);
  await saved;
  expect([subscriber.health.current, logged]).toEqual([longer, []]);
});

test('that this replica does not reach a subscriber is written from the fourth failure on, each time it is news', async () => {
  const { save, ours, subscriber } = writing();
  ours(3);
  await save(null);
  expect(await stored()).toEqual([]);
  ours(4);
  await save(null);
  expect([await stored(), subscriber.health.own.saved?.error]).toEqual([['0   7 me'], 'No route.']);
  await database.sql`delete from purchase_watch_internal.subscriber_health`;
  await save(null);
  expect(await stored(), 'as often as before').toEqual([]);
});

test('once this replica reaches a subscriber again, deliveries that waited for that alone are due', async () => {
  const { save, ours, subscriber, logged } = writing();
  ours(4);
  await save(null);
  await waiting(2, 2);
  await waiting(2, 1);
  endOwnFailures(subscriber.health);
  await save(null);
  expect([await stored(), subscriber.health.own.saved, await due()]).toEqual([[], null, [0, MINUTE]]);
  expect(subscriber.reading.mayHoldMore).toBe(true);
  expect(logged).toMatchObject([{ event: 'delivery.brought_forward', subscriber: 'shop', deliveries: 1 }]);
  await waiting(2, 2);
  await save(null);
  expect((await due()).at(-1), 'once').toBe(MINUTE);
});

test('a failure that follows at once keeps what is known of the failures before it', async () => {
  const { save, ours, subscriber } = writing();
  ours(4);
  await save(null);
  endOwnFailures(subscriber.health);
  ours(1);
  await save(null);
  expect([await stored(), subscriber.health.own.saved?.failures]).toEqual([['0   4 me'], 4]);
});

test('of a subscriber that is well nothing is asked', async () => {
  const { save } = writing();
  const asked: string[] = [];
  database.sql.options.debug = (_: number, statement: string) => asked.push(statement);
  await save(null);
  database.sql.options.debug = () => undefined;
  expect(asked).toEqual([]);
});

test('a replica that never failed to reach the subscriber writes nothing of that, and brings nothing forward', async () => {
  const { save } = writing();
  await database.sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, our_failures, our_failing_since, our_replica) values (1, 4, now(), 'me')`;
  await waiting(2, 2);
  await save(null);
  expect([await stored(), await due()]).toEqual([['0   4 me'], [MINUTE]]);
});

test.each([
  ['another replica does not reach it either', null, 'other'],
  ['the subscriber itself is paused', PAUSED, 'me'],
])('they wait on where %s', async (_, health, by) => {
  const { save, ours, subscriber } = writing();
  ours(4);
  await save(health);
  await database.sql`update purchase_watch_internal.subscriber_health set our_replica = ${by}`;
  await waiting(2, 2);
  endOwnFailures(subscriber.health);
  await save(health);
  expect(await due()).toEqual([MINUTE]);
});

test('what was to be freed for another reason is freed for that one', async () => {
  const { writes, save, ours, subscriber } = writing();
  ours(4);
  await save(null);
  await waiting(1);
  endOwnFailures(subscriber.health);
  writes.free(subscriber, { kind: 'all' });
  await save(null);
  expect(await due()).toEqual([0]);
});

test('where nothing waits, nothing is logged, and the outbox is not read again', async () => {
  const { writes, save, subscriber, logged } = writing();
  writes.free(subscriber, { kind: 'all' });
  await save(null);
  expect([logged, subscriber.reading.mayHoldMore]).toEqual([[], false]);
});

test('waits that could not be ended are ended after the next attempt', async () => {
  const { writes, save, subscriber, logged } = writing();
  await waiting(1);
  const repair = await refuseWrites(database.sql, [['purchase_watch_internal.deliveries', 'update']]);
  writes.free(subscriber, { kind: 'all' });
  await save(null);
  await repair();
  expect(logged).toMatchObject([{ level: 'warn', event: 'delivery.not_brought_forward', subscriber: 'shop' }]);
  expect(await due()).toEqual([MINUTE]);
  await save(null);
  expect(await due()).toEqual([0]);
});

test('of two reasons to end waits the later one holds, though the statement for the earlier one fails after it', async () => {
  const { writes, save, subscriber } = writing();
  await waiting(1);
  const repair = await refuseWrites(database.sql, [['purchase_watch_internal.deliveries', 'update']]);
  writes.free(subscriber, { kind: 'all' });
  await writes.save(subscriber);
  writes.free(subscriber, { kind: 'ours' });
  await writes.quiet();
  await repair();
  await save(null);
  expect(await due()).toEqual([MINUTE]);
});
