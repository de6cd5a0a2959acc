import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DatabaseNumbers } from '../../../src/actions/overview/database-numbers.ts';
import { readTrends } from '../../../src/actions/trends/trends.ts';
import { type MetricSources, metricFamilies } from '../../../src/api/metrics/gather-families.ts';
import { goneForgetter } from '../../../src/api/metrics/metrics.ts';
import { connect } from '../../../src/postgres/connection/database.ts';
import { recentActivity } from '../../../src/postgres/shards/activity.ts';
import { createHealth } from '../../../src/runtime/loops/health.ts';
import { createMeters, type Meters } from '../../../src/runtime/meters.ts';
import { createRegistry } from '../../../src/runtime/metrics.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { startTestApi } from '../api.ts';
import { lint, type ParsedFamily, parseMetrics } from '../exposition.ts';

const scrape = async (url: string): Promise<Map<string, ParsedFamily>> =>
  parseMetrics(await (await fetch(`${url}/metrics`)).text());
const numberOf = (
  families: Map<string, ParsedFamily>,
  name: string,
  labels: Record<string, string> = {},
  part = '',
): number | undefined =>
  families
    .get(`purchase_watch_${name}`)
    ?.samples.find(
      (sample) => sample.name.endsWith(part) && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    )?.value;
/** What metrics of a replica without a database are read from. */
const sourcesOf = (meters: Meters): MetricSources => ({
  ...{ version: '1', health: createHealth(() => 0), keys: [], reading: () => ({ answers: false, numbers: null }) },
  engine: { meters, shardsOwned: () => 0, unwritten: () => 0, pools: [], certificates: () => [] },
});

describe('of a daemon at work', () => {
  let t: TestApp;
  beforeEach(async () => {
    t = await startTestApp({ inventsEvents: true, realClock: true });
  });
  afterEach(() => t.stop());

  test('a flood of callers has them written twenty times a second at most', async () => {
    await t.app.start();
    const begun = performance.now();
    const texts = await Promise.all(Array.from({ length: 200 }, async () => (await fetch(`${t.app.url()}/metrics`)).text()));
    const seconds = (performance.now() - begun) / 1_000;
    expect(new Set(texts).size).toBeLessThanOrEqual(21 + 20 * Math.ceil(seconds));
    expect(texts.every((text) => text.includes('purchase_watch_'))).toBe(true);
  });

  test('they tell what was polled, changed and told, in the format of Prometheus', async () => {
    const paid = await t.watch({ script: [{ state: 'Completed' }] }, { reference: 'ORD-SECRET' });
    const gone = await t.watch({ script: [{ state: 'New' }] });
    t.simulator.control.fail({ kind: '404', purchaseId: gone, for: '60m' });
    await t.app.start();
    await t.receiver.waitFor((received) => received.length >= 1, 20_000);
    await expect.poll(async () => numberOf(await scrape(t.app.url()!), 'polls_total', { outcome: 'unknown' })).toBeGreaterThan(0);
    // The receiver knows of a delivery before the daemon does.
    const delivered = { subscriber: 'default', outcome: 'delivered' };
    await expect.poll(async () => numberOf(await scrape(t.app.url()!), 'delivery_attempts_total', delivered)).toBe(1);
    await expect.poll(async () => numberOf(await scrape(t.app.url()!), 'loop_healthy', { loop: 'poller' })).toBe(1);
    const text = await (await fetch(`${t.app.url()}/metrics`)).text();
    const families = parseMetrics(text);
    expect(lint(families)).toEqual([]);
    const site = 'default';
    expect(numberOf(families, 'polls_total', { site, outcome: 'seen' })).toBeGreaterThan(0);
    expect(numberOf(families, 'polls_total', { site, outcome: 'unreachable' })).toBe(0);
    expect(numberOf(families, 'poll_duration_seconds', { site }, '_count')).toBeGreaterThanOrEqual(2);
    expect(numberOf(families, 'state_changes_total', { site })).toBe(1);
    expect(numberOf(families, 'events_total', { type: 'purchase.state_changed' })).toBe(1);
    expect(numberOf(families, 'delivery_attempts_total', delivered)).toBe(1);
    expect(numberOf(families, 'event_to_receipt_seconds', { subscriber: 'default' }, '_count')).toBe(1);
    expect(numberOf(families, 'shards_owned')).toBe(64);
    expect(numberOf(families, 'loop_healthy', { loop: 'poller' })).toBe(1);
    expect(numberOf(families, 'site_up', { site })).toBe(1);
    expect(numberOf(families, 'database_up')).toBe(1);
    expect(numberOf(families, 'replicas')).toBe(1);
    const pools = families.get('purchase_watch_database_wait_seconds_total')!.samples.map(({ labels }) => labels.pool);
    expect(pools).toEqual(['loops', 'recording', 'outbox', 'operators', 'api', 'changes', 'api_callers', 'changes_callers']);
    // Of itself: the reading of these numbers is over.
    expect(numberOf(families, 'database_connections', { pool: 'operators', state: 'free' })).toBe(1);
    expect(families.get('process_cpu_seconds_total')?.type).toBe('counter');
    for (const secret of [paid, gone, 'ORD-SECRET', t.receiver.url, t.simulator.url, t.slack.url])
      expect(text).not.toContain(secret);
  });

  test('what was done is added to the minute for everybody, and all of it by the time it stops', async () => {
    await t.watch({ script: [{ state: 'New' }] });
    await t.app.start();
    await t.receiver.waitFor((received) => received.length >= 1, 20_000);
    await t.app.stop();
    const [row] = await recentActivity(t.database.sql, 5);
    expect(row).toMatchObject({ site: 'default', failedPolls: 0, changes: 1 });
    expect(row!.polls).toBeGreaterThanOrEqual(1);
  });
});

test('purchases are counted by site, status, state and whether they are stuck', async () => {
  const api = await startTestApi();
  await api.sql`insert into purchase_watch.purchases (purchase_id) select 'p-' || i from generate_series(1, 6) i`;
  await api.sql`update purchase_watch.purchases set state = 6, state_since = now(), stuck_since = now() where purchase_id in ('p-1', 'p-2')`;
  await api.sql`update purchase_watch.purchases set state = 42, state_since = now() where purchase_id = 'p-3'`;
  await api.sql`insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, count, peak) values ('inc_1', 'unreachable', 'default', now(), now(), 1, 1)`;
  await api.sql`insert into purchase_watch_internal.incidents (id, kind, subscriber, opened_at, since, count, peak) values ('inc_2', 'subscriber', 'shop', now(), now(), 1, 1)`;
  const families = parseMetrics((await api.call('GET', '/metrics')).text);
  const counts = families.get('purchase_watch_purchases')!.samples.map(({ labels, value }) => [...Object.values(labels), value]);
  expect(counts).toEqual([
    ['default', 'watching', 'WaitingForCardPayments', 'true', 2],
    ['default', 'watching', '42', 'false', 1],
    ['default', 'watching', 'none', 'false', 3],
  ]);
  expect(numberOf(families, 'polls_due', { site: 'default' })).toBe(6);
  expect(numberOf(families, 'incidents_open', { site: 'default', kind: 'unreachable' })).toBe(1);
  expect(numberOf(families, 'incidents_open', { site: 'default', kind: 'stuck' })).toBe(0);
  expect(numberOf(families, 'incidents_open', { site: '', kind: 'subscriber' })).toBe(1);
  expect(numberOf(families, 'incidents_open', { site: '', kind: 'stuck' })).toBe(0);
  const critical = (site: string, kind: string) => numberOf(families, 'incidents_critical', { site, kind });
  expect([critical('default', 'unreachable'), critical('default', 'stuck'), critical('', 'subscriber')]).toEqual([1, 0, 0]);
  expect(lint(families)).toEqual([]);
  await api.stop();
});

test('checkouts that ended are those of the trends of 24 hours, by site, last state and outcome, with their money', async () => {
  const api = await startTestApi();
  await api.sql`
    insert into purchase_watch_internal.outcome_hours (hour, customers, amount, way, was_stuck, outcome, site, method, country, currency)
    select date_trunc('hour', now()) - ago * interval '1 hour', customers, amount, way, stuck, outcome, site, method, 'SE', currency
    from (values (1, 3, 30.5, 6, false, 'paid', 'default', '5', 'SEK'), (24, 2, 20, 6, true, 'paid', 'default', '3', 'SEK'),
      (2, 4, 8, 6, false, 'not_paid', 'default', '5', 'EUR'), (2, 1, 0, null::integer, false, 'open', 'default', '5', '*'),
      (0, 9, 9, 6, false, 'paid', 'default', '5', 'SEK'), (25, 9, 9, 6, false, 'paid', 'default', '5', 'SEK'), (1, 9, 9, 6, false, 'paid', 'gone', '5', 'SEK'))
      as rows (ago, customers, amount, way, stuck, outcome, site, method, currency)`;
  const families = parseMetrics((await api.call('GET', '/metrics')).text);
  const rows = (name: string) => families.get(name)!.samples.map(({ labels, value }) => [...Object.values(labels), value]);
  expect(rows('purchase_watch_checkouts_ended')).toEqual([
    ['default', 'WaitingForCardPayments', 'not_paid', 4],
    ['default', 'WaitingForCardPayments', 'paid', 5],
    ['default', 'none', 'open', 1],
  ]);
  expect(rows('purchase_watch_checkouts_ended_amount')).toEqual([
    ['default', 'EUR', 'not_paid', 8],
    ['default', 'SEK', 'paid', 50.5],
  ]);
  const trends = await readTrends(api.sql, { range: '24h', site: null, zone: 'UTC' });
  expect([trends.total.paid, trends.total.notPaid, trends.total.open]).toEqual([5, 4, 1]);
  expect(lint(families)).toEqual([]);
  await api.stop();
});

test('subscribers tell what waits for them, and whether they are paused or off', async () => {
  const api = await startTestApi();
  await api.sql`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, status)
    values ('shop', 'webhook', 'systems', 'x', 'active'), ('books', 'webhook', 'systems', 'x', 'off'), ('well', 'webhook', 'systems', 'x', 'active')`;
  await api.sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until)
    select id, 6, 3, now(), now() + interval '1 hour' from purchase_watch_internal.subscribers where name = 'shop'`;
  await api.sql`insert into purchase_watch_internal.events (id, type, site, shard, created_at, body) values ('evt_1', 'site.reachable', 'default', 0, now(), '{}')`;
  await api.sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select position, 0, s.id, 0, now() - interval '1 minute' from purchase_watch_internal.events, purchase_watch_internal.subscribers s`;
  const families = parseMetrics((await api.call('GET', '/metrics')).text);
  const of = (subscriber: string) => [
    ...['subscriber_up', 'subscriber_paused', 'subscriber_failures'].map((name) => numberOf(families, name, { subscriber })),
    ...['pending', 'in_flight', 'parked'].map((status) => numberOf(families, 'deliveries_waiting', { subscriber, status })),
  ];
  expect(of('shop')).toEqual([1, 1, 6, 0, 0, 1]);
  expect(of('books')).toEqual([0, 0, 0, 0, 0, 1]);
  expect(of('well')).toEqual([1, 0, 0, 1, 0, 0]);
  expect(numberOf(families, 'delivery_lag_seconds', { subscriber: 'shop' })).toBeGreaterThanOrEqual(60);
  expect(lint(families)).toEqual([]);
  await api.stop();
});

test('channels for people tell whether they take messages, and the dead man’s switch when it was called', async () => {
  const api = await startTestApi();
  await api.sql`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, status)
    values ('@slack', 'slack', 'people', 'x', 'active'), ('@slack-ops', 'slack', 'people', 'x', 'off'), ('@slack-se', 'slack', 'people', 'x', 'active'), ('shop', 'webhook', 'systems', 'x', 'active')`;
  await api.sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until)
    select id, 6, 3, now() - interval '16 minutes', now() + interval '1 minute' from purchase_watch_internal.subscribers where name = '@slack-se'`;
  await api.sql`update purchase_watch_internal.leases set done_at = to_timestamp(1700000000) where name = 'dead_mans_switch'`;
  const families = parseMetrics((await api.call('GET', '/metrics')).text);
  const channels = families.get('purchase_watch_channel_up')!.samples.map(({ labels, value }) => [labels.channel, value]);
  expect(channels).toEqual([
    ['@slack', 1],
    ['@slack-ops', 0],
    ['@slack-se', 0],
  ]);
  expect(numberOf(families, 'dead_mans_switch_timestamp_seconds')).toBe(1_700_000_000);
  expect(lint(families)).toEqual([]);
  await api.stop();
});

test('what was counted of a subscriber goes with it, once two readings agree that it is gone', () => {
  const meters = createMeters();
  for (const name of ['shop', 'books', 'new']) meters.subscriber(name).attempted('delivered', 5);
  const forget = goneForgetter(meters);
  const told = (...names: string[]) => names.map((name) => ({ name }) as DatabaseNumbers['subscribers'][number]);
  forget({ at: 1, subscribers: told('shop') });
  forget({ at: 1, subscribers: told('shop') });
  expect([...meters.subscribers().keys()]).toEqual(['shop', 'books', 'new']);
  forget({ at: 2, subscribers: told('shop', 'new') });
  expect([...meters.subscribers().keys()]).toEqual(['shop', 'new']);
  expect(meters.subscriber('new').attempts.delivered).toBe(1);
});

test('need a key where there is one, and either will do', async () => {
  const api = await startTestApi({ apiKey: 'a'.repeat(20), apiReadKey: 'r'.repeat(20) });
  const asked = async (key?: string) =>
    (await api.call('GET', '/metrics', key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })).status;
  expect([await asked(), await asked('r'.repeat(20)), await asked('a'.repeat(20))]).toEqual([401, 200, 200]);
  const { headers } = await api.call('GET', '/metrics', { headers: { authorization: `Bearer ${'r'.repeat(20)}` } });
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  await api.stop();
});

test('go on without the database, which is said', async () => {
  const away = connect('postgres://nobody@127.0.0.1:1/none?connect_timeout=1');
  const api = await startTestApi({ sql: away });
  const { status, text } = await api.call('GET', '/metrics');
  const families = parseMetrics(text);
  expect([status, numberOf(families, 'database_up')]).toEqual([200, 0]);
  expect(families.get('purchase_watch_purchases')!.samples).toEqual([]);
  expect(lint(families)).toEqual([]);
  await api.stop();
  await away.end();
});

test('spreads count each value at its limit and above', async () => {
  const meters = createMeters();
  for (const took of [1, 1.5, 30_000]) meters.site('default').polled('seen', took);
  const families = metricFamilies(sourcesOf(meters));
  const page = parseMetrics(await (await createRegistry(families)).metrics());
  const buckets = page.get('purchase_watch_poll_duration_seconds')!.samples.map(({ labels, value }) => [labels.le, value]);
  expect(buckets.slice(0, 2)).toEqual([
    ['0.001', 1],
    ['0.0025', 2],
  ]);
  expect(buckets.slice(-4)).toEqual([
    ['20', 2],
    ['+Inf', 3],
    [undefined, 30.0025],
    [undefined, 3],
  ]);
});

test('the page about metrics lists each, with its type, labels and meaning', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/metrics.md'), 'utf8');
  const families = metricFamilies(sourcesOf(createMeters()));
  const rows = families.map(
    ({ name, type, labels, help }) => `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  );
  expect(page).toContain(rows.join('\n'));
  const named = [...page.matchAll(/purchase_watch_\w+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''));
  expect(named.filter((name) => !families.some((family) => family.name === name))).toEqual([]);
});
