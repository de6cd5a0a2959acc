import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashOfKey } from '../../../src/config/api-keys.ts';
import { AS_MACHINE } from '../../support/machine.ts';
import { startTestApi, type TestApi } from '../api.ts';

const KEY = 'full-key-1f0c-1f0c-1f0c';
const READ_KEY = 'reading-key-9a2b-9a2b';
const SHOP_KEY = 'shop-key-77aa-77aa-77aa';
const OLD_KEY = 'old-shop-key-6b6b-6b6b';
const SHORT_KEY = 'nineteen-characters';
const OPEN_PATHS = ['/healthz', '/readyz', '/openapi.json'];
const shop = { scopes: ['register'] as const, expires: null };
const apiKeys = [
  { ...shop, name: 'shop', hash: hashOfKey(SHOP_KEY) },
  { ...shop, name: 'old-shop', hash: hashOfKey(OLD_KEY), expires: Date.parse('2020-01-01') },
  { ...shop, name: 'short', hash: hashOfKey(SHORT_KEY) },
];

let open: TestApi;
let locked: TestApi;
beforeAll(async () => {
  open = await startTestApi();
  locked = await startTestApi({ sql: open.sql, apiKey: KEY, apiReadKey: READ_KEY, apiKeys });
});
afterAll(async () => {
  await locked.stop();
  await open.stop();
});

const REFUSED = [401, 'unauthorized', 'Bearer realm="purchase-watch"'];
const refusalOf = ({ status, body, headers }: Awaited<ReturnType<TestApi['call']>>) => [
  status,
  body.code,
  headers.get('www-authenticate'),
];
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('with keys', () => {
  test.each<[string, Record<string, string>]>([
    ['none', {}],
    ['another scheme', { authorization: `Basic ${KEY}` }],
    ['nothing after the scheme', { authorization: 'Bearer ' }],
  ])('%s: nobody gets in, wherever they knock', async (_name, headers) => {
    for (const [method, path] of [
      ['GET', '/v1/purchases'],
      ['POST', '/v1/purchases'],
      ['DELETE', '/v1/purchases/p'],
      ['GET', '/v1/unheard-of'],
    ] as const) {
      expect(refusalOf(await locked.call(method, path, { headers }))).toEqual(REFUSED);
    }
  });

  test('wrong keys: each costs its sender a second and has a line, one after the other; right keys never wait', async () => {
    const before = locked.lines.length;
    const begun = performance.now();
    const took: number[] = [];
    const answered: string[] = [];
    const wrong = ['wrong', KEY.slice(0, -1), SHORT_KEY, OLD_KEY].map(async (key) => {
      const answer = await locked.call('POST', '/v1/purchases', { json: { purchaseId: 'p' }, headers: bearer(key) });
      took.push(performance.now() - begun);
      answered.push('wrong');
      return answer;
    });
    await locked.call('GET', '/v1/purchases', { headers: bearer(READ_KEY) }).then(() => answered.push('right'));
    expect(answered).toEqual(['right']);
    const answers = await Promise.all(wrong);
    for (const answer of answers) expect(refusalOf(answer)).toEqual(REFUSED);
    expect(answers.at(-1)!.body.detail).toMatch(/^The key old-shop expired at 2020-01-01/);
    // The timer of the runtime counts whole milliseconds.
    for (const [index, each] of took.toSorted((a, b) => a - b).entries()) expect(each).toBeGreaterThan((index + 1) * 1_000 - 5);
    const refused = locked.lines
      .slice(before)
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'api.key_refused');
    const line = { level: 'warn', call: 'POST /v1/purchases', address: '127.0.0.1' };
    expect(refused).toEqual([
      ...[1, 2, 3].map(() => expect.objectContaining({ ...line, reason: 'unknown' })),
      expect.objectContaining({ ...line, reason: 'expired', key: 'old-shop' }),
    ]);
  });

  test('a key that registers is answered with what it sent, and shown and allowed nothing else', async () => {
    await locked.call('POST', '/v1/purchases', { json: { purchaseId: 'of-others', reference: 'private' }, headers: bearer(KEY) });
    for (const [purchaseId, status] of [
      ['of-others', 200],
      ['mine', 201],
    ] as const) {
      const answer = await locked.call('POST', '/v1/purchases', { json: { purchaseId }, headers: bearer(SHOP_KEY) });
      expect([answer.status, answer.body]).toEqual([status, { purchaseId, site: 'default' }]);
    }
    for (const [method, path] of [
      ['GET', '/v1/purchases/mine'],
      ['DELETE', '/v1/purchases/mine'],
      ['GET', '/metrics'],
    ] as const) {
      const { status, body } = await locked.call(method, path, { headers: bearer(SHOP_KEY) });
      expect([status, body.code]).toEqual([403, 'missing_scope']);
      expect(body.detail).toMatch(/needs a key with the scope \w+; the key shop has register\.$/);
    }
    expect(locked.lines.at(-2)).toMatch(
      /"key":"shop","needs":"metrics","address":"127.0.0.1","call":"GET \/metrics","event":"api.scope_refused"/,
    );
  });

  test('/readyz says more to a key that may read', async () => {
    const asked = async (key?: string) =>
      Object.keys((await locked.call('GET', '/readyz', { headers: key === undefined ? {} : bearer(key) })).body);
    expect([await asked(), await asked(SHOP_KEY), await asked(READ_KEY)]).toEqual([
      ['status'],
      ['status'],
      ['status', 'database', 'loops'],
    ]);
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
  const MACHINE = [`Authorization: ${AS_MACHINE.authorization}`];

  test("programs send the machine's key, and what operators ask needs none", async () => {
    const status = async (path: string, ...lines: string[]) =>
      (await raw(open, `GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...lines)).status;
    for (const path of ['/v1/purchases', '/v1/nothing']) {
      const { status, text } = await raw(open, `GET ${path} HTTP/1.1`, 'Host: 127.0.0.1');
      expect([status, text]).toEqual([401, expect.stringContaining('curl -H @.purchase-watch/authorization')]);
    }
    expect(await status('/v1/purchases', `Authorization: Bearer ${KEY}`)).toBe(401);
    expect(await status('/v1/purchases', ...MACHINE)).toBe(200);
    for (const path of [...OPEN_PATHS, '/metrics']) expect([path, await status(path)]).toEqual([path, 200]);
    expect((await open.call('GET', '/v1/key')).body).toMatchObject({ key: null, scopes: expect.arrayContaining(['operate']) });
  });

  test.each(['127.0.0.1', '127.9.9.9:8080', 'localhost', 'LOCALHOST:1', '[::1]:8080'])(
    'the host may be called %s',
    async (host) => {
      expect((await raw(open, 'GET /v1/purchases HTTP/1.1', `Host: ${host}`, ...MACHINE)).status).toBe(200);
    },
  );

  test.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:8080', '10.0.0.7', '[::2]'])(
    'and not %s',
    async (host) => {
      const { status, text } = await raw(open, 'GET /v1/purchases HTTP/1.1', `Host: ${host}`, ...MACHINE);
      expect([status, text]).toEqual([403, expect.stringContaining('foreign_host')]);
    },
  );

  test.each([
    'Forwarded: for=192.0.2.7',
    'X-Forwarded-For: 192.0.2.7',
    'x-forwarded-proto: https',
    'X-Forwarded: 192.0.2.7',
    'Via: 1.1 proxy.example',
    'X-Real-IP: 192.0.2.7',
    'X_Forwarded_For: 192.0.2.7',
    'X-Original-Forwarded-For: 192.0.2.7',
    'X-Original-Host: watch.example',
    'X-Cluster-Client-IP: 192.0.2.7',
    'X-Envoy-External-Address: 192.0.2.7',
    'Fly-Client-IP: 192.0.2.7',
    'CF-Ray: 8f0a1b2c3d4e5f60-ARN',
    'X-Amzn-Trace-Id: Root=1-67891233-abcdef012345678912345678',
  ])('what came through a proxy is refused (%s)', async (line) => {
    const { status, text } = await raw(open, 'GET /v1/purchases HTTP/1.1', 'Host: 127.0.0.1', line, ...MACHINE);
    expect([status, text]).toEqual([403, expect.stringMatching(/Set API_KEY.*"code":"proxied"/s)]);
    const headers = ['Host: watch.example', line, `Authorization: Bearer ${READ_KEY}`];
    expect((await raw(locked, 'GET /v1/purchases HTTP/1.1', ...headers)).status).toBe(200);
  });

  test.each(['/metrics', '/readyz', '/nothing'])('what came through a proxy is refused at %s', async (path) => {
    expect((await raw(open, `GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Via: 1.1 proxy.example', ...MACHINE)).status).toBe(403);
  });

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

test.each(['Host: two words', 'Host: a/b', 'Host: [::', 'Host: localhost\r\nhOst: localhost'])(
  '"%s" is no host',
  async (line) => {
    const { status, text } = await raw(locked, 'GET /healthz HTTP/1.1', line);
    expect([status, text]).toEqual([400, expect.stringContaining('"code":"invalid_request"')]);
  },
);

test('each change has a line with who, what, on which id and from where; refused ones and reading have none', async () => {
  const as = (key: string) => ({ headers: bearer(key) });
  await locked.call('POST', '/v1/purchases', { json: { purchaseId: 'c1', reference: 'a name' }, ...as(SHOP_KEY) });
  await locked.call('POST', '/v1/purchases/batch', {
    json: { purchases: [{ purchaseId: 'c1' }, { purchaseId: 'c2' }, {}] },
    ...as(KEY),
  });
  await locked.call('POST', '/v1/purchases/c1/poll?site=default', as(KEY));
  await locked.call('DELETE', '/v1/purchases/c1', as(KEY));
  await locked.call('DELETE', '/v1/purchases/not-there', as(KEY));
  await locked.call('DELETE', '/v1/purchases/c1', as(READ_KEY));
  await locked.call('GET', '/v1/purchases/c1', as(READ_KEY));
  const silence = { everything: true, reason: 'a reason', by: 'a name', endsAt: '1h' };
  await locked.call('POST', '/v1/silences', { json: silence, ...as(KEY) });
  await locked.call('DELETE', '/v1/sessions?key=shop', as(KEY));
  const lines = locked.lines
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === 'api.changed')
    .slice(-6);
  expect(lines.map(({ time: _, host: __, level, event: ___, ...rest }) => ({ level, ...rest }))).toEqual(
    [
      { key: 'shop', call: 'POST /v1/purchases', id: 'c1', site: 'default', status: 201 },
      { key: 'API_KEY', call: 'POST /v1/purchases/batch', created: 1, existing: 1, rejected: 1, status: 200 },
      { key: 'API_KEY', call: 'POST /v1/purchases/{id}/poll', id: 'c1', site: 'default', status: 202 },
      { key: 'API_KEY', call: 'DELETE /v1/purchases/{id}', id: 'c1', status: 204 },
      { key: 'API_KEY', call: 'POST /v1/silences', id: expect.stringMatching(/^sil_/), status: 201 },
      { key: 'API_KEY', call: 'DELETE /v1/sessions', ofKey: 'shop', ended: 0, status: 200 },
    ].map((each) => ({ level: 'info', address: '127.0.0.1', ...each })),
  );
});

test('a request of the wrong form or from the wrong place has a line with who, where and why, and nothing of what was sent', async () => {
  const as = { headers: bearer(SHOP_KEY) };
  const begin = { locked: locked.lines.length, open: open.lines.length };
  await locked.call('POST', '/v1/purchases', { json: { purchaseId: 'r1', 'sent-name': 'sent-value' }, ...as });
  await locked.call('POST', '/v1/purchases', {
    body: '{sent-text',
    headers: { ...as.headers, 'content-type': 'application/json' },
  });
  await locked.call('GET', '/v1/purchases?sent-name=1', { headers: bearer(READ_KEY) });
  await open.call('DELETE', '/v1/purchases/sent-id', { headers: { origin: 'https://sent.example' } });
  await raw(open, 'GET /nothing HTTP/1.1', 'Host: sent.example');
  const lines = [...locked.lines.slice(begin.locked), ...open.lines.slice(begin.open)].map((line) => JSON.parse(line));
  const rejected = lines.filter(({ event }) => event === 'api.request_rejected');
  expect(rejected.map(({ time: _, event: __, host: ___, ...rest }) => rest)).toEqual(
    [
      { key: 'shop', call: 'POST /v1/purchases', code: 'invalid_request' },
      { key: 'shop', call: 'POST /v1/purchases', code: 'not_json' },
      { key: 'API_READ_KEY', call: 'GET /v1/purchases', code: 'invalid_request' },
      { key: null, call: 'DELETE /v1/purchases/{id}', code: 'cross_site' },
      { key: null, call: 'GET of nothing', code: 'foreign_host' },
    ].map((each) => ({ level: 'info', address: '127.0.0.1', ...each })),
  );
  expect(JSON.stringify(rejected)).not.toContain('sent');
});

test('keys and bodies are never logged', async () => {
  await locked.call('POST', '/v1/purchases?a=b', {
    json: { purchaseId: 'logged-id', reference: 'private-reference' },
    headers: bearer(KEY),
  });
  const text = locked.lines.join('');
  expect(text).toContain('"event":"api.answered"');
  for (const secret of [KEY, READ_KEY, SHOP_KEY, OLD_KEY, SHORT_KEY, 'private-reference', 'a=b'])
    expect(text).not.toContain(secret);
});

test('TRACE, which repeats what was sent, is refused', async () => {
  const { status, text } = await raw(locked, 'TRACE /healthz HTTP/1.1', 'Host: localhost', 'X-Sent: sent-value');
  expect([status, text]).toEqual([405, expect.not.stringContaining('sent-value')]);
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
