/** A daemon without keys behind a proxy that adds no header: what comes through it is a stranger's. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../cli/run.ts';
import { AS_MACHINE, MACHINE_DIR } from '../../support/machine.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
/** Passes requests on as they are, to an address of this machine. */
const proxy = createServer((asked, answer) => {
  const { method, url, headers } = asked;
  const { host } = new URL(t.app.url()!);
  const passed = request(t.app.url() + url!, { method: method!, headers: { ...headers, host } }, (answered) => {
    answer.writeHead(answered.statusCode!, answered.headers);
    answered.pipe(answer);
  });
  asked.pipe(passed);
});
let origin: string;

beforeAll(async () => {
  t = await startTestApp({ realClock: true });
  await t.app.start();
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await t?.stop();
});

test('read, register and erase are refused, and the console asks for a link', async () => {
  const purchaseId = await t.watch({}, { reference: 'a-customer' });
  const ask = async (method: string, path: string, body: object | null = null) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(origin + path, {
      method,
      headers,
      redirect: 'manual',
      ...(body && { body: JSON.stringify(body) }),
    });
    return [answer.status, await answer.text()] as const;
  };
  for (const [method, path, body] of [
    ['GET', '/v1/purchases', null],
    ['POST', '/v1/purchases', { purchaseId: 'a-stranger' }],
    ['POST', `/v1/purchases/${purchaseId}/forget`, {}],
    ['DELETE', `/v1/purchases/${purchaseId}`, null],
    ['POST', '/v1/subscribers', { name: 'a-stranger', url: 'https://shop.example/' }],
  ] as const)
    expect([path, ...(await ask(method, path, body))]).toEqual([path, 401, expect.not.stringContaining('a-customer')]);
  for (const path of ['/', '/purchases', `/purchases/default/${purchaseId}`])
    expect([path, ...(await ask('GET', path))]).toEqual([path, 303, '']);
  const { origin: own } = new URL(t.app.url()!);
  const form = { method: 'POST', redirect: 'manual', body: new URLSearchParams({ lines: 'a-stranger' }) } as const;
  const posted = await fetch(`${origin}/purchases/register`, { ...form, headers: { origin: own } });
  expect([posted.status, posted.headers.get('location')]).toEqual([303, '/sign-in']);
  const rows = await t.database.sql`select purchase_id, reference from purchase_watch.purchases`;
  expect(rows).toEqual([{ purchaseId, reference: 'a-customer' }]);
  const known = await fetch(`${t.app.url()}/v1/purchases/${purchaseId}`, { headers: AS_MACHINE });
  expect(await known.json()).toMatchObject({ reference: 'a-customer' });
});

test('DATA_DIR keeps the key as a line that curl sends, for this user alone', () => {
  const path = join(MACHINE_DIR, 'authorization');
  expect(readFileSync(path, 'utf8')).toBe(`authorization: ${AS_MACHINE.authorization}\n`);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(MACHINE_DIR).mode & 0o777).toBe(0o700);
});

test('where DATA_DIR keeps no key, a daemon on a database elsewhere stays closed and says to set API_KEY', async () => {
  const DATA_DIR = join(MACHINE_DIR, 'no-folder');
  writeFileSync(DATA_DIR, '');
  const closed = await startTestApp({ realClock: true, env: { DATA_DIR } });
  await closed.app.start();
  const ask = async (path: string) => {
    const answer = await fetch(closed.app.url() + path, { headers: AS_MACHINE });
    return [answer.status, await answer.text()];
  };
  expect(await ask('/v1/purchases')).toEqual([401, expect.stringContaining('set API_KEY')]);
  expect(await ask('/')).toEqual([200, expect.stringContaining('API_KEY')]);
  for (const path of ['/healthz', '/readyz']) expect((await fetch(closed.app.url() + path)).status).toBe(200);
  expect((await fetch(`${closed.app.url()}/metrics`)).status).toBe(200);
  expect(closed.log.filter((line) => line.includes('api.closed'))).toEqual([
    expect.stringMatching(/"level":"error".*set API_KEY/),
  ]);
  const CHECKOUT = {
    CHECKOUT_BASE_URL: closed.simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
  };
  const { stdout } = await runCommand(['doctor', '--quiet'], {
    ...CHECKOUT,
    DATABASE_URL: closed.database.url,
    DATA_DIR,
    PORT: '0',
  });
  expect(stdout).toMatch(/API_KEY: the key kept in \S+no-folder\/authorization cannot be read or made/);
  await closed.stop();
});
