/** How a subscriber's trouble and the replays for it look from outside. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
  await api.sql`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('shop', 'webhook', 'systems', 'x'), ('@slack', 'slack', 'people', 'x')`;
});
afterEach(() => api.stop());

const post = (path: string, json?: unknown) => api.call('POST', `/v1/subscribers/${path}`, json === undefined ? {} : { json });
const pause = () => api.sql`
  insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
  select id, 4, 1, '2026-01-01T00:00:00Z', '2100-01-01T00:00:00Z', 'The receiver answered 503.' from purchase_watch_internal.subscribers where name = 'shop'`;
const living = () =>
  api.sql`insert into purchase_watch_internal.replicas (id, process, expires_at) values ('rep_1', 'x', now() + interval '1 hour')`;
/** Events an hour old, each delivered to the shop within 40 ms, or not at all. */
const events = (count: number, { delivered = true } = {}) => api.sql`
  with event as (
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
    select 'evt_' || n, 'site.reachable', 'default', 0, now() - interval '1 hour', '{}' from generate_series(1, ${count}::integer) n returning position)
  insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at, attempts, took_ms, http_status, excerpt)
  select position, 0, s.id, 0, now(), 'delivered', now(), 1, 40, 200, 'thanks' from event, purchase_watch_internal.subscribers s where s.name = 'shop' and ${delivered}`;

describe('a pause', () => {
  test('is shown, ended by hand, and ending it again changes nothing', async () => {
    await pause();
    const { body } = await api.call('GET', '/v1/subscribers/shop');
    expect(body).toMatchObject({
      status: 'active',
      health: {
        status: 'paused',
        failures: 4,
        failingSince: '2026-01-01T00:00:00.000Z',
        pausedUntil: '2100-01-01T00:00:00.000Z',
        lastError: 'The receiver answered 503.',
      },
    });
    const woken = Promise.withResolvers<string>();
    await api.sql.listen('purchase_watch_wake', (payload) => woken.resolve(payload));
    const ours = { ourFailures: 0, ourFailingSince: null, ourError: null };
    const well = { status: 'ok', failures: 0, failingSince: null, pausedUntil: null, lastError: null, ...ours };
    expect((await post('shop/resume')).body.health).toEqual(well);
    expect(await woken.promise).toBe('subscribers');
    const again = await post('shop/resume');
    expect([again.status, again.body.health]).toEqual([200, well]);
  });

  test('of one that is off is no pause', async () => {
    await api.sql`update purchase_watch_internal.subscribers set status = 'off', status_reason = 'It answered 410.' where name = 'shop'`;
    const { status, body } = await post('shop/resume');
    expect([status, body.code]).toEqual([409, 'subscriber_off']);
    expect((await api.call('GET', '/v1/subscribers/shop')).body.health.status).toBe('off');
    expect((await post('nobody/resume')).body.code).toBe('subscriber_not_found');
  });

  test('is named where something sent has to wait', async () => {
    await pause();
    await events(1);
    const { note } = (await post('shop/test')).body;
    expect(note).toMatch(
      /^It waits: shop is paused until 2100-01-01 00:00:00Z .* after 4 failures in a row \(The receiver answered 503\); end that at once: /,
    );
    const { data } = (await api.call('GET', '/v1/deliveries?status=delivered')).body;
    const again = await api.call('POST', `/v1/deliveries/${data[0].id}/retry`);
    expect([again.status, again.body.status]).toEqual([202, 'parked']);
    expect(again.body.reason).toBe('paused until 2100-01-01T00:00:00Z after 4 failures in a row: The receiver answered 503.');
    expect(again.body.note).toMatch(/^It waits: shop is paused/);
    expect(again.body.attempts).toMatchObject([
      { number: 1, outcome: 'delivered', tookMs: 40, httpStatus: 200, excerpt: 'thanks', fault: null },
    ]);
    expect((await post('shop/replay', { since: '2h', dryRun: true })).body).toMatchObject({ count: 0, waiting: 1 });
  });
});

describe('a replay tried dry', () => {
  test('says how long it would take, and how that was reckoned', async () => {
    await living();
    await events(320);
    const { body } = await post('shop/replay', { since: '2h', dryRun: true });
    expect(body).toEqual({
      count: 320,
      waiting: 0,
      oldest: expect.any(String),
      newest: expect.any(String),
      dryRun: true,
      expectedDrain: { ms: 400, text: 'about 400 ms: 32 at a time, 40 ms each (the median of its last 200 deliveries)' },
    });
    expect((await api.call('GET', '/v1/deliveries?status=pending')).body.data).toEqual([]);
    const done = await post('shop/replay', { since: '2h' });
    expect(done.body).toMatchObject({ count: 320, dryRun: false });
    expect(done.body).not.toHaveProperty('expectedDrain');
    const { data } = (await api.call('GET', '/v1/deliveries?status=pending&limit=1')).body;
    expect(data).toMatchObject([{ replayed: true, tries: 1 }]);
  });

  test('of one that is paused names no time, for nobody knows when it begins', async () => {
    await Promise.all([living(), events(320), pause()]);
    const { body } = await post('shop/replay', { since: '2h', dryRun: true });
    expect(body.expectedDrain).toEqual({
      ms: null,
      text: expect.stringMatching(/^about 400 ms: .*\(the median of its last 200 deliveries\), once it gets events again$/),
    });
    expect(body.note).toMatch(/^They would wait: shop is paused/);
  });

  test.each([
    [
      'nothing was delivered yet',
      async () => void (await Promise.all([living(), events(3, { delivered: false })])),
      /nothing was measured$/,
    ],
    ['no daemon runs', () => events(3), /no daemon is running$/],
  ])('knows no time while %s, and says so', async (_, arrange, text) => {
    await arrange();
    const { body } = await post('shop/replay', { since: '2h', dryRun: true });
    expect(body.expectedDrain).toEqual({ ms: null, text: expect.stringMatching(text) });
  });
});

test('Slack is sent nothing again', async () => {
  const { status, body } = await post('@slack/replay', { since: '2h' });
  expect([status, body.code]).toEqual([400, 'invalid_request']);
  expect(body.detail).toMatch(/old alarms would be taken for new ones/);
});
