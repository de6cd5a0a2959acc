import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { firstPolls } from '../../../src/postgres/reports/first-polls.ts';
import { dueLag, waitingDeliveries } from '../../../src/postgres/reports/overview.ts';
import { addActivity } from '../../../src/postgres/shards/activity.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ sites: ['default', 'se'] });
});
afterEach(() => api.stop());

const overview = async () => {
  const { status, body } = await api.call('GET', '/v1/overview');
  expect(status).toBe(200);
  return body;
};
const purchases = (count: number, { site = 'default', due = '1 day' } = {}) => api.sql`
  insert into purchase_watch.purchases (purchase_id, site, next_poll_at)
  select ${site} || i, ${site}, now() + ${due}::interval from generate_series(1, ${count}) i`;
const subscriber = async (name: string): Promise<number> => {
  const [row] = await api.sql<{ id: number }[]>`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values (${name}, 'webhook', 'systems', 'x') returning id`;
  return row!.id;
};
const deliveries = (id: number, count: number) => api.sql`
  with event as (
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
    select ${`evt_${id}_`} || i, 'site.reachable', 'default', i % 64, now(), '{}' from generate_series(1, ${count}) i returning position, shard, created_at)
  insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at) select position, 0, ${id}, shard, created_at from event`;

test('of nothing is all there is to say of nothing', async () => {
  expect(await overview()).toMatchObject({
    at: expect.stringMatching(/^\d{4}-.*Z$/),
    purchases: { total: 0, watching: 0, stuck: 0, groups: [] },
    polling: {
      due: { count: 0, atLeast: false, oldestMs: 0 },
      perMinute: { last5Minutes: { polls: 0, failedPolls: 0, changes: 0 } },
    },
    sites: [{ site: 'default', answers: true, openIncidents: 0 }, { site: 'se' }],
    subscribers: [],
    incidents: { open: 0, severity: null },
    replicas: [],
  });
});

test('those who ask at the same time share one reading, begun after they asked', async () => {
  const before = overview();
  await purchases(5);
  const after = await Promise.all(Array.from({ length: 8 }, overview));
  await before;
  expect(after.map((body) => body.purchases.total)).toEqual(after.map(() => 5));
  // Each reading has a moment of its own.
  expect(new Set(after.map(({ at }) => at)).size).toBeLessThanOrEqual(2);
});

test('says what there is: purchases by group, the oldest, rates, sites, who waits', async () => {
  const { sql } = api;
  await purchases(5);
  await purchases(3, { site: 'se', due: '-1 hour' });
  await sql`update purchase_watch.purchases set state = 6, state_since = '2026-01-01T00:00:00Z'::timestamptz + id * interval '1 second', stuck_since = now() where site = 'se'`;
  await sql`update purchase_watch.purchases set status = 'settled', state = 2, state_since = now() where purchase_id = 'default1'`;
  await sql`update purchase_watch_internal.sites set failing_since = now(), last_error = 'It is down.' where name = 'se'`;
  await sql`insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, count, peak) values ('inc_1', 'unreachable', 'se', now(), now(), 1, 1)`;
  await sql`insert into purchase_watch_internal.replicas (id, process, expires_at) values ('rep_1', 'here', now() + interval '1 minute')`;
  await addActivity(sql, [{ site: 'se', polls: 600, failedPolls: 60, changes: 6, greatestLag: 0 }]);
  await deliveries(await subscriber('shop'), 2);
  const body = await overview();
  const [first] = await sql<
    { since: number }[]
  >`select min(state_since) as since from purchase_watch.purchases where site = 'se'`;
  expect(body.purchases).toEqual({
    total: 8,
    watching: 7,
    oldestStuck: { purchaseId: 'se1', site: 'se' },
    unreadable: [],
    stuck: 3,
    groups: [
      { site: 'default', status: 'settled', state: { value: 2, name: 'Completed' }, count: 1, stuck: 0, oldestSince: null },
      { site: 'default', status: 'watching', state: null, count: 4, stuck: 0, oldestSince: null },
      {
        site: 'se',
        status: 'watching',
        state: { value: 6, name: 'WaitingForCardPayments' },
        count: 3,
        stuck: 3,
        oldestSince: new Date(first!.since).toISOString(),
      },
    ],
  });
  expect(body.polling.due).toMatchObject({ count: 3, atLeast: false });
  expect(body.polling.due.oldestMs).toBeGreaterThanOrEqual(3_600_000);
  const { polls, failedPolls, changes } = body.polling.perMinute.last5Minutes;
  // The present minute has begun just now or is nearly over.
  expect(polls).toBeGreaterThanOrEqual(100);
  expect(polls).toBeLessThanOrEqual(120);
  expect([failedPolls / polls, changes / polls]).toEqual([expect.closeTo(0.1, 3), expect.closeTo(0.01, 3)]);
  expect(body.sites[1]).toMatchObject({
    site: 'se',
    answers: false,
    lastError: 'It is down.',
    openIncidents: 1,
    due: { count: 3 },
    orders: { paid: 0, repeated: 0, reused: false },
  });
  expect(body.sites[0]).toMatchObject({ answers: true, perMinute: { last5Minutes: { polls: 0 } }, due: { count: 0 } });
  expect(body.subscribers).toEqual([
    {
      name: 'shop',
      kind: 'webhook',
      status: 'active',
      statusReason: null,
      health: {
        ...{ status: 'ok', failures: 0, failingSince: null, pausedUntil: null, lastError: null },
        ...{ ourFailures: 0, ourFailingSince: null, ourError: null },
      },
      failing: 0,
      lastError: null,
      waiting: { pending: 2, inFlight: 0, parked: 0, atLeast: false, dueSince: expect.any(String) },
    },
  ]);
  expect(body.incidents).toMatchObject({ open: 1, severity: 'critical', data: [{ id: 'inc_1', where: 'se', owner: null }] });
  expect(body.replicas).toEqual([{ id: 'rep_1', startedAt: expect.any(String), shards: 0 }]);
});

test('an incident and those it tells of count once, and at each of their sites', async () => {
  await api.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak)
    values ('inc_all', 'stuck', null, null, now(), now(), 9, 9), ('inc_se', 'stuck', 'se', null, now(), now(), 6, 6),
      ('inc_card', 'stuck', 'se', 6, now(), now(), 3, 3), ('inc_id', 'stuck', 'se', 7, now(), now(), 3, 3), ('inc_d', 'stuck', 'default', 6, now(), now(), 3, 3)`;
  await api.sql`update purchase_watch_internal.incidents set parent = case when id in ('inc_card', 'inc_id') then 'inc_se' else 'inc_all' end where id <> 'inc_all'`;
  const { incidents, sites } = await overview();
  expect(incidents).toMatchObject({ open: 1, severity: 'warning' });
  expect(incidents.data).toHaveLength(5);
  expect(sites).toMatchObject([
    { site: 'default', openIncidents: 1 },
    { site: 'se', openIncidents: 1 },
  ]);
  const { text } = await api.call('GET', '/metrics');
  const open = text
    .split('\n')
    .filter((line: string) => line.startsWith('purchase_watch_incidents_open{') && line.includes('"stuck"'));
  expect(open.map((line: string) => line.replace(/^.*site="([^"]*)".* (\d+)$/, '$1=$2')).toSorted()).toEqual([
    '=1',
    'default=0',
    'se=0',
  ]);
});

test('what is for a subscriber that is paused is parked, with the reason beside it', async () => {
  const shop = await subscriber('shop');
  await deliveries(shop, 3);
  await api.sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
    values (${shop}, 4, 1, '2026-01-01T00:00:00Z', '2100-01-01T00:00:00Z', 'The receiver answered 503.')`;
  expect((await overview()).subscribers).toMatchObject([
    {
      status: 'active',
      health: {
        status: 'paused',
        failures: 4,
        failingSince: '2026-01-01T00:00:00.000Z',
        pausedUntil: '2100-01-01T00:00:00.000Z',
        lastError: 'The receiver answered 503.',
      },
      waiting: { pending: 0, inFlight: 0, parked: 3, dueSince: expect.any(String) },
    },
  ]);
});

describe('what it costs does not grow:', () => {
  test('a long queue is counted to a limit, which is said', async () => {
    await purchases(16_000, { due: '-1 hour' });
    let lags: Awaited<ReturnType<typeof dueLag>> = [];
    const read = await rowsRead(api.sql, 'purchases', async (tx) => {
      lags = await dueLag(tx);
    });
    expect(read.scanned).toBe(0);
    expect(read.fetched).toBeLessThanOrEqual(64 * 200);
    expect(lags).toMatchObject([
      { site: 'default', due: 64 * 200, atLeast: true },
      { site: 'se', due: 0, atLeast: false, oldest: 0 },
    ]);
    expect((await overview()).polling.due).toMatchObject({ count: 64 * 200, atLeast: true });
  });

  test('what daemons keep in memory for later hides nothing that is due', async () => {
    await purchases(16_000, { due: '-1 hour' });
    await api.sql`update purchase_watch.purchases set next_poll_at = case when id % 1600 = 0 then now() - interval '2 minutes' else now() + interval '1 minute' end`;
    expect(await dueLag(api.sql)).toMatchObject([
      { site: 'default', due: 10, atLeast: false, oldest: expect.closeTo(120_000, -4) },
      {},
    ]);
  });

  test('so are first polls of bulk registrations, beyond which a counter is taken', async () => {
    await api.sql`
      insert into purchase_watch.purchases (purchase_id, site) select 'bulk-' || i, 'default' from generate_series(1, 16000) i`;
    let waiting: Awaited<ReturnType<typeof firstPolls>> = [];
    const read = await rowsRead(api.sql, 'purchases', async (tx) => {
      waiting = await firstPolls(tx);
    });
    expect(read.scanned).toBe(0);
    expect(read.fetched).toBeLessThanOrEqual(64 * 200);
    expect(waiting).toEqual([
      { site: 'default', waiting: 16_000, ceiling: null, within: null },
      { site: 'se', waiting: 0, ceiling: null, within: null },
    ]);
    // Ids that the service does not know were polled, and no poll shows them.
    await api.sql`
      update purchase_watch.purchases set failures = 1, unknowns = 1, polls = 1, due_slot = purchase_watch_internal.due_slot(now() + interval '1 hour'),
        next_poll_at = now() + interval '1 hour' where id in (select id from purchase_watch.purchases where site = 'default' order by id limit 3000)`;
    expect((await firstPolls(api.sql))[0]).toMatchObject({ waiting: 13_000 });
    await api.sql`
      update purchase_watch.purchases set failures = 0, unknowns = 0, polls = 0, next_poll_at = now(), due_slot = purchase_watch_internal.bulk_slot(now()) where failures > 0`;
    const { polling, sites } = await overview();
    expect(polling).toMatchObject({ due: { count: 0 }, firstPolls: { waiting: 16_000, withinMs: null } });
    expect(sites.map((site: { firstPolls: unknown }) => site.firstPolls)).toEqual([
      { waiting: 16_000, withinMs: null },
      { waiting: 0, withinMs: 0 },
    ]);
  });

  test('so is a long outbox', async () => {
    const shop = await subscriber('shop');
    await deliveries(shop, 101_000);
    await subscriber('idle');
    let waiting: Awaited<ReturnType<typeof waitingDeliveries>> = [];
    const read = await rowsRead(api.sql, 'deliveries', async (tx) => {
      waiting = await waitingDeliveries(tx);
    });
    expect(waiting).toMatchObject([
      { subscriber: shop, pending: 100_000, atLeast: true, dueSince: expect.any(Number) },
      { pending: 0, atLeast: false, dueSince: null },
    ]);
    expect(read.scanned + read.fetched).toBeLessThanOrEqual(2 * (100_001 + 64));
  });
});
