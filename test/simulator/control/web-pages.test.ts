import { expect, test } from 'vitest';
import { startCaller } from '../caller.ts';

const json = { 'content-type': 'application/json' };
const RESET = '/control/counters/reset';

test('a page whose name was made to resolve to this machine neither reads nor changes anything, nor begins a namespace', async () => {
  const t = await startCaller();
  const host = 'rebound.example:8090';
  const origin = `http://${host}`;
  for (const [method, path] of [
    ['GET', '/control'],
    ['GET', '/control/sensitive-values'],
    ['GET', '/ns/invented/control/settings'],
    ['GET', '/ns/invented/authorization/1'],
    ['POST', RESET],
  ] as const) {
    const { status, headers, text } = await t.call(path, { method, headers: { ...json, host, origin } });
    expect([path, status, headers['content-type']]).toEqual([path, 403, 'application/problem+json']);
    const detail = expect.stringMatching(/"rebound\.example:8090".*--allow-host/);
    expect(JSON.parse(text)).toMatchObject({ code: 'foreign_host', detail });
  }
  expect((await t.call('/healthz', { headers: { host } })).status).toBe(200);
  expect(JSON.parse((await t.steer('/namespaces')).text).namespaces).toHaveLength(1);
});

test('addresses, names that no stranger can own and names that were allowed are taken', async () => {
  const t = await startCaller({ allowHosts: ['Checkout.shop.example'] });
  const status = async (host: string) => (await t.call('/control/settings', { headers: { host } })).status;
  const taken = ['localhost:8090', '127.0.0.1', '[::1]:8090', '10.1.2.3:80', 'checkout:8090', 'LOCALHOST.', 'a.localhost'];
  taken.push('host.docker.internal:8090', 'checkout.test', 'checkout.shop.example:8090');
  for (const host of taken) expect([host, await status(host)]).toEqual([host, 200]);
  for (const host of [
    'shop.example',
    'a.checkout.shop.example',
    'localhost.example',
    '127.0.0.1.example',
    'a b',
    '127.0.0.1@a.example',
  ]) {
    expect([host, await status(host)]).toEqual([host, 403]);
  }
});

test('posts of other origins are refused, also without a body; programs, own pages and links are taken', async () => {
  const t = await startCaller();
  const { host } = new URL(t.simulator.url);
  const { purchaseId } = t.control.negotiate();
  const page = `/control/checkout/${purchaseId}`;
  const asked = async (path: string, headers: Record<string, string>, method: 'GET' | 'POST' = 'POST') =>
    (await t.call(path, { method, headers })).status;
  for (const headers of [
    { origin: 'https://elsewhere.example' },
    { origin: 'http://127.0.0.1:3000' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
  ]) {
    for (const path of [RESET, '/control/reset']) expect([headers, await asked(path, headers as never)]).toEqual([headers, 403]);
  }
  expect(await asked(page, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 'GET')).toBe(403);
  expect(t.control.get(purchaseId)!.state.name).toBe('New');
  for (const headers of [{}, { origin: `http://${host}` }, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }]) {
    expect([headers, await asked(RESET, headers as never)]).toEqual([headers, 200]);
  }
  expect(await asked(page, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 'GET')).toBe(200);
  expect((await t.call('/control')).headers['content-security-policy']).toBe("frame-ancestors 'self'");
});
