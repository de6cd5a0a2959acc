/** Signing in to the console, what a role may do, and who is kept out. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPage, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const OPERATOR = 'operator-key-0123456789abcdef0123456789';
const READER = 'reader-key-0123456789abcdef0123456789abc';

let browser: Browser;
let t: TestApp;
let origin: string;

beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({ realClock: true, env: { API_KEY: OPERATOR, API_READ_KEY: READER } });
  await t.app.start();
  origin = t.app.url()!;
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

/** The sessions in the database, and the tokens in a browser's cookies. */
const sessions = () => t.database.sql`select key_name from purchase_watch_internal.console_sessions`;
const post = (
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
) => fetch(`${origin}${path}`, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual', headers });
const cookieOf = (response: Response): string => response.headers.getSetCookie()[0]?.split(';')[0] ?? '';

test.each([true, false])(
  'signs in with a key and goes on to the page that was asked for (script: %s)',
  async (javaScriptEnabled) => {
    const { page, context, misdeeds } = await openPage(browser, { origin, javaScriptEnabled });
    await page.goto('/incidents?status=open');
    expect(page.url()).toBe(`${origin}/sign-in?to=%2Fincidents%3Fstatus%3Dopen`);
    await page.getByLabel('Key of the API').fill('wrong-key-0123456789abcdef0123456789abcd');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The key is not known here').waitFor();
    await page.getByLabel('Key of the API').fill(OPERATOR);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${origin}/incidents?status=open`);
    expect(await page.getByText('Signed in with key').textContent()).toContain('API_KEY');
    // The refused sign-in is an answer with 401, which the browser prints.
    expect(misdeeds.found.filter((each) => !each.includes('401') && !each.includes('404'))).toEqual([]);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ name: 'purchase_watch_session', httpOnly: true, sameSite: 'Lax' });
    expect(t.log.join('')).not.toContain(cookie!.value);
    await context.close();
  },
);

test('signs out here, and everywhere', async () => {
  const [first, second, other] = await Promise.all([
    post('/sign-in', { key: OPERATOR }),
    post('/sign-in', { key: OPERATOR }),
    post('/sign-in', { key: READER }),
  ]);
  const status = async (cookie: string) => (await fetch(origin, { headers: { cookie }, redirect: 'manual' })).status;
  expect(await Promise.all([first, second, other].map((each) => status(cookieOf(each))))).toEqual([200, 200, 200]);
  await post('/sign-out', { from: 'here' }, { cookie: cookieOf(first), 'sec-fetch-site': 'same-origin' });
  expect(await Promise.all([first, second, other].map((each) => status(cookieOf(each))))).toEqual([303, 200, 200]);
  await post('/sign-out', { from: 'everywhere' }, { cookie: cookieOf(second), 'sec-fetch-site': 'same-origin' });
  expect(await Promise.all([first, second, other].map((each) => status(cookieOf(each))))).toEqual([303, 303, 200]);
  expect(await sessions()).not.toContainEqual({ key_name: 'API_KEY' });
});

test('a session that has expired, or whose key was replaced, opens nothing', async () => {
  const cookie = cookieOf(await post('/sign-in', { key: OPERATOR }));
  const status = async () => (await fetch(origin, { headers: { cookie }, redirect: 'manual' })).status;
  expect(await status()).toBe(200);
  await t.database.sql`update purchase_watch_internal.console_sessions set key_mark = 'of the key before'`;
  expect(await status()).toBe(303);
  const later = cookieOf(await post('/sign-in', { key: OPERATOR }));
  await t.database.sql`update purchase_watch_internal.console_sessions set expires_at = now() - interval '1 s'`;
  expect((await fetch(origin, { headers: { cookie: later }, redirect: 'manual' })).status).toBe(303);
});

test('a form that another site posts is refused', async () => {
  const cookie = cookieOf(await post('/sign-in', { key: OPERATOR }));
  const foreign = { cookie, origin: 'https://shop.example', 'sec-fetch-site': 'cross-site' };
  expect((await post('/sign-out', { from: 'everywhere' }, foreign)).status).toBe(403);
  expect((await fetch(origin, { headers: { cookie }, redirect: 'manual' })).status).toBe(200);
});

test('a sign-in goes on to no other host', async () => {
  for (const to of ['//shop.example', 'https://shop.example', '/\\shop.example', '/a\r\nset-cookie: b=c']) {
    const response = await post('/sign-in', { key: OPERATOR, to });
    expect(response.headers.get('location')).toBe('/');
  }
});

test('the API keeps its own rules: a session opens no API', async () => {
  const cookie = cookieOf(await post('/sign-in', { key: OPERATOR }));
  expect((await fetch(`${origin}/v1/overview`, { headers: { cookie } })).status).toBe(401);
});

test('a form that is too large is refused with what to do, and nothing of it is used', async () => {
  const cookie = cookieOf(await post('/sign-in', { key: OPERATOR }));
  const large = await post('/purchases/register', { lines: 'a\n'.repeat(600_000) }, { cookie, 'sec-fetch-site': 'same-origin' });
  expect([large.status, await large.text()]).toEqual([413, expect.stringContaining('purchase-watch watch --file')]);
  expect(await t.database.sql`select from purchase_watch.purchases`).toHaveLength(0);
});
