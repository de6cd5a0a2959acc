/** The page of a past moment: what it says, what it leaves out, and the ways through time. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openByLink, startBrowser } from '../support/browser.ts';
import { addSnapshots } from '../support/full-world/snapshots.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;

let browser: Browser;
let t: TestApp;
/** A whole ten minutes while many were stuck. */
let at: number;

beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({
    realClock: true,
    change: (settings) => {
      settings.sites = ['se', 'fi'].map((name) => ({ ...settings.sites[0]!, name }));
    },
  });
  await t.app.start();
  at = Math.floor(Date.now() / (10 * MINUTE)) * 10 * MINUTE - 9 * HOUR;
  const { sql } = t.database;
  await addSnapshots(sql, ['se', 'fi']);
  await sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
    select 'se', date_bin('10 minutes', now(), 'epoch') - n * interval '10 minutes', f, s, c from generate_series(0, 2000) n
    cross join (values (null, 0, 40), (0, 1, 38), (1, 4, 6), (1, 6, 20), (1, 7, 9), (4, 2, 5), (7, 2, 8), (6, 2, 6), (6, 3, 2), (6, 5, 3)) e (f, s, c)`;
  await sql`
    insert into purchase_watch_internal.activity (site, minute, polls, failed_polls, changes, greatest_lag_ms)
    select 'se', date_trunc('minute', now()) - n * interval '1 minute', 1000 + n % 60, case when n % 40 = 0 then 3 else 0 end, 20, 40 + n % 700 from generate_series(0, 20000) n`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, severity, since, opened_at, count, peak, ended_at, quiet_since, acknowledged_at, acknowledged_by)
    values ('inc_then', 'stuck', 'se', 6, 1, ${at - 30 * MINUTE}::timestamptz, ${at - 18 * MINUTE}::timestamptz, 0, 31, ${at + HOUR}::timestamptz, ${at + HOUR / 2}::timestamptz,
      ${at + 5 * MINUTE}::timestamptz, 'Anna')`;
});
afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

const iso = (moment: number): string => `${new Date(moment).toISOString().slice(0, 16)}Z`;

/** The page in a tab of its own; the caller closes its context. */
async function pageAt(query: string, javaScriptEnabled = true) {
  const opened = await openByLink(browser, { origin: t.app.url()!, javaScriptEnabled });
  await opened.page.setViewportSize({ width: 1280, height: 900 });
  await opened.page.goto(`/?${query}`);
  return opened;
}

test.each([true, false])('says how it was, stands still, and offers no act (script: %s)', async (script) => {
  const { page, context, misdeeds } = await pageAt(`at=${iso(at)}`, script);
  expect(await page.locator('h1').textContent()).toBe('se: 12 customers were stuck waiting for the card provider.');
  const main = page.getByRole('main');
  expect(await main.getAttribute('data-live')).toBeNull();
  expect(await main.locator('#live, .then .when, .then form[method=post]').count()).toBe(0);
  expect(await main.locator('.then').textContent()).toMatch(/\d\d:\d\d UTC · stands still · what became known later is left out/);
  expect((await main.locator('.needs').textContent())!.replace(/\s/g, ' ')).toBe(
    'critical: se: 12 customers were stuck waiting for the card providerIt had been open for 18 min. People had not been told of it by then.',
  );
  // What Anna did five minutes later is no part of it, and nothing is said of the present.
  for (const part of ['.head', '.stack'])
    expect(await main.locator(part).textContent()).not.toMatch(/Anna|\bnow\b|is stuck|are stuck|needs/i);
  const map = main.locator('.map > svg');
  expect((await map.textContent())!.replace(/\s+/g, ' ')).toMatch(/waiting for the card provider 26 then 12 stuck/);
  expect(await map.locator('a').count()).toBe(0);
  expect(await main.locator('.charts figure').count()).toBe(4);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('keys and links go through time, and stay with the site', async () => {
  const { page, context } = await pageAt(`at=${iso(at)}&site=se`);
  const shown = () => new URL(page.url()).searchParams.get('at');
  const press = async (key: string, moment: number | null) => {
    await page.keyboard.press(key);
    await expect.poll(shown).toBe(moment === null ? null : iso(moment));
    // The keys are read by a script that comes after the page.
    await page.waitForLoadState();
    if (moment !== null) expect(new URL(page.url()).searchParams.get('site')).toBe('se');
  };
  await press('ArrowLeft', at - HOUR);
  await press('Shift+ArrowLeft', at - 25 * HOUR);
  await press('ArrowRight', at - 24 * HOUR);
  await press('Shift+ArrowRight', at);
  await press('[', at - 10 * MINUTE);
  await press('ArrowLeft', at - 10 * MINUTE - HOUR);
  await press(']', at - 10 * MINUTE);
  await press('Home', null);
  await page.keyboard.press('g');
  await page.keyboard.press('h');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(shown).toBe('1h');
  // Keys that are off do nothing; nothing leads to what has not been yet.
  expect(await page.locator('[data-key="Shift ArrowRight"]').count()).toBe(0);
  await page.keyboard.press('?');
  await page.getByText('Keys are on').click();
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowLeft');
  await page.waitForTimeout(300);
  expect(shown()).toBe('1h');
  await context.close();
});

test('a bar of the strip, and the field in the zone of the page, lead to a moment', async () => {
  const { page, context } = await pageAt('at=2h', false);
  const end = Math.ceil(at / HOUR) * HOUR;
  const bar = page.locator(`.only-wide a[href*="${iso(end)}"]`);
  expect(await bar.locator('title').textContent()).toMatch(/came, at most 12 were stuck$/);
  await bar.locator('.hour').click();
  expect(new URL(page.url()).searchParams.get('at')).toBe(iso(end));
  // The zone of the sites is not UTC.
  await page
    .getByRole('textbox', { name: 'At' })
    .fill(new Date(at + HOUR).toLocaleString('sv-SE', { timeZone: 'Europe/Stockholm' }).slice(0, 16).replace(' ', 'T'));
  await page.getByRole('button', { name: 'Show' }).click();
  expect(await page.locator('.steps-nav a').first().getAttribute('href')).toContain(iso(at));
  await page.getByRole('link', { name: 'Back to now' }).click();
  await page.getByRole('link', { name: 'How it was at another time' }).click();
  expect(new URL(page.url()).search).toBe('?at=1h');
  await context.close();
});

test('a time of which nothing can be shown is refused with what to do; what no daemon noted is said', async () => {
  const { page, context } = await pageAt('at=20d', false);
  expect(await page.getByRole('main').textContent()).toMatch(/at 20d: is more than 14 days ago; give a time from \d{4}-/);
  await page.goto('/?at=noon');
  expect(await page.getByRole('main').textContent()).toContain('must be a time with its zone');
  const moment = at - 5 * HOUR;
  await t.database.sql`delete from purchase_watch_internal.snapshots where at = ${moment}::timestamptz`;
  await page.goto(`/?at=${iso(moment)}`);
  expect(await page.locator('h1').textContent()).toBe('Whether anything was wrong is not known.');
  expect(await page.locator('.head').textContent()).toContain('How many purchases were watched and stuck is not kept.');
  expect(await page.getByRole('main').textContent()).toContain('No daemon noted how purchases stood at this moment');
  expect(await page.locator('.map').count()).toBe(0);
  await context.close();
});
