/** The dead man's switch: a real server is called, with a real database behind what is known of channels and leases. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDeadMansSwitch } from '../../../src/daemon/upkeep/dead-mans-switch.ts';
import { SITE_SHARD } from '../../../src/postgres/events/events.ts';
import { channelsForPeople, lastSwitchCall } from '../../../src/postgres/shards/dead-mans-switch.ts';
import { takeLease } from '../../../src/postgres/shards/leases.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { switchOff } from '../../../src/postgres/subscribers/subscribers.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { type StandIn, startStandIn } from '../../support/stand-in.ts';
import { testClock } from '../../support/test-clock.ts';

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

/** A dead man's switch whose loops did their work so long ago. */
function deadMansSwitch({
  replica = 'rep_1',
  goodAgo = {},
  failing = '',
  timeout = 10_000,
  monotonic = () => 0,
  proxy,
  origin = monitor.origin,
}: Options = {}) {
  const loops = Object.entries({ poller: 0, judge: 0, notifier: 0, ownership: 0, upkeep: 0, ...goodAgo }).map(([name, ago]) => ({
    ...{ name, goodAgo: ago },
    failing: name === failing ? { for: MINUTE, error: 'No space left on device (53100)' } : null,
  }));
  const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
  return createDeadMansSwitch({
    ...{ sql: database.sql, clock: { ...testClock(), now: Date.now, monotonic }, replica, timeout, ceilings: CEILINGS },
    url: `${origin.replace('127.0.0.1', proxy === undefined ? '127.0.0.1' : 'alive.example')}${SECRET_PATH}`,
    way: { proxy: proxy ?? null, by: 'HTTP_PROXY' },
    log: createLogger({ level: 'debug', destination }),
    health: { seen: () => loops },
  });
}
interface Options {
  readonly replica?: string;
  readonly goodAgo?: Readonly<Record<string, number | null>>;
  readonly failing?: string;
  readonly timeout?: number;
  readonly monotonic?: () => number;
  readonly proxy?: string;
  readonly origin?: string;
}
const CEILINGS = new Map([['@slack', 5]]);

test('it is called through a proxy, and one that fails is named without its password', async () => {
  const between = await startConnectProxy();
  const caller = deadMansSwitch({ proxy: `http://me:hush@127.0.0.1:${between.port}` });
  expect(await caller.tick()).toBe(MINUTE);
  expect(monitor.received).toHaveLength(1);
  between.answer(502);
  between.cut();
  expect(await caller.tick()).toBe(MINUTE / 4);
  expect(said()).toEqual([
    `dead_mans_switch.failed: The proxy 127.0.0.1:${between.port} (HTTP_PROXY) made no connection: it answered 502.`,
  ]);
  await Promise.all([caller.close(), between.stop()]);
});

const said = () =>
  log.map((line) => JSON.parse(line)).map(({ event, detail }) => (detail === undefined ? event : `${event}: ${detail}`));

test('while all is well it is called every minute, and that is remembered', async () => {
  const caller = deadMansSwitch();
  expect(await lastSwitchCall(database.sql)).toBeNull();
  expect(await caller.tick()).toBe(MINUTE);
  expect(await caller.tick()).toBe(MINUTE);
  expect(monitor.received).toEqual([
    { path: SECRET_PATH, body: '' },
    { path: SECRET_PATH, body: '' },
  ]);
  expect(await lastSwitchCall(database.sql)).toBeGreaterThan(Date.now() - MINUTE);
  expect(said()).toEqual([]);
  await caller.close();
});

test.each([
  ['the judge hangs', { judge: 2 * MINUTE + 1 }, 'The judge has not done its work for two minutes.'],
  ['the poller hangs', { poller: 60 * MINUTE }, 'The poller has not done its work for two minutes.'],
  ['the notifier hangs', { notifier: 60 * MINUTE }, 'The notifier has not done its work for two minutes.'],
])('when %s it is not called, and why is said once', async (_when, goodAgo, reason) => {
  const caller = deadMansSwitch({ goodAgo });
  for (let times = 0; times < 3; times++) expect(await caller.tick()).toBeLessThan(MINUTE);
  expect(monitor.received).toEqual([]);
  expect(said()).toEqual([`dead_mans_switch.withheld: ${reason}`]);
  await caller.close();
});

test.each(['poller', 'judge', 'notifier', 'ownership'])(
  'when the work of the %s fails for a minute it is not called',
  async (name) => {
    const caller = deadMansSwitch({ failing: name });
    for (let times = 0; times < 3; times++) expect(await caller.tick()).toBeLessThan(MINUTE);
    expect(monitor.received).toEqual([]);
    expect(said()).toEqual([
      `dead_mans_switch.withheld: The work of the ${name} has been failing for a minute; /readyz says why.`,
    ]);
    await caller.close();
  },
);

test('a loop that rests for less than two minutes, and one that nobody needs, do not matter', async () => {
  const caller = deadMansSwitch({ goodAgo: { judge: 2 * MINUTE, upkeep: 24 * 60 * MINUTE } });
  await caller.tick();
  expect(monitor.received).toHaveLength(1);
  await caller.close();
});

test.each(['poller', 'judge', 'notifier'])(
  'right after the start it waits for the %s without a word, for two minutes',
  async (loop) => {
    let elapsed = 0;
    const caller = deadMansSwitch({ goodAgo: { [loop]: null }, monotonic: () => elapsed });
    expect(await caller.tick()).toBeLessThan(10_000);
    elapsed = 2 * MINUTE;
    await caller.tick();
    expect([monitor.received, said()]).toEqual([[], []]);
    elapsed += 1;
    for (let times = 0; times < 3; times++) expect(await caller.tick()).toBeLessThan(MINUTE);
    expect(monitor.received).toEqual([]);
    expect(said()).toEqual([`dead_mans_switch.withheld: The ${loop} has not done its work for two minutes.`]);
    await caller.close();
  },
);

describe('what is due for a channel for people and does not leave', () => {
  const LATE = 'dead_mans_switch.withheld: Deliveries to @slack have been due for a quarter of an hour and have not left.';
  const at = (ago: number) => database.sql`to_timestamp(${Date.now() - ago}::float8 / 1000)`;
  /** Deliveries to a channel: so many that wait since so long, and messages taken so long ago. */
  async function lane({ dueAgo = null as number | null, takenAgo = [] as number[], channel = '@slack', kind = 'slack' } = {}) {
    const { sql } = database;
    const [known] = await sql<{ id: number }[]>`select id from purchase_watch_internal.subscribers where name = ${channel}`;
    const [made] = await sql<{ id: number }[]>`
      insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) select ${channel}, ${kind}, ${kind === 'slack' ? 'people' : 'systems'}, 'a' where ${known === undefined} returning id`;
    const { id } = (known ?? made)!;
    const add = async (columns: { ago: number; taken: boolean }) => {
      const [event] = await sql<{ position: number }[]>`
        insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
        values (gen_random_uuid()::text, 'incident.opened', '', ${SITE_SHARD}, now(), '{}') returning position::float8 as position`;
      await sql`
        insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at)
        values (${event!.position}, 0, ${id}, ${SITE_SHARD}, ${at(columns.ago)}, ${columns.taken ? 'delivered' : 'pending'},
          ${columns.taken ? at(columns.ago) : null})`;
    };
    for (const ago of takenAgo) await add({ ago, taken: true });
    if (dueAgo !== null) await add({ ago: dueAgo, taken: false });
    return id;
  }
  const health = async (subscriber: number, columns: { paused?: number; failing?: number; ours?: number }) =>
    database.sql`
      insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, our_failing_since)
      values (${subscriber}, 4, 1, ${columns.failing === undefined ? null : at(columns.failing)},
        ${columns.paused === undefined ? null : at(-columns.paused)}, ${columns.ours === undefined ? null : at(columns.ours)})`;
  async function called(): Promise<boolean> {
    const before = monitor.received.length;
    const caller = deadMansSwitch();
    await caller.tick();
    await caller.close();
    return monitor.received.length > before;
  }

  test('for more than a quarter of an hour holds it back, and is said once', async () => {
    await lane({ dueAgo: 16 * MINUTE });
    const caller = deadMansSwitch();
    for (let times = 0; times < 3; times++) expect(await caller.tick()).toBeLessThan(MINUTE);
    expect(monitor.received).toEqual([]);
    await database.sql`update purchase_watch_internal.deliveries set status = 'delivered', settled_at = now()`;
    await caller.tick();
    expect(monitor.received).toHaveLength(1);
    expect(said()).toEqual([LATE, 'dead_mans_switch.resumed']);
    await caller.close();
  });

  test('for less, later, or to a system does not', async () => {
    await lane({ dueAgo: 14 * MINUTE });
    await lane({ dueAgo: -60 * MINUTE });
    await lane({ dueAgo: 60 * MINUTE, channel: 'shop', kind: 'webhook' });
    expect(await called()).toBe(true);
  });

  test.each([
    ['paused for it failed', { paused: MINUTE, failing: 5 * MINUTE }],
    ['paused until one gets through', { paused: -MINUTE, failing: 5 * MINUTE }],
    ['not reached', { ours: 5 * MINUTE }],
  ])('does not while its channel is %s, which is told otherwise', async (_how, columns) => {
    await health(await lane({ dueAgo: 16 * MINUTE }), columns);
    expect(await called()).toBe(true);
  });

  test('does not while another channel hears and this one is off', async () => {
    await lane({ channel: '@slack-ops' });
    const off = await lane({ dueAgo: 16 * MINUTE });
    await database.sql`update purchase_watch_internal.subscribers set status = 'off' where id = ${off}`;
    expect(await called()).toBe(true);
  });

  test('does not while the hour has had its messages, nor right after', async () => {
    // The third of the five that an hour allows is the last for what is not urgent.
    const hourFull = [50, 55, 59].map((minutes) => minutes * MINUTE);
    await lane({ dueAgo: 45 * MINUTE, takenAgo: hourFull });
    expect(await called()).toBe(true);
    await database.sql`update purchase_watch_internal.deliveries set settled_at = settled_at - interval '10 minutes'`;
    expect(await called()).toBe(true);
    await database.sql`update purchase_watch_internal.deliveries set settled_at = settled_at - interval '10 minutes'`;
    expect(await called()).toBe(false);
  });

  test('is found at the front of its queue, however much waits', async () => {
    const id = await lane({ dueAgo: 16 * MINUTE });
    const { sql } = database;
    await sql`
      with event as (
        insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
        select 'evt_' || n, 'incident.opened', '', ${SITE_SHARD}, now(), '{}' from generate_series(1, 5000) n returning position)
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status)
      select position, 0, ${id}, ${SITE_SHARD}, now(), 'pending' from event`;
    await sql`analyze purchase_watch_internal.deliveries`;
    const { scanned, fetched } = await rowsRead(sql, 'deliveries', async (tx) => {
      const { queues } = await channelsForPeople(tx, Date.now() + MINUTE, CEILINGS);
      expect(queues.map(({ channel }) => channel)).toEqual(['@slack']);
    });
    expect(scanned).toBe(0);
    expect(fetched).toBeLessThanOrEqual(10);
  });
});

test('only the replica that judges calls it, and another one when that is gone', async () => {
  await takeLease(database.sql, { name: 'judge', replica: 'rep_2' });
  const caller = deadMansSwitch();
  await caller.tick();
  expect(monitor.received).toEqual([]);
  await database.sql`delete from purchase_watch_internal.replicas where id = 'rep_2'`;
  await caller.tick();
  expect(monitor.received).toHaveLength(1);
  await caller.close();
});

test('when the last channel for people is broken it is not called until one takes messages again', async () => {
  const { sql } = database;
  await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('@slack', 'slack', 'people', 'a'), ('@slack-ops', 'slack', 'people', 'b')`;
  const ids = await sql<{ id: number }[]>`select id from purchase_watch_internal.subscribers order by id`;
  const caller = deadMansSwitch();
  await switchOff(sql, { subscriber: ids[0]!.id, reason: 'no_service', addressHash: 'a' });
  await caller.tick();
  expect(monitor.received).toHaveLength(1);
  await switchOff(sql, { subscriber: ids[1]!.id, reason: 'no_service', addressHash: 'b' });
  await caller.tick();
  await caller.tick();
  expect(monitor.received).toHaveLength(1);
  await sql`update purchase_watch_internal.subscribers set status = 'active' where name = '@slack'`;
  await caller.tick();
  expect(monitor.received).toHaveLength(2);
  expect(said()).toEqual(['dead_mans_switch.withheld: No channel for people takes messages.', 'dead_mans_switch.resumed']);
  await caller.close();
});

test('what goes wrong on the way is said once, without the address, until it works again', async () => {
  const caller = deadMansSwitch();
  const target = await startStandIn<Call>(({ path, body }) => ({ kept: { path, body } }));
  monitor.respond(
    { status: 302, headers: { location: `${target.origin}/elsewhere` } },
    { status: 302 },
    { status: 500 },
    { status: 300 },
  );
  for (let times = 0; times < 4; times++) expect(await caller.tick()).toBe(15_000);
  expect(target.received).toEqual([]);
  await target.stop();
  expect(await lastSwitchCall(database.sql)).toBeNull();
  monitor.respond({ reset: 'answer' });
  await caller.tick();
  await caller.tick();
  expect(said()).toEqual([
    'dead_mans_switch.failed: It answered 302.',
    'dead_mans_switch.failed: It answered 500.',
    'dead_mans_switch.failed: It answered 300.',
    expect.stringMatching(/^dead_mans_switch\.failed: No answer came \(\w+\)\.$/),
    'dead_mans_switch.resumed',
  ]);
  expect(log.join('')).not.toContain('a-secret-id');
  await caller.close();
});

test('one that does not answer in time is called again soon', async () => {
  const caller = deadMansSwitch({ timeout: 300 });
  monitor.respond({ hang: 'answer' });
  expect(await caller.tick()).toBe(15_000);
  expect(said()).toEqual(['dead_mans_switch.failed: It did not answer within 300 ms.']);
  await caller.close();
});

test('it says who calls, and asks for an answer that needs no unpacking', async () => {
  const headers: unknown[] = [];
  const heard = await startStandIn((arrival) => {
    headers.push(arrival.headers);
    return { kept: arrival };
  });
  const caller = deadMansSwitch({ origin: heard.origin });
  await caller.tick();
  await caller.close();
  await heard.stop();
  expect(headers).toMatchObject([{ 'user-agent': 'purchase-watch', 'accept-encoding': 'identity' }]);
});

test('a process that starts on a machine that has run for long waits for the first work of its loops', async () => {
  const caller = deadMansSwitch({ goodAgo: { poller: null }, monotonic: () => 60 * MINUTE });
  expect([await caller.tick(), said()]).toEqual([1_000, []]);
  await caller.close();
});

test('an endless answer is not read', async () => {
  const caller = deadMansSwitch();
  monitor.respond({ trickle: 10, body: 'x'.repeat(1_000) });
  const began = performance.now();
  expect(await caller.tick()).toBe(MINUTE);
  expect(performance.now() - began).toBeLessThan(8_000);
  await caller.close();
});

test('without a database nothing is called', async () => {
  const caller = deadMansSwitch();
  await database.sql.end();
  await expect(caller.tick()).rejects.toThrow();
  expect(monitor.received).toEqual([]);
  await caller.close();
});

test('a stop breaks off a call that is under way, without a word', async () => {
  const caller = deadMansSwitch({ timeout: 20_000 });
  monitor.respond({ hang: 'answer' });
  const calling = caller.tick();
  await monitor.waitFor((received) => received.length === 1);
  await caller.close();
  await calling;
  expect(said()).toEqual([]);
});
