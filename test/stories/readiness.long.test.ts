import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { connect } from '../../src/postgres/connection/database.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';

const SCHEMA_LOCK = 7_236_019_444;

let database: TestDatabase;
let daemons: Daemon[] = [];
afterEach(async () => {
  await Promise.all(daemons.map((daemon) => daemon.end('SIGKILL')));
  daemons = [];
  await database.drop();
});

function start(args: readonly string[], env: Record<string, string> = {}): Daemon {
  const daemon = startDaemon(['start', ...args], {
    DATABASE_URL: database.url,
    CHECKOUT_BASE_URL: 'http://127.0.0.1:9',
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    PORT: '0',
    ...env,
  });
  daemons.push(daemon);
  return daemon;
}
async function addressOf(daemon: Daemon): Promise<string> {
  await daemon.says('"api.listening"');
  return /"url":"([^"]+)"[^\n]*"api.listening"/.exec(daemon.output())![1]!;
}
async function ask(url: string, key?: string): Promise<{ status: number; body: Record<string, unknown>; text: string }> {
  const response = await fetch(url, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith('{') ? JSON.parse(text) : {} };
}

test('while a daemon starts its port is open: it lives, is not ready, and says what it does; then the API takes over', async () => {
  database = await testDatabase({ empty: true });
  const holder = connect(database.url, { max: 1, name: 'holder' });
  await holder`select pg_advisory_lock(${SCHEMA_LOCK})`;
  const [reading, metering] = ['a-key-that-may-read-all', 'a-key-for-metrics-only'];
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  writeFileSync(file, `api: { keys: { metering: { scopes: [metrics], key: ${metering} } } }`);
  const daemon = start([], { API_READ_KEY: reading, PURCHASE_WATCH_CONFIG: file });
  const url = await addressOf(daemon);
  expect(await ask(`${url}/healthz`)).toMatchObject({ status: 200, body: { status: 'alive' } });
  await expect
    .poll(() => ask(`${url}/readyz`, reading))
    .toMatchObject({
      status: 503,
      body: {
        status: 'starting',
        doing: expect.stringMatching(/session \d+ of login .* \(purchase-watch holder\), which holds/),
      },
    });
  for (const key of [undefined, metering]) expect((await ask(`${url}/readyz`, key)).text).toBe('{"status":"starting"}');
  expect((await ask(`${url}/readyz`, 'a-key-that-is-not-known')).status).toBe(401);
  // The numbers of the process need no database.
  expect((await ask(`${url}/metrics`)).status).toBe(401);
  const starting = await ask(`${url}/metrics`, metering);
  expect([starting.status, starting.text]).toEqual([200, expect.stringContaining('\npurchase_watch_starting 1\n')]);
  expect(starting.text).toContain('process_resident_memory_bytes');
  const refused = await fetch(`${url}/v1/purchases`);
  expect([refused.status, refused.headers.get('content-type'), refused.headers.get('retry-after')]).toEqual([
    503,
    'application/problem+json',
    '5',
  ]);
  const problem = await refused.text();
  expect(JSON.parse(problem)).toMatchObject({ code: 'starting' });
  expect(problem).not.toMatch(/migrating|session/);
  await holder`select pg_advisory_unlock(${SCHEMA_LOCK})`;
  await daemon.says('"started"');
  expect(daemon.output()).toMatch(/"doing":"migrating: 0001_replicas.sql \(1 of \d+\)"/);
  await expect.poll(() => ask(`${url}/readyz`)).toMatchObject({ status: 200, body: { status: 'ready' } });
  expect((await ask(`${url}/v1/purchases`, reading)).status).toBe(200);
  expect((await ask(`${url}/metrics`, metering)).text).toContain('\npurchase_watch_starting 0\n');
  await holder.end();
});

test('a worker serves health and metrics and nothing else, and a port that is taken stops it', async () => {
  database = await testDatabase();
  const worker = start(['--worker']);
  const url = await addressOf(worker);
  await worker.says('"started"');
  await expect.poll(() => ask(`${url}/readyz`)).toMatchObject({ status: 200, body: { status: 'ready' } });
  expect((await ask(`${url}/healthz`)).status).toBe(200);
  expect((await ask(`${url}/metrics`)).text).toContain('purchase_watch_polls_total');
  expect((await ask(`${url}/v1/purchases`)).status).toBe(401);
  const { port } = new URL(url);
  const second = start(['--worker'], { PORT: port });
  await second.says(`port ${port} of 127.0.0.1 is in use`);
  expect(await second.end('SIGCONT')).toBe(1);
  expect(await worker.end('SIGTERM')).toBe(0);
});
