/** The latest attempts of a subscriber, the event of a delivery, and sending again all that was not delivered. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { latestAttempts } from '../../../src/postgres/deliveries/attempts-list.ts';
import { syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { startTestApi, type TestApi } from '../api.ts';

const BODY = '{"id":"evt_1","type":"purchase.state_changed","data":{"price":249.50}}';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
  const common = { format: 'standard' as const, types: null, sites: null, states: null, addressHash: 'x' };
  await syncSubscribers(api.sql, [
    { ...common, name: 'shop', kind: 'webhook', audience: 'systems' },
    { ...common, name: 'books', kind: 'webhook', audience: 'systems' },
    { ...common, name: '@slack', kind: 'slack', audience: 'people' },
  ]);
  await api.sql`insert into purchase_watch.purchases (purchase_id, site) select 'p-' || n, 'default' from generate_series(1, 3000) n`;
  await api.sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, shard, created_at, body)
    select 'evt_' || p.id, 'purchase.state_changed', p.site, p.id, 1, p.shard, now() - interval '1 h', ${BODY} from purchase_watch.purchases p`;
  // To shop, of each thousand: delivered at the second attempt, given up after two, never sent; the last one fails now.
  await api.sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, attempts, status, settled_at, took_ms, http_status, excerpt)
    select e.position, e.purchase, s.id, e.shard, now(), 2, w.status, now() - interval '30 min' + e.position * interval '1 ms',
      case w.status when 'delivered' then 41 end, case w.status when 'delivered' then 200 end, case w.status when 'delivered' then 'ok' end
    from purchase_watch_internal.events e
    cross join lateral (select (array['delivered', 'exhausted', 'suppressed'])[1 + e.position % 3] as status) w
    join purchase_watch_internal.subscribers s on s.name = 'shop' order by e.position`;
  await api.sql`
    update purchase_watch_internal.deliveries set status = 'pending', settled_at = null, took_ms = null, http_status = null
    where id = (select max(id) from purchase_watch_internal.deliveries)`;
  await api.sql`
    insert into purchase_watch_internal.attempts (delivery, at, number, took_ms, http_status, outcome, excerpt, fault)
    select d.id, coalesce(d.settled_at, now()) - (2 - n) * interval '1 min' - interval '1 s', n, 12, 503, 'http_503', 'busy', 'receiver'
    from purchase_watch_internal.deliveries d cross join generate_series(1, 2) n
    where d.status in ('exhausted', 'pending') or d.status = 'delivered' and n = 1`;
  await api.sql`analyze purchase_watch_internal.deliveries, purchase_watch_internal.attempts, purchase_watch_internal.events`;
});
afterAll(() => api.stop());

const post = (path: string, json: unknown) => api.call('POST', path, { json });

test('the latest attempts of a subscriber come first, whatever became of their deliveries', async () => {
  const { body } = await api.call('GET', '/v1/subscribers/shop/attempts?limit=100');
  expect(body.data).toHaveLength(100);
  const times = body.data.map(({ at }: { at: string }) => at);
  expect(times).toEqual(times.toSorted().toReversed());
  const [failing] = (await api.call('GET', '/v1/deliveries?subscriber=shop&status=pending')).body.data;
  const common = { delivery: failing.id, tookMs: 12, httpStatus: 503, outcome: 'http_503', fault: 'receiver', excerpt: 'busy' };
  expect(body.data[0]).toEqual({ ...common, number: 2, at: expect.stringMatching(/Z$/) });
  const outcomes = new Set(body.data.map(({ outcome }: { outcome: string }) => outcome));
  expect(outcomes).toEqual(new Set(['delivered', 'http_503']));
  expect((await api.call('GET', '/v1/subscribers/books/attempts')).body).toEqual({ data: [] });
  expect((await api.call('GET', '/v1/subscribers/nobody/attempts')).body.code).toBe('subscriber_not_found');
  expect((await api.call('GET', '/v1/subscribers/shop/attempts?limit=101')).status).toBe(400);
});

test('the latest attempts are read from the ends of indexes, whatever there is', async () => {
  const [shop] = await api.sql<{ id: number }[]>`select id from purchase_watch_internal.subscribers where name = 'shop'`;
  for (const table of ['deliveries', 'attempts']) {
    const { scanned, fetched } = await rowsRead(api.sql, table, (tx) => latestAttempts(tx, shop!.id, 10));
    expect([table, scanned]).toEqual([table, 0]);
    expect(fetched).toBeLessThanOrEqual(80);
  }
});

test('the event of a delivery is answered byte for byte', async () => {
  const [delivery] = (await api.call('GET', '/v1/deliveries?subscriber=shop&limit=1')).body.data;
  const { status, text, headers } = await api.call('GET', `/v1/deliveries/${delivery.id}/event`);
  expect([status, text, headers.get('content-type')]).toEqual([200, BODY, 'application/json']);
  expect((await api.call('GET', '/v1/deliveries/dlv_999999/event')).body.code).toBe('delivery_not_found');
});

test('what was not delivered is counted, then sent again, and is gone from the count', async () => {
  const counted = await post('/v1/subscribers/shop/retry', { dryRun: true });
  expect(counted.body).toMatchObject({ count: 1_000, waiting: 0, dryRun: true, expectedDrain: { text: expect.any(String) } });
  expect((await api.call('GET', '/v1/deliveries?subscriber=shop&status=exhausted&limit=1')).body.data).toHaveLength(1);
  const retried = await post('/v1/subscribers/shop/retry', {});
  expect([retried.status, retried.body.count, retried.body.dryRun]).toEqual([200, 1_000, false]);
  expect((await post('/v1/subscribers/shop/retry', { dryRun: true })).body.count).toBe(0);
  expect((await post('/v1/subscribers/shop/retry', { dryRun: true, status: 'suppressed' })).body.count).toBeGreaterThan(990);
});

test('channels for people, unknown subscribers and other words are refused', async () => {
  expect((await post('/v1/subscribers/@slack/retry', {})).body.code).toBe('invalid_request');
  expect((await post('/v1/subscribers/nobody/retry', {})).body.code).toBe('subscriber_not_found');
  expect((await post('/v1/subscribers/shop/retry', { status: 'delivered' })).body.errors[0].field).toBe('status');
});
