/** What pages of other sites post to the console: refused, whatever its type, unless the browser says that a page of the console sent it. */
import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEYS, OPERATOR } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const CONSOLE_URL = 'https://ops.example/watch';
let plain: TestApp;
let proxied: TestApp;

beforeAll(async () => {
  plain = await startTestApp({ realClock: true, env: KEYS });
  proxied = await startTestApp({ realClock: true, env: { ...KEYS, CONSOLE_URL } });
  for (const { app } of [plain, proxied]) await app.start();
});

afterAll(async () => {
  await plain?.stop();
  await proxied?.stop();
});

/** The status of a sign-in with a right key; headers as they are given, without any that fetch adds. */
async function signIn({ app }: TestApp, headers: Record<string, string>, path = '/sign-in'): Promise<number | undefined> {
  const body = `key=${OPERATOR}`;
  const type = 'application/x-www-form-urlencoded';
  const call = request(app.url() + path, {
    method: 'POST',
    headers: { 'content-type': type, 'content-length': body.length, ...headers },
  });
  call.end(body);
  const [answer] = await once(call, 'response');
  answer.resume();
  return answer.statusCode;
}

const TYPES = [
  ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain', 'application/json', 'text/html'],
  ...['', 'application/octet-stream', 'APPLICATION/JSON', 'x'],
];

test.each(TYPES)('a body of the type %j from another site, or from a place that is not named, is refused', async (type) => {
  for (const headers of [
    {},
    { origin: 'https://shop.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])
    expect(await signIn(plain, { 'content-type': type, ...headers })).toBe(403);
});

test.each(['PUT', 'DELETE', 'PATCH', 'POST'])('so is %s to any address', async (method) => {
  const answer = await fetch(`${plain.app.url()}/subscribers/none/forget`, { method, redirect: 'manual' });
  expect(answer.status).toBe(403);
});

test('without CONSOLE_URL a form comes from the address by which it is posted, with scheme and port', async () => {
  const { host, hostname } = new URL(plain.app.url()!);
  for (const origin of [
    `https://${host}`,
    `http://${hostname}`,
    `http://${hostname}:1`,
    `http://localhost:${host.split(':')[1]}`,
    'null',
    '',
  ])
    expect(await signIn(plain, { origin }), origin).toBe(403);
  expect(await signIn(plain, { origin: `http://${host}`, 'sec-fetch-site': 'same-site' })).toBe(403);
  expect(await signIn(plain, { origin: `http://${host}` })).toBe(303);
  expect(await signIn(plain, { 'sec-fetch-site': 'same-origin' })).toBe(303);
  expect(await signIn(plain, { origin: 'http://watch.lan:8080', host: 'watch.lan:8080' })).toBe(303);
});

test('with CONSOLE_URL a form comes from there, also where a proxy ends TLS', async () => {
  const { host } = new URL(proxied.app.url()!);
  for (const origin of ['http://ops.example', 'https://ops.example:444', 'https://ops.example.shop.example', `http://${host}`]) {
    expect(await signIn(proxied, { origin }), origin).toBe(403);
    expect(await signIn(proxied, { origin, host: 'ops.example' }), origin).toBe(403);
  }
  for (const headers of [{}, { host: 'ops.example' }])
    for (const path of ['/sign-in', '/watch/sign-in'])
      expect(await signIn(proxied, { origin: 'https://ops.example', ...headers }, path)).toBe(303);
});
