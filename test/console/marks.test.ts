/** Marks on the page of Trends: who may add and remove one, by keys alone, and what is said of a form that was refused. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { KEYS, OPERATOR, openSignedIn, READER, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let browser: Browser;
let t: TestApp;
beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({
    realClock: true,
    env: KEYS,
    change: (settings) => {
      settings.sites = ['se', 'no'].map((name) => ({ ...settings.sites[0]!, name }));
    },
  });
  await t.app.start();
});
afterAll(async () => {
  await t?.stop();
  await browser?.close();
});
beforeEach(() => t.database.sql`truncate purchase_watch_internal.marks`);

const open = (key: string, to: string) =>
  openSignedIn(browser, { origin: t.app.url()!, key, to, viewport: { width: 360, height: 740 }, timezoneId: 'Europe/Stockholm' });
const kept = () =>
  t.database.sql<{ text: string; site: string | null; ago: number }[]>`
    select text, site, round(extract(epoch from now() - at) / 60)::int as ago from purchase_watch_internal.marks order by id`;

test('a moment is marked and the mark removed by keys alone, and the page stays as it was asked for', async () => {
  const { page, context, misdeeds } = await open(OPERATOR, '/trends?range=24h&site=se');
  expect(await page.locator('#marks').count()).toBe(0);
  await page.locator('summary', { hasText: 'Mark a moment' }).press('Enter');
  expect(await page.getByRole('combobox', { name: /^Site/ }).inputValue()).toBe('se');
  await page.getByRole('textbox', { name: /^Mark/ }).fill(' deploy 4.2 ');
  await page.getByRole('textbox', { name: /^When/ }).fill('90m');
  await page.getByRole('textbox', { name: /^When/ }).press('Enter');
  await page.getByText(/^mrk_\d+ was added\./).waitFor();
  expect(await kept()).toEqual([{ text: 'deploy 4.2', site: 'se', ago: 90 }]);
  const address = new URL(page.url());
  expect([address.pathname, address.searchParams.get('range'), address.searchParams.get('site')]).toEqual([
    '/trends',
    '24h',
    'se',
  ]);
  const row = page.locator('section', { has: page.locator('#marks') }).locator('tbody tr');
  expect(await row.innerText()).toMatch(/deploy 4\.2[\s\S]*mrk_\d+[\s\S]*se[\s\S]*ago/);
  await row.locator('summary').press('Enter');
  await row.getByRole('button').press('Enter');
  await page.getByText('The mark is removed').waitFor();
  expect(await kept()).toEqual([]);
  const calls = await t.database.sql<
    { call: string }[]
  >`select call from purchase_watch_internal.actions where call like '%marks%' order by id`;
  expect(calls.map(({ call }) => call)).toEqual(['POST /v1/marks', 'DELETE /v1/marks/{id}']);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('a mark of now is of all sites unless the page is of one, and a chart that ends before says so', async () => {
  const { page, context } = await open(OPERATOR, '/trends');
  await page.locator('summary', { hasText: 'Mark a moment' }).click();
  await page.getByRole('textbox', { name: /^Mark/ }).fill('deploy 4.3');
  await page.getByRole('button', { name: 'Mark it' }).click();
  await page.getByText('These charts end before that moment; they show it once its day is over.').waitFor();
  expect(await kept()).toEqual([{ text: 'deploy 4.3', site: null, ago: 0 }]);
  await context.close();
});

test('a time without a zone is of the zone of the page', async () => {
  const { page, context } = await open(OPERATOR, '/trends');
  await page.locator('summary', { hasText: 'Mark a moment' }).click();
  const zone = /\(([^)]+)\)/.exec(await page.locator('form small', { hasText: 'now when empty' }).innerText())![1]!;
  const local = new Date(Date.now() - 3 * 3_600_000).toLocaleString('sv-SE', { timeZone: zone }).slice(0, 16).replace(' ', 'T');
  await page.getByRole('textbox', { name: /^Mark/ }).fill('deploy 4.4');
  await page.getByRole('textbox', { name: /^When/ }).fill(local);
  await page.getByRole('button', { name: 'Mark it' }).click();
  await page.getByText(/^mrk_\d+ was added\./).waitFor();
  expect(Math.abs((await kept())[0]!.ago - 180)).toBeLessThanOrEqual(2);
  await context.close();
});

test('a refused form stays as it was typed, on the page that was asked for', async () => {
  const { page, context } = await open(OPERATOR, '/trends?range=30d');
  await page.locator('summary', { hasText: 'Mark a moment' }).click();
  await page.getByRole('textbox', { name: /^Mark/ }).fill('deploy 4.5');
  await page.getByRole('textbox', { name: /^When/ }).fill('2999-01-01T00:00:00Z');
  await page.getByRole('button', { name: 'Mark it' }).click();
  await page.getByText(/^When must not be in the future; it is .* now\./).waitFor();
  expect(await page.getByRole('textbox', { name: /^When/ }).inputValue()).toBe('2999-01-01T00:00:00Z');
  expect(await page.getByRole('textbox', { name: /^Mark/ }).inputValue()).toBe('deploy 4.5');
  expect(await page.locator('#range-30d').getAttribute('aria-current')).toBe('true');
  expect(await kept()).toEqual([]);
  await context.close();
});

test('a key that may only read sees the marks and no form; neither it nor another site can add or remove one', async () => {
  await t.database.sql`insert into purchase_watch_internal.marks (at, text, site) values (now(), 'deploy 4.6', null)`;
  const { page, context } = await open(READER, '/trends');
  await page.getByText('deploy 4.6').first().waitFor();
  await page.getByText('Adding and removing marks needs a key with the scope operate').waitFor();
  expect(await page.locator('main form[action^="/trends"][method=post]').count()).toBe(0);
  const [{ id }] = await t.database.sql<[{ id: number }]>`select id from purchase_watch_internal.marks`;
  const post = async (of: typeof context, form: Record<string, string>, headers: Record<string, string>) =>
    (await of.request.post(`${t.app.url()}/trends`, { form, headers, maxRedirects: 0 })).status();
  const own = { 'sec-fetch-site': 'same-origin' };
  const strange = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
  const operator = await open(OPERATOR, '/trends');
  for (const form of [
    { act: 'add', text: 'x' },
    { act: 'remove', id: `mrk_${id}` },
  ] as Record<string, string>[]) {
    expect(await post(context, form, own)).toBe(403);
    expect(await post(operator.context, form, strange)).toBe(403);
  }
  expect(await kept()).toMatchObject([{ text: 'deploy 4.6' }]);
  expect(await post(operator.context, { act: 'remove', id: `mrk_${id}` }, own)).toBe(303);
  expect(await kept()).toEqual([]);
  await operator.context.close();
  await context.close();
});

test('more marks are on pages of their own', async () => {
  await t.database
    .sql`insert into purchase_watch_internal.marks (at, text) select now(), 'deploy ' || n from generate_series(1, 11) n`;
  const { page, context } = await open(OPERATOR, '/trends?range=30d');
  const texts = () =>
    page
      .locator('section', { has: page.locator('#marks') })
      .locator('th bdi')
      .allInnerTexts();
  expect(await texts()).toEqual(Array.from({ length: 10 }, (_, at) => `deploy ${11 - at}`));
  await page.getByRole('link', { name: 'Older' }).click();
  await page.waitForURL(/range=30d&cursor=/);
  expect(await texts()).toEqual(['deploy 1']);
  await context.close();
});
