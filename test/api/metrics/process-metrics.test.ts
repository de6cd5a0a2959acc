import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientCertificates } from '../../../src/actions/client-certificates.ts';
import { metricFamilies } from '../../../src/api/metrics/gather-families.ts';
import { hashOfKey } from '../../../src/config/api-keys.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { createHealth } from '../../../src/runtime/loops/health.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { createRegistry } from '../../../src/runtime/metrics.ts';
import { type Authority, makeAuthority } from '../../support/certificates.ts';
import { startTestApi, type TestApi } from '../api.ts';
import { type ParsedFamily, parseMetrics } from '../exposition.ts';

const DAY = 86_400_000;
const OPEN_METRICS =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const EXPIRES = 'purchase_watch_expires_timestamp_seconds';

let authority: Authority;
let api: TestApi;
beforeAll(async () => {
  authority = makeAuthority();
  const expires = Date.now() + 10 * DAY;
  api = await startTestApi({ apiKeys: [{ name: 'monitoring', scopes: ['metrics'], hash: hashOfKey('k'.repeat(20)), expires }] });
});
afterAll(() => api.stop());

const page = async (headers: Record<string, string> = {}) =>
  api.call('GET', '/metrics', { headers: { authorization: `Bearer ${'k'.repeat(20)}`, ...headers } });
const sampleOf = (families: Map<string, ParsedFamily>, name: string, labels: Record<string, string> = {}) =>
  families.get(name)?.samples.find((each) => Object.entries(labels).every(([key, value]) => each.labels[key] === value))?.value;

test('nothing but counters has a name that ends like that of a counter, the numbers of the process included', async () => {
  const families = parseMetrics((await page()).text);
  expect(families.has('nodejs_active_resources')).toBe(true);
  expect(
    [...families].filter(([name, { type }]) => name.endsWith('_total') !== (type === 'counter')).map(([name]) => name),
  ).toEqual([]);
});

test('who prefers OpenMetrics gets it, with the id of a poll and of an event beside their durations', async () => {
  const { headers, text } = await page({ accept: OPEN_METRICS });
  expect(headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
  expect(text).toMatch(/\n# EOF\n$/);
  expect((await page({ accept: '*/*' })).headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  // Asked again in the other format, each has the names of its own.
  expect((await page({ accept: OPEN_METRICS })).text).toMatch(/# TYPE process_cpu_seconds counter\nprocess_cpu_seconds_total \d/);
  expect((await page()).text).toMatch(/# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total \d/);

  const meters = createMeters();
  meters.site('default').polled('seen', 40, 4_711);
  meters.subscriber('shop').attempted('delivered', 80, 'evt_01');
  const engine = { meters, shardsOwned: () => 0, unwritten: () => 0, pools: [], certificates: () => [] };
  const families = metricFamilies({
    version: '1',
    health: createHealth(() => 0),
    engine,
    keys: [],
    reading: () => ({ answers: false, numbers: null }),
  });
  const open = await (await createRegistry(families, 'openMetrics')).metrics();
  expect(open).toMatch(
    /poll_duration_seconds_bucket\{site="default",le="0.05"\} 1 # \{purchase_row="4711"\} 0.04 \d{10}\.?\d*\n/,
  );
  expect(open).toMatch(
    /event_to_receipt_seconds_bucket\{subscriber="shop",le="0.1"\} 1 # \{event_id="evt_01"\} 0.08 \d{10}\.?\d*\n/,
  );
  expect(open).toContain('# TYPE purchase_watch_polls counter\npurchase_watch_polls_total{site="default",outcome="seen"} 1\n');
  expect(await (await createRegistry(families)).metrics()).not.toContain('# {');
});

test('says when keys and certificates expire, ours and those that other ends showed', async () => {
  const { certificate: cert, key } = authority.issue('localhost');
  const server = createServer({ cert, key }, (_, answer) => void answer.end('ok'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const dispatcher = new Agent({ connect: { ca: authority.certificate } });
  await (await request(`https://localhost:${port}`, { dispatcher })).body.text();
  const families = parseMetrics((await page()).text);
  const inDays = (labels: Record<string, string>) =>
    Math.round((sampleOf(families, EXPIRES, labels)! * 1_000 - Date.now()) / DAY);
  expect(inDays({ kind: 'api_key', name: 'monitoring' })).toBe(10);
  expect(inDays({ kind: 'server_certificate', name: `localhost:${port}` })).toBe(60);
  await dispatcher.close();
  server.close();

  const pair = authority.issue('shop');
  const { subscribers } = loadSettings({
    CHECKOUT_BASE_URL: 'https://checkout.example',
    CHECKOUT_CLIENT_ID: 'a',
    CHECKOUT_CLIENT_SECRET: 'b',
    WEBHOOK_URL: 'https://shop.example',
    WEBHOOK_SECRET: `whsec_${'a'.repeat(32)}`,
  });
  const named = subscribers.map((each) => ({ ...each, clientCertificate: pair.certificate, clientKey: pair.key }));
  const [own, ...others] = clientCertificates({ subscribers: named as typeof subscribers }, 'postgres://127.0.0.1/shop')();
  expect([own?.name, Math.round((own!.at - Date.now()) / DAY), others]).toEqual(['default', 60, []]);
});

test('says how long the oldest transaction has been open, and when retention ran last', async () => {
  // One that has read nothing of the database yet: what was read holds for ten seconds.
  const fresh = await startTestApi();
  await fresh.sql`update purchase_watch_internal.leases set done_at = to_timestamp(1700000000) where name = 'upkeep'`;
  const families = await fresh.sql.begin(async (tx) => {
    await tx`select pg_sleep(0.02)`;
    return parseMetrics((await fresh.call('GET', '/metrics')).text);
  });
  expect(sampleOf(families, 'purchase_watch_database_oldest_transaction_seconds')).toBeGreaterThan(0.02);
  expect(sampleOf(families, 'purchase_watch_retention_timestamp_seconds')).toBe(1_700_000_000);
  await fresh.stop();
});

test('a table that another session has locked keeps numbers back, and is not taken for a database that is away', async () => {
  const fresh = await startTestApi();
  await fresh.sql.begin(async (tx) => {
    await tx`lock table purchase_watch_internal.shards in access exclusive mode`;
    const families = parseMetrics((await fresh.call('GET', '/metrics')).text);
    expect(sampleOf(families, 'purchase_watch_database_up')).toBe(1);
    expect(sampleOf(families, 'purchase_watch_replicas')).toBeUndefined();
    expect(sampleOf(families, 'process_resident_memory_bytes')).toBeGreaterThan(0);
  });
  await expect
    .poll(async () => sampleOf(parseMetrics((await fresh.call('GET', '/metrics')).text), 'purchase_watch_replicas'))
    .toBe(0);
  await fresh.stop();
});
