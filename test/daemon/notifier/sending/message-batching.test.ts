/** The plan for the first delivery of a channel for people; messages-an-hour.test.ts has what Slack gets by it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createMessageBatching } from '../../../../src/daemon/notifier/sending/message-batching.ts';
import { setHealth } from '../../../../src/daemon/notifier/subscribers/health-in-memory.ts';
import { holdBack } from '../../../../src/daemon/notifier/subscribers/pace.ts';
import type { Recipient } from '../../../../src/daemon/notifier/subscribers/subscriber.ts';
import { waitingInLane } from '../../../../src/postgres/deliveries/channel-lane.ts';
import type { DueDelivery } from '../../../../src/postgres/deliveries/deliveries.ts';
import { syncSites } from '../../../../src/postgres/polling/sites.ts';
import { type TestDatabase, testDatabase } from '../../../support/database.ts';
import { aLog, aSubscriber, NOW } from '../parts.ts';

const MINUTE = 60_000;
const SPACING = 1_000;
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
  // Id 1.
  await database.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash)
    values ('@slack', 'slack', 'people', 'a')`;
  await database.sql`insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak)
    select 'inc_' || i, 'stuck', 'se', i, now(), now(), 1, 1 from generate_series(1, 2) i`;
});
afterAll(() => database.drop());
beforeEach(() => database.sql`truncate purchase_watch_internal.events, purchase_watch_internal.deliveries cascade`);

interface Made {
  readonly type?: string;
  readonly severity?: 'warning' | 'critical';
  /** Milliseconds since it was made. */
  readonly age?: number;
  readonly site?: string;
}
let made = 0;

/** Events about incidents that wait for the channel, in their order; the first is about `inc_1`, and so on. */
async function waiting(...events: readonly Made[]): Promise<[DueDelivery, ...DueDelivery[]]> {
  const rows = events.map(({ type = 'incident.opened', severity = 'warning', age = 0, site = 'se' }, at) => {
    const id = `evt_${++made}`;
    const since = new Date(NOW - age).toISOString();
    const incident = { kind: 'stuck', incidentId: `inc_${at + 1}`, site, state: { value: 6, name: 'WaitingForCardPayments' } };
    const data = { ...incident, severity, openedAt: since, endedAt: null, since, count: 3, peak: 3, limitMs: 600_000 };
    return {
      id,
      type,
      since,
      body: JSON.stringify({ id, type, timestamp: since, data: type === 'incident.digest' ? {} : data }),
    };
  });
  const column = (of: (row: (typeof rows)[number]) => string): string[] => rows.map(of);
  await database.sql`
    with made as (
      select * from unnest(${column(({ id }) => id)}::text[], ${column(({ type }) => type)}::text[],
        ${column(({ since }) => since)}::text[]::timestamptz[], ${column(({ body }) => body)}::text[]) with ordinality as m (id, type, since, body, place)),
    event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select id, type, 'se', 0, since, body from made order by place returning position, created_at)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select position, 0, 1, 0, created_at from event`;
  return (await waitingInLane(database.sql, { subscriber: 1, lane: 0, shard: 0, most: 600 })) as [DueDelivery, ...DueDelivery[]];
}
/** Messages that the channel took before, so many milliseconds ago. */
const taken = (...ago: readonly number[]) =>
  database.sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_taken_' || ago, 'incident.opened', 'se', 0, to_timestamp((${NOW}::float8 - ago) / 1000), '{}'
      from unnest(${`{${ago.join()}}`}::float8[]) ago returning position, created_at)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at)
    select position, 0, 1, 0, created_at, 'delivered', created_at from event`;

/** The channel with some deliveries in memory, the first of them taken, and what plans for it. */
function channelWith([head, ...behind]: readonly [DueDelivery, ...DueDelivery[]], { maxPerHour }: { maxPerHour?: number } = {}) {
  const subscriber = aSubscriber({ name: '@slack', spacing: SPACING, maxPerHour } as Partial<Recipient>);
  for (const delivery of [head, ...behind]) subscriber.queue.add(delivery);
  subscriber.queue.next(1);
  const { log, logged } = aLog();
  let before = (): void => undefined;
  const { plan } = createMessageBatching({
    ...{ sql: database.sql, log, clock: { now: () => NOW, monotonic: () => 0, sleep: async () => undefined } },
    read: (work) => {
      before();
      return work();
    },
  });
  return {
    ...{ subscriber, logged, plan: () => plan(subscriber, head) },
    onRead: (work: () => void): void => {
      before = work;
    },
  };
}
/** The plan for events that wait, without a limit unless one is given. */
const planOf = (events: [DueDelivery, ...DueDelivery[]], maxPerHour?: number) =>
  channelWith(events, maxPerHour === undefined ? {} : { maxPerHour }).plan();
const ALONE = { kind: 'go', along: [], together: null };

test('what is new leaves alone, up to three in a row', async () => {
  expect(await planOf(await waiting({}, {}, {}))).toEqual(ALONE);
});

test('four at once are one message, with those that are not in memory yet and with what became of each incident', async () => {
  const events = await waiting({}, {}, { type: 'incident.digest' }, {}, {});
  const { plan, subscriber } = channelWith(events.slice(0, 4) as typeof events);
  const going = await plan();
  expect(going).toMatchObject({ kind: 'go', together: { reason: 'several' } });
  if (going.kind !== 'go') return;
  expect(going.along.map(({ id }) => id)).toEqual(events.slice(1).map(({ id }) => id));
  expect([...going.together!.incidents.keys()].sort()).toEqual(['inc_1', 'inc_2']);
  expect(subscriber.queue.size).toBe(5);
});

test('a message has room for 500', async () => {
  const going = await planOf(await waiting(...Array.from({ length: 502 }, () => ({}))));
  expect(going.kind === 'go' && going.along.length).toBe(499);
});

test('where the channel left memory meanwhile, the first leaves alone, and nothing else is taken into memory', async () => {
  const { plan, subscriber, onRead } = channelWith(await waiting({}, {}, {}, {}));
  onRead(() => subscriber.queue.dropLane(0));
  expect(await plan()).toEqual(ALONE);
  expect(subscriber.queue.size).toBe(0);
});

test.each([
  ['it is older than a minute', { age: MINUTE + 1 }, {}, 0, 'late'],
  ['the channel refused it before', {}, { attempts: 1 }, 0, 'refused'],
  ['a person asked for it again', {}, { attempts: 2, attemptsBefore: 2 }, 0, 'late'],
  ['a person asked for it again, and the channel fails', {}, { attempts: 2, attemptsBefore: 2 }, 1, 'refused'],
])('a single message says why it comes late where %s', async (_, event, differs, failures, reason) => {
  const [delivery] = await waiting(event);
  const { plan, subscriber } = channelWith([{ ...delivery, ...differs }]);
  if (failures > 0) setHealth(subscriber.health, { failures, pauses: 0, failingSince: NOW, pausedUntil: null, lastError: 'no' });
  const going = await plan();
  expect(going).toMatchObject({ kind: 'go', along: [], together: { reason } });
  expect(going.kind === 'go' && [...going.together!.incidents.keys()]).toEqual(['inc_1']);
});

test('after a message of another daemon the rest of the spacing is waited once', async () => {
  await taken(300);
  const { plan, subscriber } = channelWith(await waiting({}));
  expect(await plan()).toEqual({ kind: 'rest', wait: SPACING - 300 });
  expect(subscriber.pace.takenAt).toBe(NOW - 300);
  expect(await plan()).toEqual(ALONE);
});

test('a message whose spacing is over holds nothing back', async () => {
  await taken(SPACING);
  expect(await planOf(await waiting({}))).toEqual(ALONE);
});

test('of five messages an hour two are kept: after three the channel waits, is looked at again in five seconds, and the log says so once', async () => {
  await taken(10 * MINUTE, 20 * MINUTE, 30 * MINUTE, 61 * MINUTE);
  const { plan, subscriber, logged } = channelWith(await waiting({}), { maxPerHour: 5 });
  expect(await plan()).toEqual({ kind: 'wait', until: NOW + 5_000 });
  const capped = { level: 'warn', event: 'channel.capped', subscriber: '@slack', maxPerHour: 5, waitMs: 30 * MINUTE };
  expect(logged).toMatchObject([capped]);
  holdBack(subscriber.pace, NOW + 5_000);
  expect(await plan()).toEqual({ kind: 'wait', until: NOW + 5_000 });
  expect(logged).toHaveLength(1);
});

test('it waits no longer than until the oldest of them is an hour old, and what then leaves says why', async () => {
  await taken(10 * MINUTE, 20 * MINUTE, 60 * MINUTE - 2_000);
  expect(await planOf(await waiting({}), 5)).toEqual({ kind: 'wait', until: NOW + 2_000 });
  await database.sql`update purchase_watch_internal.deliveries set settled_at = settled_at - interval '2 seconds' where status = 'delivered'`;
  const { plan, subscriber } = channelWith(await waiting(), { maxPerHour: 5 });
  holdBack(subscriber.pace, NOW);
  expect(await plan()).toMatchObject({ kind: 'go', along: [], together: { reason: 'capped' } });
});

test('the last message that the hour allows takes along what waits', async () => {
  await taken(10 * MINUTE);
  const events = await waiting({}, {});
  expect(await planOf(events, 5)).toEqual(ALONE);
  await taken(20 * MINUTE);
  expect(await planOf(events, 5)).toMatchObject({ kind: 'go', along: [{ id: events[1]!.id }], together: { reason: 'last' } });
  expect(await planOf([events[0]], 5)).toMatchObject({ kind: 'go', along: [{ id: events[1]!.id }] });
});

describe('where only what is kept for the critical is left', () => {
  beforeEach(() => taken(10 * MINUTE, 20 * MINUTE, 30 * MINUTE));

  test.each(['incident.opened', 'incident.reopened', 'incident.grew'])('critical news (%s) leaves', async (type) => {
    expect(await planOf(await waiting({ type, severity: 'critical' }), 5)).toEqual(ALONE);
  });

  test('critical news behind others leaves with them', async () => {
    const events = await waiting({}, { severity: 'critical' });
    expect(await planOf(events, 5)).toMatchObject({ kind: 'go', along: [{ id: events[1]!.id }] });
  });

  test.each([
    ['a reminder of something critical', { type: 'incident.reminder', severity: 'critical' }],
    ['a warning about a site that is named critical', { site: 'critical' }],
  ] as const)('%s waits', async (_, event) => {
    expect(await planOf(await waiting(event), 5)).toMatchObject({ kind: 'wait' });
  });

  test('and after five messages nothing leaves', async () => {
    await taken(40 * MINUTE, 50 * MINUTE);
    const { plan, logged } = channelWith(await waiting({ severity: 'critical' }), { maxPerHour: 5 });
    expect(await plan()).toMatchObject({ kind: 'wait' });
    expect(logged).toMatchObject([{ waitMs: 10 * MINUTE }]);
  });
});

test('where the database does not answer, the notifier asks again, and the log names the channel', async () => {
  const { plan, logged, onRead } = channelWith(await waiting({}, {}, {}, {}));
  onRead(() => {
    throw new Error('the connection broke');
  });
  expect(await plan()).toEqual({ kind: 'unknown' });
  expect(logged).toMatchObject([{ level: 'warn', event: 'delivery.not_planned', subscriber: '@slack' }]);
  expect(JSON.stringify(logged)).toContain('the connection broke');
});
