/** Sessions in a real browser and over two replicas: which cookie holds one, who may post with it, and when open pages end. */
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hashOfKey } from '../../src/config/api-keys.ts';
import { type EventStream, openStream } from '../api/event-stream.ts';
import { KEYS, OPERATOR, openPage, openSignedIn, READER, startBrowser } from '../support/browser.ts';
import { makeAuthority } from '../support/certificates.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const ENDING = 'ending-key-0123456789abcdef0123456789abc';
let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser?.close());

/** A daemon with keys that runs until the end of the test. */
async function startKeyed(env: Record<string, string> = {}): Promise<TestApp> {
  const t = await startTestApp({ realClock: true, env: { ...KEYS, ...env } });
  onTestFinished(() => t.stop());
  await t.app.start();
  return t;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A proxy with TLS before a daemon; answers its port, and takes the address of the daemon later. */
async function startTlsProxy(): Promise<{ port: number; passTo(url: string): void }> {
  const { certificate, key } = makeAuthority().issue('localhost');
  let target = '';
  const server = createSecureServer({ cert: certificate, key }, (incoming, outgoing) => {
    const { method, headers } = incoming;
    const passed = request(target + incoming.url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  const port = await listen(server);
  return {
    port,
    passTo: (url) => {
      target = url;
    },
  };
}

test('two daemons on one host sign nobody out of each other', async () => {
  const [one, two] = [await startKeyed(), await startKeyed()];
  const { page, context } = await openSignedIn(browser, { origin: one.app.url()!, key: OPERATOR, to: '/incidents' });
  await page.goto(`${two.app.url()}/sign-in?to=/silences`);
  await page.getByLabel('Key of the API').fill(READER);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${two.app.url()}/silences`);
  await page.goto(`${one.app.url()}/incidents`);
  expect(page.url()).toBe(`${one.app.url()}/incidents`);
  const ports = [one, two].map(({ app }) => new URL(app.url()!).port);
  expect((await context.cookies()).map(({ name }) => name).sort()).toEqual(
    ports.map((port) => `purchase_watch_session_${port}`).sort(),
  );
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL(/sign-in/);
  await page.goto(`${two.app.url()}/silences`);
  expect(page.url()).toBe(`${two.app.url()}/silences`);
  await context.close();
});

test.each([
  ['', '__Host-'],
  ['/ops', '__Secure-'],
])('with CONSOLE_URL https://…%s the name of the cookie begins with %s', async (base, prefix) => {
  const proxy = await startTlsProxy();
  const origin = `https://localhost:${proxy.port}`;
  const t = await startKeyed({ CONSOLE_URL: origin + base });
  proxy.passTo(t.app.url()!);
  const { page, context, misdeeds } = await openPage(browser, { origin, ignoreHTTPSErrors: true });
  await page.goto(`${base}/sign-in?to=/incidents`);
  await page.getByLabel('Key of the API').fill(OPERATOR);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${origin}${base}/incidents`);
  expect(await context.cookies()).toMatchObject([
    {
      name: `${prefix}purchase_watch_session_${proxy.port}`,
      path: `${base}/`,
      domain: 'localhost',
      secure: true,
      httpOnly: true,
    },
  ]);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL(`${origin}${base}/sign-in`);
  expect(await context.cookies()).toEqual([]);
  expect(misdeeds.found.filter((each) => !each.includes('404'))).toEqual([]);
  await context.close();
});

test('a page of another port of this host posts nothing in the name of a person, by a form or by a script', async () => {
  const t = await startKeyed();
  const origin = t.app.url()!;
  const forms = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'].map(
    (type, index) =>
      `<form method="post" enctype="${type}" action="${origin}/sign-out"><input name="from" value="everywhere"><button>Form ${index}</button></form>`,
  );
  const other = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end(`<main>${forms.join('')}</main>`),
  );
  const elsewhere = `http://127.0.0.1:${await listen(other)}`;
  const { page, context } = await openSignedIn(browser, { origin, key: OPERATOR, to: '/incidents' });
  for (const name of ['Form 0', 'Form 1', 'Form 2']) {
    await page.goto(elsewhere);
    await page.getByRole('button', { name }).click();
    await page.getByText('Other web sites may not change anything here').waitFor();
  }
  await page.goto(elsewhere);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
    await page.evaluate(
      ([url, type]) =>
        fetch(url!, {
          method: 'POST',
          body: 'from=everywhere',
          credentials: 'include',
          mode: 'no-cors',
          headers: { 'content-type': type! },
        }),
      [`${origin}/sign-out`, type],
    );
  }
  await page.goto(`${origin}/incidents`);
  expect(page.url()).toBe(`${origin}/incidents`);
  expect(await t.database.sql`select from purchase_watch_internal.console_sessions`).toHaveLength(1);
  await context.close();
});

describe('an open page', () => {
  let t: TestApp;
  /** Its end is moved by the test. */
  const ending = { name: 'ending', scopes: ['read'] as const, hash: hashOfKey(ENDING), expires: Date.UTC(2100, 0, 1) };
  /** Two replicas. */
  let origins: string[];

  beforeAll(async () => {
    t = await startTestApp({ realClock: true, env: KEYS, change: ({ apiKeys }) => apiKeys.push(ending) });
    await t.app.start();
    const other = await t.another();
    await other.start();
    origins = [t.app.url()!, other.url()!];
  });

  afterAll(() => t?.stop());

  const post = (path: string, fields: Record<string, string>, token = '') =>
    fetch(`${origins[0]}${path}`, {
      ...{ method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' },
      headers: { 'sec-fetch-site': 'same-origin', cookie: cookieFor(origins[0]!, token) },
    });
  const cookieFor = (origin: string, token: string) => `purchase_watch_session_${new URL(origin).port}=${token}`;
  const signIn = async (key = OPERATOR): Promise<string> => {
    const [cookie = ''] = (await post('/sign-in', { key })).headers.getSetCookie();
    return /=([^;]*)/.exec(cookie)![1]!;
  };
  const openLive = (origin: string, token: string): Promise<EventStream> =>
    openStream(`${origin}/live`, { cookie: cookieFor(origin, token) });
  /** A page of the session at each replica. */
  const openPages = (token: string): Promise<EventStream[]> => Promise.all(origins.map((origin) => openLive(origin, token)));
  const api = (path: string) =>
    fetch(`${origins[0]}/v1/sessions${path}`, { method: 'DELETE', headers: { authorization: `Bearer ${OPERATOR}` } });

  const ends: readonly [how: string, end: (token: string) => Promise<unknown>, ofAll?: 'all'][] = [
    ['its person signs out', (token) => post('/sign-out', { from: 'here' }, token)],
    ['its person signs out everywhere', async () => post('/sign-out', { from: 'everywhere' }, await signIn())],
    ['an operator ends its session', async () => api(`/ses_${(await latest()).id}`)],
    ['an operator ends all sessions', () => api(''), 'all'],
    ['its session expires', () => t.database.sql`update purchase_watch_internal.console_sessions set expires_at = now()`, 'all'],
    [
      'its key was replaced',
      () => t.database.sql`update purchase_watch_internal.console_sessions set key_mark = 'another'`,
      'all',
    ],
  ];
  test.each(ends)('ends when %s, at every replica, and pages of other sessions do not', async (_, end, ofAll) => {
    const others = await openPages(await signIn(READER));
    let ended = 0;
    for (const other of others) void other.ended.then(() => ended++);
    const token = await signIn();
    const pages = await openPages(token);
    expect([...others, ...pages].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await end(token);
    await Promise.all(pages.map((page) => page.ended));
    expect(await Promise.all(origins.map(async (origin) => (await openLive(origin, token)).status))).toEqual([401, 401]);
    await expect.poll(() => ended).toBe(ofAll === 'all' ? 2 : 0);
    for (const other of others) other.close();
  });

  test('ends when its key expires', async () => {
    const token = await signIn(ENDING);
    ending.expires = Date.now() + 2_000;
    const pages = await openPages(token);
    expect(pages.map(({ status }) => status)).toEqual([200, 200]);
    await Promise.all(pages.map((page) => page.ended));
    expect(Date.now()).toBeGreaterThanOrEqual(ending.expires);
  });

  const latest = async () =>
    (
      await t.database.sql<{ id: number }[]>`
      select id::int as id from purchase_watch_internal.console_sessions where key_name = 'API_KEY' order by created_at desc limit 1`
    )[0]!;

  test('is one of thirty of its session, and a session that has them all takes none from another', async () => {
    const [one, two] = [await signIn(), await signIn()];
    const pages = await Promise.all(Array.from({ length: 30 }, () => openLive(origins[0]!, one)));
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]));
    const beyond = await openLive(origins[0]!, one);
    expect([beyond.status, beyond.headers.get('retry-after')]).toEqual([503, '30']);
    const other = await openLive(origins[0]!, two);
    expect(other.status).toBe(200);
    pages[0]!.close();
    await expect
      .poll(async () => {
        const again = await openLive(origins[0]!, one);
        pages.push(again);
        return again.status;
      })
      .toBe(200);
    for (const page of [...pages, other]) page.close();
  });

  test('is no page that only its headers are asked of', async () => {
    const token = await signIn();
    const head = () => fetch(`${origins[0]}/live`, { method: 'HEAD', headers: { cookie: cookieFor(origins[0]!, token) } });
    for (let n = 0; n < 31; n++) expect((await head()).status).toBe(200);
    const page = await openLive(origins[0]!, token);
    expect(page.status).toBe(200);
    page.close();
  });
});
