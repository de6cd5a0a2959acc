import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './api.ts';

const KEY = 'full-key-1f0c';
const READ_KEY = 'reading-key-9a2b';
const OPEN_PATHS = ['/healthz', '/readyz', '/openapi.json'];

let open: TestApi;
let locked: TestApi;
beforeAll(async () => {
  open = await startTestApi();
  locked = await startTestApi({ sql: open.sql, apiKey: KEY, apiReadKey: READ_KEY });
});
afterAll(async () => {
  await locked.stop();
  await open.stop();
});

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('with keys', () => {
  test.each<[string, Record<string, string>]>([
    ['none', {}],
    ['a wrong one', bearer('wrong')],
    ['one that begins right', bearer(KEY.slice(0, -1))],
    ['another scheme', { authorization: `Basic ${KEY}` }],
    ['nothing after the scheme', { authorization: 'Bearer ' }],
  ])('%s: nobody gets in, wherever they knock', async (_name, headers) => {
    for (const [method, path] of [
      ['GET', '/v1/purchases'],
      ['POST', '/v1/purchases'],
      ['DELETE', '/v1/purchases/p'],
      ['GET', '/v1/unheard-of'],
    ] as const) {
      const { status, body, headers: answered } = await locked.call(method, path, { headers });
      expect([status, body.code, answered.get('www-authenticate')]).toEqual([
        401,
        'unauthorized',
        'Bearer realm="purchase-watch"',
      ]);
    }
  });

  test('the full key may do everything, the reading one may read', async () => {
    const json = { purchaseId: 'p' };
    expect((await locked.call('POST', '/v1/purchases', { json, headers: bearer(KEY) })).status).toBe(201);
    expect((await locked.call('GET', '/v1/purchases', { headers: { authorization: `bearer  ${READ_KEY}` } })).status).toBe(200);
    expect((await locked.call('HEAD', '/v1/purchases/p', { headers: bearer(READ_KEY) })).status).toBe(200);
    for (const [method, path] of [
      ['POST', '/v1/purchases'],
      ['POST', '/v1/purchases/p/poll'],
      ['DELETE', '/v1/purchases/p'],
    ] as const) {
      const { status, body } = await locked.call(method, path, { headers: bearer(READ_KEY) });
      expect([status, body.code]).toEqual([403, 'read_only_key']);
    }
  });

  test.each(OPEN_PATHS)('%s needs none', async (path) => {
    expect((await locked.call('GET', path)).status).toBe(200);
  });

  test('the host may have any name, and pages of other origins may call: they have no key', async () => {
    expect(
      (await raw(locked, 'GET /v1/purchases HTTP/1.1', 'Host: watch.example', `Authorization: Bearer ${READ_KEY}`)).status,
    ).toBe(200);
    const headers = { ...bearer(KEY), origin: 'https://admin.example', 'sec-fetch-site': 'cross-site' };
    expect((await locked.call('POST', '/v1/purchases', { json: { purchaseId: 'q' }, headers })).status).toBe(201);
  });
});

describe('without keys', () => {
  test.each(['127.0.0.1', '127.9.9.9:8080', 'localhost', 'LOCALHOST:1', '[::1]:8080'])(
    'the host may be called %s',
    async (host) => {
      expect((await raw(open, 'GET /v1/purchases HTTP/1.1', `Host: ${host}`)).status).toBe(200);
    },
  );

  test.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:8080', '10.0.0.7', '[::2]'])(
    'and not %s',
    async (host) => {
      const { status, text } = await raw(open, 'GET /v1/purchases HTTP/1.1', `Host: ${host}`);
      expect([status, text]).toEqual([403, expect.stringContaining('foreign_host')]);
    },
  );

  test('a page of another origin may not change anything', async () => {
    const port = new URL(open.url).port;
    const remove = async (headers: Record<string, string>) =>
      (await open.call('DELETE', '/v1/purchases/nobody', { headers })).body.code;
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://localhost:${port}` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      expect(await remove(headers as Record<string, string>)).toBe('cross_site');
    }
    expect(await remove({ origin: open.url, 'sec-fetch-site': 'same-origin' })).toBe('purchase_not_found');
    expect(await remove({})).toBe('purchase_not_found');
  });
});

test.each(['Host: two words', 'Host: a/b', 'Host: [::'])('"%s" is no host', async (line) => {
  const { status, text } = await raw(locked, 'GET /healthz HTTP/1.1', line);
  expect([status, text]).toEqual([400, expect.stringContaining('"code":"invalid_request"')]);
});

test('keys and bodies are never logged', async () => {
  await locked.call('POST', '/v1/purchases?a=b', { json: { purchaseId: 'private-id' }, headers: bearer(KEY) });
  const text = locked.lines.join('');
  expect(text).toContain('"event":"api.answered"');
  for (const secret of [KEY, READ_KEY, 'private-id', 'a=b']) expect(text).not.toContain(secret);
});

/** A request written by hand, for headers that fetch does not let anybody set. */
async function raw({ url }: TestApi, ...lines: string[]): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(url);
  const socket = createConnection(Number(port), hostname);
  socket.write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  return { status: Number(text.split(' ')[1]), text };
}
