/** One-time links, by which people come to the console of a daemon without keys. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashOfKey } from '../../src/config/api-keys.ts';
import { createLinks, linkTo } from '../../src/runtime/secrets/one-time-links.ts';
import { runCommand } from '../cli/run.ts';
import { linkAt, MACHINE_DIR, MACHINE_KEY, signedIn } from '../support/machine.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let origin: string;

beforeAll(async () => {
  t = await startTestApp({ realClock: true });
  await t.app.start();
  origin = t.app.url()!;
});
afterAll(async () => t?.stop());

const get = (url: string, headers: Record<string, string> = {}) => fetch(url, { headers, redirect: 'manual' });
const leadsTo = async (url: string, headers = {}) => {
  const { status, headers: answered } = await get(url, headers);
  return [status, answered.get('location')];
};

test('the link that open prints signs one browser in, once', async () => {
  const env = { DATA_DIR: MACHINE_DIR, DATABASE_URL: t.database.url, PORT: new URL(origin).port };
  const { stdout } = await runCommand(['open', '--print'], env);
  const link = stdout.trim();
  expect(link).toMatch(new RegExp(`^${origin}/open\\?[\\w-]{28}$`));
  expect(await leadsTo(`${origin}/incidents?status=open`)).toEqual([303, '/sign-in?to=%2Fincidents%3Fstatus%3Dopen']);
  const first = await get(link);
  expect([first.status, first.headers.get('location')]).toEqual([303, '/']);
  const [cookie] = first.headers.getSetCookie();
  expect(cookie).toMatch(/; HttpOnly; SameSite=Lax$/);
  const signed = { cookie: cookie!.split(';')[0]! };
  expect(await (await get(origin, signed)).text()).toContain('Signed in by a link of this machine');
  // The page is loaded again, or the link is opened in a second tab.
  expect(await leadsTo(link, signed)).toEqual([303, '/']);
  const other = await get(link);
  expect([other.status, other.headers.getSetCookie(), await other.text()]).toEqual([
    401,
    [],
    expect.stringContaining('This link was used already'),
  ]);
  expect(t.log.join('')).not.toContain(link.split('?')[1]!);
});

test('without a session, a page says how to come in', async () => {
  const page = await (await fetch(origin)).text();
  for (const words of ['npx purchase-watch open', 'DATA_DIR', 'API_KEY']) expect(page).toContain(words);
});

test('signing out everywhere ends the sessions of links', async () => {
  const [one, two] = [await signedIn(origin), await signedIn(origin)];
  const headers = { ...one, 'sec-fetch-site': 'same-origin' };
  await fetch(`${origin}/sign-out`, {
    method: 'POST',
    headers,
    redirect: 'manual',
    body: new URLSearchParams({ from: 'everywhere' }),
  });
  expect([await leadsTo(origin, one), await leadsTo(origin, two)]).toEqual([
    [303, '/sign-in'],
    [303, '/sign-in'],
  ]);
});

test('a link of another key, a changed one, an old one and one of before the start open nothing', async () => {
  const key = hashOfKey(MACHINE_KEY);
  const good = linkAt(origin);
  const changed = good.slice(0, -1) + (good.endsWith('A') ? 'B' : 'A');
  for (const link of [
    linkTo(`${origin}/`, hashOfKey('another'), 60_000),
    linkTo(`${origin}/`, key, 0),
    changed,
    `${origin}/open`,
    `${good}=`,
  ])
    expect([link, (await get(link)).status]).toEqual([link, 401]);
  const code = good.split('?')[1]!;
  expect(createLinks(key, Date.now() + 1_000).use(code)).toBe(false);
  expect(createLinks(null).use(code)).toBe(false);
  expect(await leadsTo(good)).toEqual([303, '/']);
});
