/** The dead man's switch: a real server is called, with a real database behind what is known of channels and leases. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createHeartbeat } from '../../src/heartbeat/heartbeat.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { lastHeartbeat } from '../../src/store/heartbeat.ts';
import { renewReplica, takeLease } from '../../src/store/replicas.ts';
import { switchOff } from '../../src/store/subscribers.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { type StandIn, startStandIn } from '../support/stand-in.ts';
import { testClock } from '../support/test-clock.ts';

const MINUTE = 60_000;
const SECRET_PATH = '/ping/a-secret-id';

interface Call {
  readonly path: string;
  readonly body: string;
}

let database: TestDatabase;
let monitor: StandIn<Call>;
let log: string[];
beforeEach(async () => {
  database = await testDatabase();
  monitor = await startStandIn<Call>(({ path, body }) => ({ kept: { path, body } }));
  log = [];
  for (const id of ['rep_1', 'rep_2']) await renewReplica(database.sql, { id, process: id, ttl: 10 * MINUTE });
});
afterEach(async () => {
  await monitor.stop();
  await database.drop();
});

/** A heartbeat whose loops did their work so long ago. */
function heartbeat({ replica = 'rep_1', goodAgo = {}, timeout = 500 }: Options = {}) {
  const now = Date.now();
  const loops = Object.entries({ poller: 0, judge: 0, keeper: 0, ...goodAgo }).map(([name, ago]) => ({
    ...{ name, ok: true, error: null },
    lastGoodAt: ago === null ? null : now - ago,
  }));
  const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
  return createHeartbeat({
    ...{ sql: database.sql, clock: testClock(), replica, timeout },
    url: `${monitor.origin}${SECRET_PATH}`,
    log: createLogger({ level: 'debug', destination }),
    health: { loops: () => loops },
    wallNow: () => now,
  });
}
interface Options {
  readonly replica?: string;
  readonly goodAgo?: Readonly<Record<string, number | null>>;
  readonly timeout?: number;
}

const said = () =>
  log.map((line) => JSON.parse(line)).map(({ event, detail }) => (detail === undefined ? event : `${event}: ${detail}`));

test('while all is well it is called every minute, and that is remembered', async () => {
  const beat = heartbeat();
  expect(await lastHeartbeat(database.sql)).toBeNull();
  expect(await beat.tick()).toBe(MINUTE);
  expect(await beat.tick()).toBe(MINUTE);
  expect(monitor.received).toEqual([
    { path: SECRET_PATH, body: '' },
    { path: SECRET_PATH, body: '' },
  ]);
  expect(await lastHeartbeat(database.sql)).toBeGreaterThan(Date.now() - MINUTE);
  expect(said()).toEqual([]);
  await beat.close();
});

test.each([
  ['the judge hangs', { judge: 2 * MINUTE + 1 }, 'The judge has not done its work for two minutes.'],
  ['the poller hangs', { poller: 60 * MINUTE }, 'The poller has not done its work for two minutes.'],
])('when %s it is not called, and why is said once', async (_when, goodAgo, reason) => {
  const beat = heartbeat({ goodAgo });
  for (let times = 0; times < 3; times++) expect(await beat.tick()).toBeLessThan(MINUTE);
  expect(monitor.received).toEqual([]);
  expect(said()).toEqual([`heartbeat.withheld: ${reason}`]);
  await beat.close();
});

test('a loop that rests for less than two minutes, and one that nobody needs, do not matter', async () => {
  const beat = heartbeat({ goodAgo: { judge: 2 * MINUTE, keeper: 24 * 60 * MINUTE } });
  await beat.tick();
  expect(monitor.received).toHaveLength(1);
  await beat.close();
});

test('right after the start it waits without a word', async () => {
  const beat = heartbeat({ goodAgo: { judge: null } });
  expect(await beat.tick()).toBeLessThan(10_000);
  expect([monitor.received, said()]).toEqual([[], []]);
  await beat.close();
});

test('only the replica that judges calls it, and another one when that is gone', async () => {
  await takeLease(database.sql, { name: 'judge', replica: 'rep_2' });
  const beat = heartbeat();
  await beat.tick();
  expect(monitor.received).toEqual([]);
  await database.sql`delete from purchase_watch.replicas where id = 'rep_2'`;
  await beat.tick();
  expect(monitor.received).toHaveLength(1);
  await beat.close();
});

test('when the last channel for people is broken it is not called until one takes messages again', async () => {
  const { sql } = database;
  await sql`insert into purchase_watch.subscribers (name, kind, address_hash) values ('@slack', 'slack', 'a'), ('@slack-ops', 'slack', 'b')`;
  const ids = await sql<{ id: number }[]>`select id from purchase_watch.subscribers order by id`;
  const beat = heartbeat();
  await switchOff(sql, { subscriber: ids[0]!.id, reason: 'no_service' });
  await beat.tick();
  expect(monitor.received).toHaveLength(1);
  await switchOff(sql, { subscriber: ids[1]!.id, reason: 'no_service' });
  await beat.tick();
  await beat.tick();
  expect(monitor.received).toHaveLength(1);
  await sql`update purchase_watch.subscribers set status = 'active' where name = '@slack'`;
  await beat.tick();
  expect(monitor.received).toHaveLength(2);
  expect(said()).toEqual(['heartbeat.withheld: No channel for people takes messages.', 'heartbeat.resumed']);
  await beat.close();
});

test('what goes wrong on the way is said once, without the address, until it works again', async () => {
  const beat = heartbeat();
  const target = await startStandIn<Call>(({ path, body }) => ({ kept: { path, body } }));
  monitor.respond({ status: 302, headers: { location: `${target.origin}/elsewhere` } }, { status: 302 }, { status: 500 });
  for (let times = 0; times < 3; times++) expect(await beat.tick()).toBe(15_000);
  expect(target.received).toEqual([]);
  await target.stop();
  expect(await lastHeartbeat(database.sql)).toBeNull();
  monitor.respond({ hang: 'answer' }, { reset: 'answer' });
  await beat.tick();
  await beat.tick();
  await beat.tick();
  expect(said()).toEqual([
    'heartbeat.failed: It answered 302.',
    'heartbeat.failed: It answered 500.',
    'heartbeat.failed: It did not answer within 500 ms.',
    expect.stringMatching(/^heartbeat\.failed: No answer came \(\w+\)\.$/),
    'heartbeat.resumed',
  ]);
  expect(log.join('')).not.toContain('a-secret-id');
  await beat.close();
});

test('an endless answer is not read', async () => {
  const beat = heartbeat();
  monitor.respond({ trickle: 10, body: 'x'.repeat(1_000) });
  const began = performance.now();
  expect(await beat.tick()).toBe(MINUTE);
  expect(performance.now() - began).toBeLessThan(2_000);
  await beat.close();
});

test('without a database nothing is called', async () => {
  const beat = heartbeat();
  await database.sql.end();
  await expect(beat.tick()).rejects.toThrow();
  expect(monitor.received).toEqual([]);
  await beat.close();
});

test('a stop breaks off a call that is under way, without a word', async () => {
  const beat = heartbeat({ timeout: 20_000 });
  monitor.respond({ hang: 'answer' });
  const calling = beat.tick();
  await monitor.waitFor((received) => received.length === 1);
  await beat.close();
  await calling;
  expect(said()).toEqual([]);
});
