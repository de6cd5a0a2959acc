/** One-time links, by which people come to the console of a daemon without keys. */
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

test('a link that was used at one daemon is used at every other of its folder, and after a restart', async () => {
  const other = await startTestApp({ realClock: true });
  try {
    await other.app.start();
    const code = linkAt(origin).split('?')[1]!;
    expect((await get(`${other.app.url()!}/open?${code}`)).headers.getSetCookie()).toHaveLength(1);
    const second = await get(`${origin}/open?${code}`);
    expect([second.status, second.headers.getSetCookie()]).toEqual([401, []]);
    const restarted = createLinks(hashOfKey(MACHINE_KEY), MACHINE_DIR);
    expect([restarted.use(code), restarted.use(linkAt(origin).split('?')[1]!)]).toEqual([false, true]);
  } finally {
    await other.stop();
  }
});

test('a browser that is signed in uses a link up, and may load it again', async () => {
  const signed = await signedIn(origin);
  const link = linkAt(origin);
  expect([await leadsTo(link, signed), await leadsTo(link, signed)]).toEqual([
    [303, '/'],
    [303, '/'],
  ]);
  expect((await get(link)).status).toBe(401);
});

test('a program that only asks for the head of a link neither signs in nor uses the link up', async () => {
  const link = linkAt(origin);
  const head = await fetch(link, { method: 'HEAD', redirect: 'manual' });
  expect([head.status, head.headers.getSetCookie()]).toEqual([200, []]);
  expect(await leadsTo(link)).toEqual([303, '/']);
});

test('the notes of links that are over are deleted, and no other file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
  const note = (over: number) => `used-link-${over}-${'0'.repeat(32)}`;
  const later = note(Date.now() + 60_000);
  for (const name of [note(Date.now() - 1), later, 'authorization']) writeFileSync(join(folder, name), '');
  expect(createLinks(hashOfKey(MACHINE_KEY), folder).use(linkAt(origin).split('?')[1]!)).toBe(true);
  const left = readdirSync(folder);
  expect([left.length, left.includes(later), left.includes('authorization')]).toEqual([3, true, true]);
  expect(() => createLinks(hashOfKey(MACHINE_KEY), join(folder, 'nothing')).use(linkAt(origin).split('?')[1]!)).toThrow('ENOENT');
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

test('a link of another key, a changed one and an old one open nothing', async () => {
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
  expect(createLinks(null, MACHINE_DIR).use(code)).toBe(false);
  expect(await leadsTo(good)).toEqual([303, '/']);
});
