/** All times of a page are of one zone, which the page names: the sites', or the one that a person chose. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openByLink, startBrowser } from '../support/browser.ts';
import { signedIn } from '../support/machine.ts';
import { startStuckShop } from '../support/stuck-shop.ts';
import type { TestApp } from '../support/test-app.ts';

/** Far from UTC and from the zone of the sites, and without a summer of its own. */
const ZONE = 'Asia/Tokyo';
/** Minutes that anything on a page may be away: all of it happened in this test, or will within the hour that pages look ahead. */
const AWAY = 100;

let browser: Browser;
let t: TestApp;
let pages: string[];

beforeAll(async () => {
  browser = await startBrowser();
  const started = await startStuckShop({});
  t = started.t;
  const [{ id }] = await t.database.sql<[{ id: string }]>`select purchase_id as id from purchase_watch.purchases limit 1`;
  pages = [
    ...['/', '/sites', '/sites/default', '/incidents', `/incidents/${started.stuck}`, '/purchases', `/purchases/default/${id}`],
    ...['/subscribers', '/subscribers/default', '/deliveries', '/deliveries/dlv_1', '/channels', '/silences', '/system'],
    ...['/system/actions', '/system/sessions', '/rehearse?from=5m', '/purchases/register', `/purchases/default/${id}/forget`],
  ];
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

const minuteOfDay = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));

/** Times on the page that are not of the zone. */
async function strayTimes(page: Page): Promise<string[]> {
  const all = (await page.locator('#main').innerText()) + (await page.locator('#main svg').allTextContents()).join('\n');
  // Those that name their zone are looked at below; a session ends in twelve hours.
  const shown = all.replaceAll(new RegExp(`\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d ${ZONE}`, 'g'), '');
  const now = minuteOfDay(new Date().toLocaleTimeString('sv-SE', { timeZone: ZONE }));
  const clocks = shown.match(/(?<![\d:T])\d\d:\d\d(?::\d\d)?(?![\d:])/g) ?? [];
  const stray = clocks.filter((text) => {
    const apart = Math.abs(minuteOfDay(text) - now);
    return Math.min(apart, 1_440 - apart) > AWAY;
  });
  const exact = await page
    .locator('time')
    .evaluateAll((all) => all.map((each) => each.getAttribute('data-exact') ?? each.getAttribute('title') ?? ''));
  return [...stray, ...exact.filter((text) => !text.endsWith(` ${ZONE}`))];
}

test('no page has a time of another zone than the chosen one, whatever the browser’s is', { timeout: 180_000 }, async () => {
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()!, timezoneId: 'America/New_York' });
  await page.goto('/');
  await page.getByText('Times in Europe/Stockholm').click();
  await page.getByRole('button', { name: 'America/New_York, of this browser' }).waitFor();
  await context.addCookies([{ name: 'purchase_watch_zone', value: ZONE, url: t.app.url()! }]);
  const stray: string[] = [];
  let exactTimes = 0;
  for (const path of pages) {
    await page.goto(path);
    await page.getByText(`Times in ${ZONE}`).waitFor();
    stray.push(...(await strayTimes(page)).map((each) => `${path}: ${each}`));
    await page.keyboard.press('t');
    stray.push(...(await strayTimes(page)).map((each) => `${path}, exact: ${each}`));
    exactTimes += await page.locator('time.when', { hasText: ZONE }).count();
  }
  expect(stray).toEqual([]);
  expect(exactTimes).toBeGreaterThan(20);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('the zone is chosen in the menu, with or without script, and holds for all pages', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { page, context } = await openByLink(browser, { origin: t.app.url()!, javaScriptEnabled });
    await page.goto('/incidents?status=open');
    await page.getByText('Times in Europe/Stockholm').click();
    await page.getByRole('button', { name: 'UTC' }).click();
    await page.getByText('Times in UTC').waitFor();
    expect(page.url()).toBe(`${t.app.url()}/incidents?status=open`);
    await page.goto('/system');
    await page.getByText('Times in UTC').waitFor();
    await context.close();
  }
});

test('a zone that is none is not kept', async () => {
  const headers = await signedIn(t.app.url()!);
  for (const zone of ['Mars/Olympus', '+01:00', 'x'.repeat(1_000), '<b>', '__proto__']) {
    const cookie = `${headers.cookie}; purchase_watch_zone=${encodeURIComponent(zone)}`;
    const page = await (await fetch(t.app.url()!, { headers: { cookie } })).text();
    expect(page).toContain('Times in <b>Europe/Stockholm</b>');
  }
});
