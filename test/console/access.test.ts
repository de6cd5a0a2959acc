/** Signing in to the console, what a role may do, and who is kept out. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { onDatabase } from '../cli/command.ts';
import { KEYS, OPERATOR, openPage, READER, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let browser: Browser;
let t: TestApp;
let origin: string;

beforeAll(async () => {
  browser = await startBrowser();
  // Four connections for changes.
  t = await startTestApp({ realClock: true, env: { ...KEYS, DATABASE_CONNECTIONS: '27' } });
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
    expect(cookie).toMatchObject({ name: `purchase_watch_session_${new URL(origin).port}`, httpOnly: true, sameSite: 'Lax' });
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
  expect(await sessions()).not.toContainEqual({ keyName: 'API_KEY' });
});

/** Signs in by a form; answers the cookie. */
const signIn = async (key: string): Promise<string> => cookieOf(await post('/sign-in', { key }));
const statusOf = async (cookie: string) => (await fetch(origin, { headers: { cookie }, redirect: 'manual' })).status;

test('pages that ask for themselves again share an answer only with browsers that see the same', async () => {
  const [reader, operator, other] = [await signIn(READER), await signIn(OPERATOR), await signIn(OPERATOR)];
  const again = async (path: string, cookie: string): Promise<string> =>
    (await fetch(origin + path, { headers: { cookie, 'hx-request': 'true' } })).text();
  const shown = await again('/channels', operator);
  expect(shown).toContain('Signed in with key <b>API_KEY</b>, operator');
  await t.database.sql`delete from purchase_watch_internal.subscribers where kind = 'slack'`;
  expect(await again('/channels', other)).toBe(shown);
  expect(await again('/channels', reader)).toContain('Signed in with key <b>API_READ_KEY</b>, may only read');
  expect(await again('/channels?theme', operator)).not.toBe(shown);
  expect(await again('/channels', `${operator}; purchase_watch_theme=dark`)).toContain('data-theme="dark"');
  const own = (page: string) => /<tr id="row-(ses_\d+)">(?:(?!<tr).)*this browser/s.exec(page)?.[1];
  const [one, two] = [await again('/system/sessions', operator), await again('/system/sessions', other)].map(own);
  expect(one).toMatch(/^ses_/);
  expect(two).not.toBe(one);
  // Who changes something sees it at once.
  await post('/sign-out', { from: 'here' }, { cookie: other, 'sec-fetch-site': 'same-origin' });
  expect(await again('/channels', other)).toBe('Sign in again.');
});

test.each([true, false])(
  'an operator sees who is signed in, and signs one out, then everybody (script: %s)',
  async (javaScriptEnabled) => {
    const { sql } = t.database;
    await sql`delete from purchase_watch_internal.console_sessions`;
    const [reader, other] = [await signIn(READER), await signIn(OPERATOR)];
    await sql`update purchase_watch_internal.console_sessions set last_seen_at = now() - interval '2 h', address = '<b>10.0.0.7</b>'`;
    expect(await statusOf(other)).toBe(200);
    const { page, context, misdeeds } = await openPage(browser, { origin, javaScriptEnabled });
    await page.goto('/sign-in?to=/system/sessions');
    await page.getByLabel('Key of the API').fill(OPERATOR);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${origin}/system/sessions`);
    const rows = page.locator('#sessions').locator('..').locator('..').locator('tbody tr');
    const texts = async () => (await rows.allTextContents()).map((text) => text.replace(/\s+/g, ' '));
    // A session that was used is seen again; one that was not stays as it was.
    expect(await texts()).toEqual([
      expect.stringMatching(/^API_KEYthis browser ?127\.0\.0\.1/),
      expect.stringMatching(/^API_KEY ?<b>10\.0\.0\.7<\/b>(?!.*2 h ago)/),
      expect.stringMatching(/^API_READ_KEY ?<b>10\.0\.0\.7<\/b>.*2 h ago/),
    ]);
    expect((await onDatabase(t.database, ['sessions'])).stdout).toMatch(
      /^ses_\d+ +API_READ_KEY +- +<b>10\.0\.0\.7<\/b> .* +2 h ago +in 11 h$/m,
    );
    await page
      .getByRole('row', { name: /API_READ_KEY/ })
      .getByRole('button')
      .click();
    await page.getByText('1 browser is signed out').waitFor();
    expect(await Promise.all([reader, other].map(statusOf))).toEqual([303, 200]);
    const gone = await post('/system/sessions/end', { id: 'ses_1' }, { cookie: other, 'sec-fetch-site': 'same-origin' });
    expect([gone.status, await gone.text()]).toEqual([404, expect.stringContaining('There is no session ses_1')]);
    const forbidden = { cookie: await signIn(READER), 'sec-fetch-site': 'same-origin' };
    expect((await post('/system/sessions/end', {}, forbidden)).status).toBe(403);
    expect(await (await fetch(`${origin}/system/sessions`, { headers: forbidden })).text()).not.toContain('Sign out ses_');
    await page.goto('/system/sessions');
    await page.locator('#all > summary').click();
    await page.getByRole('button', { name: 'Sign 3 browsers out' }).click();
    await page.waitForURL(/\/sign-in/);
    expect(await statusOf(other)).toBe(303);
    const [action] =
      await sql`select call, subject from purchase_watch_internal.actions where call like 'DELETE%' order by id desc limit 1`;
    expect(action).toMatchObject({ call: 'DELETE /v1/sessions', subject: { ended: expect.anything() } });
    expect(misdeeds.found).toEqual([]);
    await context.close();
  },
);

test('programs and commands sign browsers out, too; of a token nothing is shown', async () => {
  const { sql } = t.database;
  await sql`delete from purchase_watch_internal.console_sessions`;
  const cookies = [await signIn(READER), await signIn(OPERATOR), await signIn(OPERATOR)];
  const ask = (method: string, path: string, key = OPERATOR) =>
    fetch(`${origin}/v1/sessions${path}`, { method, headers: { authorization: `Bearer ${key}` } });
  const text = await (await ask('GET', '', READER)).text();
  const { data } = JSON.parse(text) as { data: { id: string; key: string; isOwn: boolean }[] };
  expect(data.map(({ key, isOwn }) => [key, isOwn])).toEqual([
    ['API_KEY', false],
    ['API_KEY', false],
    ['API_READ_KEY', false],
  ]);
  const [{ hash }] = await sql<
    [{ hash: string }]
  >`select encode(token_hash, 'hex') as hash from purchase_watch_internal.console_sessions limit 1`;
  for (const secret of [hash, ...cookies.map((cookie) => cookie.split('=')[1]!)]) expect(text).not.toContain(secret);
  expect((await ask('DELETE', `/${data[0]!.id}`, READER)).status).toBe(403);
  expect((await ask('DELETE', `/${data[0]!.id}`)).status).toBe(204);
  expect((await ask('DELETE', `/${data[0]!.id}`)).status).toBe(404);
  expect((await ask('DELETE', '/42')).status).toBe(400);
  expect(await Promise.all(cookies.map(statusOf))).toEqual([200, 200, 303]);
  expect(await (await ask('DELETE', '?key=API_KEY')).json()).toEqual({ ended: 1 });
  const command = (...argv: string[]) => onDatabase(t.database, ['sessions', ...argv]);
  expect((await command('end')).exitCode).toBe(2);
  expect((await command('end', 'ses_99999')).stderr).toContain('there is no session ses_99999');
  expect((await command('end', data[2]!.id)).stdout).toBe('1 browser is signed out\n');
  expect((await command()).stdout).toBe('No browser is signed in to the console.\n');
  expect(await Promise.all(cookies.map(statusOf))).toEqual([303, 303, 303]);
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

test('the API keeps its own rules: a session opens no API', async () => {
  const cookie = cookieOf(await post('/sign-in', { key: OPERATOR }));
  expect((await fetch(`${origin}/v1/overview`, { headers: { cookie } })).status).toBe(401);
});

test('a form that is too large is refused with what to do, and nothing of it is used', async () => {
  const cookie = cookieOf(await post('/sign-in', { key: OPERATOR }));
  const large = await post('/purchases/register', { lines: 'a\n'.repeat(600_000) }, { cookie, 'sec-fetch-site': 'same-origin' });
  expect([large.status, await large.text()]).toEqual([400, expect.stringContaining('purchase-watch watch --file')]);
  const larger = await post('/purchases/register', { lines: 'a'.repeat(3_000_000) }, { cookie, 'sec-fetch-site': 'same-origin' });
  expect([larger.status, await larger.text()]).toEqual([413, expect.stringContaining('purchase-watch watch --file')]);
  expect(await t.database.sql`select from purchase_watch.purchases`).toHaveLength(0);
});

/** A session, and what it posts. */
const signedPost = async (path: string, body: string, headers: Record<string, string> = {}) => {
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin', origin };
  return fetch(origin + path, { method: 'POST', body, redirect: 'manual', headers: { ...form, ...headers } });
};

test('a sign-in has few bytes, and any form few fields; other kinds of forms are refused', async () => {
  const cookie = await signIn(OPERATOR);
  const fields = Array.from({ length: 600 }, (_, index) => index).join('&');
  expect((await signedPost('/sign-in', `key=${OPERATOR}&to=${'x'.repeat(4_096)}`)).status).toBe(413);
  expect((await signedPost('/theme', fields, { cookie })).status).toBe(413);
  expect((await signedPost('/theme', `theme=${'x'.repeat(65_536)}`, { cookie })).status).toBe(413);
  expect((await signedPost('/purchases/register', `lines=${'x'.repeat(500_000)}`, { cookie })).status).toBe(200);
  const parts = { cookie, 'content-type': 'multipart/form-data; boundary=x' };
  expect((await signedPost('/theme', '--x\r\n', parts)).status).toBe(415);
  expect((await signedPost('/sign-in', '--x\r\n', parts)).status).toBe(415);
});

test('nothing of a form is read before the session and its scope are known', async () => {
  const reader = await signIn(READER);
  const large = `lines=${'x'.repeat(2_000_000)}`;
  expect((await signedPost('/purchases/register', large)).status).toBe(303);
  expect((await signedPost('/purchases/register', large, { cookie: reader })).status).toBe(403);
});

test('with all connections for changes taken, every page shows, made-up cookies wait for nothing, and changes are busy', async () => {
  const { sql } = t.database;
  const [cookie, name] = [await signIn(OPERATOR), 'purchase_watch_session'];
  await sql`update purchase_watch_internal.console_sessions set last_seen_at = now() - interval '2 h'`;
  const isOver = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  const holding = sql.begin(async (tx) => {
    await tx`select purchase_watch.watch('held-by-another')`;
    isHeld.resolve();
    await isOver.promise;
  });
  await isHeld.promise;
  const registered = Array.from({ length: 10 }, () =>
    signedPost('/purchases/register', 'purchaseId=held-by-another', { cookie }),
  );
  const waiting = async (): Promise<number> => {
    const [row] = await sql<[{ count: number }]>`
      select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return row.count;
  };
  await expect.poll(waiting, { interval: 20 }).toBeGreaterThanOrEqual(4);
  let hasChanged = false;
  void Promise.race(registered).then(() => {
    hasChanged = true;
  });
  const token = cookie.slice(cookie.indexOf('=') + 1);
  const forged = `${name}=${token.slice(0, -8)}AAAAAAAA`;
  expect(await Promise.all([cookie, forged, `${name}=x`].map(statusOf))).toEqual([200, 303, 303]);
  expect(hasChanged).toBe(false);
  for (const path of ['/incidents', '/channels', '/sites'])
    expect((await fetch(origin + path, { headers: { cookie } })).status).toBe(200);
  for (const answer of await Promise.all(registered)) expect([303, 503]).toContain(answer.status);
  isOver.resolve();
  await holding;
});
