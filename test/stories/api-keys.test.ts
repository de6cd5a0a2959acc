/** Keys of the API, by the daemon that operators run: made by the command, kept as hashes, delayed, logged. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCommand } from '../cli/run.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';

let database: TestDatabase;
let daemon: Daemon;
afterEach(async () => {
  await daemon.end('SIGKILL');
  await database.drop();
});

const FULL = 'the-key-of-the-operator';

async function madeKey(...options: string[]): Promise<{ readonly key: string; readonly lines: string }> {
  const { exitCode, stdout } = await runCommand(['key', 'new', ...options]);
  expect(exitCode).toBe(0);
  return { key: /^key +(pwk_[\w-]{43})$/m.exec(stdout)![1]!, lines: /^ {4}[\w-]+: \{ scopes: .*$/m.exec(stdout)![0] };
}

async function start(env: Record<string, string>): Promise<string> {
  database = await testDatabase();
  daemon = startDaemon(['start'], {
    DATABASE_URL: database.url,
    CHECKOUT_BASE_URL: 'http://127.0.0.1:9',
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    PORT: '0',
    ...env,
  });
  await daemon.says('"started"');
  return /"url":"([^"]+)"[^\n]*"api.listening"/.exec(daemon.output())![1]!;
}

interface Line {
  readonly event: string;
  readonly [field: string]: unknown;
}
const lines = (event: string): Line[] =>
  daemon
    .output()
    .split('\n')
    .filter((line) => line.includes(`"event":"${event}"`))
    .map((line) => JSON.parse(line));

async function ask(url: string, key?: string, init: RequestInit = {}) {
  const headers = { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  const response = await fetch(url, { ...init, headers });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith('{') ? JSON.parse(text) : {} };
}

test('a daemon with hashed keys: two at once, scopes, failures that cost a second, readiness, lines without secrets', async () => {
  const made = await Promise.all([
    madeKey('--name', 'shop', '--scope', 'register', '--expires', '7d'),
    madeKey('--name', 'shop-next', '--scope', 'register'),
    madeKey('--name', 'reports', '--scope', 'read', '--expires', '2099-12-31'),
  ]);
  const [shop, next, reports] = made.map(({ key }) => key) as [string, string, string];
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  writeFileSync(file, ['api:', '  keys:', ...made.map((each) => each.lines)].join('\n'));
  const url = await start({ PURCHASE_WATCH_CONFIG: file, API_KEY: FULL });
  await daemon.says('"api.key_expires"');
  expect(lines('api.key_expires')).toEqual([expect.objectContaining({ level: 'warn', key: 'shop' })]);

  // An old key and the new one, while one replaces the other.
  for (const [key, purchaseId] of [
    [shop, 'by-old'],
    [next, 'by-new'],
  ] as const)
    expect((await ask(`${url}/v1/purchases`, key, { method: 'POST', body: JSON.stringify({ purchaseId }) })).status).toBe(201);
  expect((await ask(`${url}/v1/purchases`, shop)).body.code).toBe('missing_scope');
  expect((await ask(`${url}/v1/purchases`, reports)).body.data).toHaveLength(2);
  expect(lines('api.changed').map(({ key, id, address }) => [key, id, address])).toEqual([
    ['shop', 'by-old', '127.0.0.1'],
    ['shop-next', 'by-new', '127.0.0.1'],
  ]);

  // Without a key that may read, readiness is one word.
  await expect.poll(async () => (await ask(`${url}/readyz`)).text).toBe('{"status":"ready"}');
  expect((await ask(`${url}/readyz`, reports)).body).toMatchObject({ database: 'answers', loops: expect.any(Array) });
  expect((await ask(`${url}/metrics`, reports)).body.code).toBe('missing_scope');

  // A wrong key does not get around its cost by asking what needs none.
  for (const path of ['/readyz', '/v1/purchases', '/metrics']) {
    const begun = performance.now();
    expect((await ask(`${url}${path}`, 'pwk_not-the-key-of-anybody')).status).toBe(401);
    expect(performance.now() - begun).toBeGreaterThan(995);
  }
  expect(lines('api.key_refused').map(({ call, address }) => [call, address])).toEqual(
    ['GET /readyz', 'GET /v1/purchases', 'GET /metrics'].map((call) => [call, '127.0.0.1']),
  );
  const flood = Promise.allSettled(Array.from({ length: 100 }, () => ask(`${url}/v1/purchases`, 'pwk_not-the-key-of-anybody')));
  // One budget holds for all lines that callers cause, those above among them.
  await expect.poll(() => lines('api.key_refused').length).toBeGreaterThan(30);
  expect(lines('api.key_refused').length).toBeLessThan(60);
  expect((await ask(`${url}/v1/purchases`, FULL)).status).toBe(200);
  for (const secret of [FULL, shop, next, reports, 'pwk_not']) expect(daemon.output()).not.toContain(secret);
  expect(await daemon.end('SIGTERM')).toBe(0);
  // Who waits for the answer to a wrong key does not keep the daemon from its end.
  const statuses = (await flood).map((each) => (each.status === 'fulfilled' ? each.value.status : null));
  // Ten wait at a time; each second one of them is answered, and another may wait. The others are refused, or held until the end.
  expect(statuses).not.toContain(200);
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(20);
});
