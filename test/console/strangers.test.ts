/** What strangers send to the console: malformed requests are answered 4xx, and leave few lines in the log, none with a stack. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { KEYS, OPERATOR, READER } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let keyed: TestApp;
let keyless: TestApp;

beforeAll(async () => {
  keyed = await startTestApp({ realClock: true, env: KEYS });
  keyless = await startTestApp({ realClock: true });
  await Promise.all([keyed.app.start(), keyless.app.start()]);
});

afterAll(async () => {
  await keyed?.stop();
  await keyless?.stop();
});

beforeEach(() => {
  keyed.log.length = 0;
  keyless.log.length = 0;
});

const OWN = { 'sec-fetch-site': 'same-origin' };
const FORM = { ...OWN, 'content-type': 'application/x-www-form-urlencoded' };
const ask = (t: TestApp, path: string, init: RequestInit = {}) => fetch(t.app.url()! + path, { redirect: 'manual', ...init });
const post = (t: TestApp, path: string, body: string | URLSearchParams, headers: Record<string, string> = OWN) =>
  ask(t, path, { method: 'POST', body, headers });
/** Lines about requests, without those that are written at the level debug. */
const logged = (t: TestApp) =>
  t.log.map((line) => JSON.parse(line)).filter(({ event, level }) => /^(?:api|console)\./.test(event) && level !== 'debug');
const signIn = async (key: string) =>
  (await post(keyed, '/sign-in', new URLSearchParams({ key }))).headers.getSetCookie()[0]!.split(';')[0]!;

/** A body that says it is a form of parts, and is none. */
const BROKEN_PARTS = { ...OWN, 'content-type': 'multipart/form-data; boundary=x' };

describe.each([
  ['with keys', () => keyed],
  ['without keys', () => keyless],
])('%s', (_name, t) => {
  test.each<[string, number, string, RequestInit]>([
    ['an asset that there is not', 404, '/assets/x', {}],
    ['an asset with half an escape', 404, '/assets/%', {}],
    ['a form of parts that is broken', 415, '/sign-in', { method: 'POST', body: '--x\r\nno part', headers: BROKEN_PARTS }],
    [
      'a form without a boundary',
      415,
      '/sign-in',
      { method: 'POST', body: 'x', headers: { ...OWN, 'content-type': 'multipart/form-data' } },
    ],
    [
      'a form of another type',
      415,
      '/sign-in',
      { method: 'POST', body: '{}', headers: { ...OWN, 'content-type': 'application/json' } },
    ],
    [
      'a form that another site posts',
      403,
      '/sign-in',
      { method: 'POST', body: 'key=x', headers: { 'content-type': FORM['content-type'], origin: 'https://shop.example' } },
    ],
    ['a key beyond Latin-1', 400, '/sign-in', { method: 'POST', body: 'key=%E2%82%AC%F0%9F%97%9D', headers: FORM }],
    ['a key of no characters that can be sent', 400, '/sign-in', { method: 'POST', body: 'key=%00%7f', headers: FORM }],
    ['a key of bytes that are no text', 400, '/sign-in', { method: 'POST', body: 'key=%ff%fe', headers: FORM }],
  ])('%s: %i', async (_what, status, path, init) => {
    const answer = await ask(t(), path, init);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/html; charset=UTF-8']);
    const lines = logged(t());
    expect(lines.map(({ event }) => event)).toEqual(status === 404 ? [] : ['api.request_rejected']);
    expect(JSON.stringify(lines)).not.toContain('stack');
  });
});

test('cookies that nobody set, and paths with half an escape, are a matter of every day', async () => {
  const cookie = 'purchase_watch_session=%; purchase_watch_theme=%E0%A4%A; =; ;;; purchase_watch_session="%00"';
  for (const path of ['/', '/purchases/%', '/purchases/%ff', '/purchases/%00', '/incidents/%E0%A4%A?q=%', '/live'])
    for (const t of [keyed, keyless]) {
      const answer = await ask(t, path, { headers: { cookie }, signal: AbortSignal.timeout(5_000) });
      expect([path, answer.status < 500]).toEqual([path, true]);
      await answer.body?.cancel();
    }
  expect([...logged(keyed), ...logged(keyless)].filter(({ level }) => level === 'error')).toEqual([]);
});

test('what the console refuses for itself, without keys, is said as it is, on a page and in a line', async () => {
  for (const [code, headers] of [
    ['proxied', { 'x-forwarded-for': '192.0.2.1' }],
    ['cross_site', { ...FORM, origin: 'https://shop.example' }],
  ] as const) {
    keyless.log.length = 0;
    const answer = await post(keyless, '/theme', 'theme=dark', headers);
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining(`${code}, 403`)]);
    expect(logged(keyless)).toEqual([
      expect.objectContaining({ event: 'api.request_rejected', code, address: '127.0.0.1', call: 'POST /theme', key: null }),
    ]);
  }
});

test('a wrong key, a key that may not, and a form of another site leave the lines that they leave at the API', async () => {
  const cookie = await signIn(READER);
  keyed.log.length = 0;
  await post(keyed, '/sign-in', new URLSearchParams({ key: 'wrong-key-0123456789abcdef' }));
  const refused = await post(keyed, '/purchases/register', 'lines=a', { ...FORM, cookie });
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('read_only_key, 403')]);
  await post(keyed, '/sign-out', 'from=here', { cookie, 'content-type': FORM['content-type'], origin: 'https://shop.example' });
  expect(logged(keyed).map(({ time: _, level: __, host: ___, replica: ____, ...rest }) => rest)).toEqual([
    { event: 'api.key_refused', reason: 'unknown', address: '127.0.0.1', call: 'GET /v1/key' },
    {
      event: 'api.scope_refused',
      key: 'API_READ_KEY',
      needs: 'register',
      address: '127.0.0.1',
      call: 'POST /purchases/register',
    },
    { event: 'api.request_rejected', key: null, address: '127.0.0.1', call: 'POST /sign-out', code: 'cross_site' },
  ]);
});

test('a form goes on to no address that a header cannot carry', async () => {
  const cookie = await signIn(OPERATOR);
  for (const to of ['/a\u0001', '/a\tb', '/a\u007f', '/\u0085', '/é€\u{1f600}', '/a\r\nset-cookie: b=c', '/\ufffd%'])
    for (const [path, fields] of [
      ['/sign-in', { key: OPERATOR, to }],
      ['/theme', { theme: 'dark', back: to }],
      ['/silences', { act: 'end', id: 'sil_1', back: to }],
    ] as const) {
      const answer = await post(keyed, path, new URLSearchParams(fields), { ...OWN, cookie });
      expect([path, to, answer.status]).toEqual([path, to, path === '/silences' ? 404 : 303]);
    }
  expect(logged(keyed).filter(({ level }) => level === 'error')).toEqual([]);
});

test('one budget bounds all lines that strangers cause, at every door', async () => {
  const cookie = await signIn(OPERATOR);
  keyed.log.length = 0;
  for (let time = 0; time < 50; time += 1) {
    await post(keyed, '/sign-in', 'x', BROKEN_PARTS);
    await post(keyed, '/sign-in', 'key=%E2%82%AC', FORM);
    await ask(keyed, '/assets/x');
    await ask(keyed, '/v1/purchases?nothing=1', { headers: { authorization: `Bearer ${OPERATOR}` } });
    await post(keyed, '/theme', 'x', { ...BROKEN_PARTS, cookie });
  }
  expect(logged(keyed).length).toBeGreaterThan(20);
  expect(logged(keyed).length).toBeLessThan(80);
}, 30_000);
