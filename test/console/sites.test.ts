/** Sites: whether each answers, and how long its customers take. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openPage, startBrowser } from '../support/browser.ts';
import { addExits } from '../support/dwell-days.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const LONG_NAME = `site-with-a-name-${'x'.repeat(40)}`;

let browser: Browser;
let t: TestApp;

beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({
    realClock: true,
    change: (settings) => {
      const [site] = settings.sites;
      settings.sites = [site!, { ...site!, name: LONG_NAME }];
    },
  });
  const exits = [5, 9, 14, 20, 30, 45, 70, 110, 200].map((seconds, place) => ({
    ...{ site: 'default', state: 6, dwell: seconds * 1_000 },
    exits: 60 - Math.abs(place - 4) * 12,
  }));
  await addExits(t.database.sql, Date.now(), [...exits, { site: 'default', state: 10, exits: 8, dwell: 82_000_000 }]);
  const id = await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
  await t.watch({ script: [{ state: 17 }] });
  await t.app.start();
  await vi.waitFor(async () => expect((await t.rowOf(id)).state).toBe(6), { timeout: 20_000, interval: 100 });
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

test.each([true, false])('shows each site, and one by itself (script: %s)', async (javaScriptEnabled) => {
  const { page, context, misdeeds } = await openPage(browser, { origin: t.app.url()!, javaScriptEnabled });
  await page.goto('/sites');
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('1 of 2 sites answer; the others were not asked yet.');
  const panel = page.locator('section[aria-labelledby="site-default"]');
  expect(await panel.locator('.figs').textContent()).toMatch(/2 watched.*ceiling of 10000 a second.*last answer.*all polls/s);
  const card = panel.locator('figure', { hasText: 'WaitingForCardPayments' });
  expect((await card.locator('p').textContent())?.replaceAll('\u00a0', ' ')).toMatch(
    /1 waits, the oldest for .*Usual .*, 95 % under .*from 300 purchases; limit 15 min, the default\./,
  );
  expect(await card.locator('.h-bar').count()).toBe(9);
  expect(await card.locator('.tick-w').count()).toBe(1);
  await panel.getByRole('link', { name: 'Details' }).click();
  expect(new URL(page.url()).pathname).toBe('/sites/default');
  expect(await page.getByRole('row', { name: /Unknown\(17\) watching 1/ }).count()).toBe(1);
  expect(misdeeds.found).toEqual([]);
  await page.goto(`/sites/${LONG_NAME}`);
  await page.getByText('No purchase of this site is registered').waitFor();
  const response = await page.goto('/sites/%3Cb%3Enowhere');
  expect(response!.status()).toBe(400);
  await context.close();
});

test('the API shows what is set for a site, without addresses, accounts and secrets', async () => {
  const response = await fetch(`${t.app.url()}/v1/sites/default`);
  const { settings } = (await response.json()) as { settings: unknown };
  expect(settings).toEqual({
    ...{ auth: 'oauth2', timeZone: 'Europe/Stockholm', maxRps: 10_000, concurrency: 32, timeoutMs: 10_000, invoices: false },
  });
});
