/** The book in a browser, as a daemon serves it: its policy lets the search work, axe finds no violation, nothing is too wide. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildBook } from '../../tools/docs.ts';
import { startTestApi, type TestApi } from '../api/api.ts';
import { openPage, startBrowser, TOO_WIDE } from '../support/browser.ts';

const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-book-'));
let browser: Browser;
let api: TestApi;
beforeAll(async () => {
  await buildBook(folder, { forPackage: true });
  api = await startTestApi({ book: folder });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await api?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('the search finds a heading, and Enter opens it', async () => {
  const { page, context, misdeeds } = await openPage(browser, { origin: api.url });
  await page.goto('/docs/decisions/0033-book.html');
  await page.keyboard.press('/');
  await page.keyboard.type('roles');
  await page.waitForSelector('#found a');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/docs\/sql\.html#roles$/);
  expect(await page.locator('h2#roles').isVisible()).toBe(true);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('what a person types is searched as text, never as markup or a pattern', async () => {
  const { page, context, misdeeds } = await openPage(browser, { origin: api.url });
  await page.goto('/docs/');
  await page.fill('#find', '<bqz>.*( xqzzqv-qxzzk');
  await page.waitForSelector('#found p');
  expect(await page.locator('#found b').count()).toBe(0);
  await page.keyboard.press('Escape');
  expect(await page.locator('#found').isVisible()).toBe(false);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

const PAGES = ['index.html', 'tutorial.html', 'errors.html', 'alerts.html', 'decisions/index.html'];
test.each([
  { colorScheme: 'light' as const, width: 1280 },
  { colorScheme: 'dark' as const, width: 390 },
])('pages are accessible and fit: $colorScheme, $width wide', async ({ colorScheme, width }) => {
  const { page, context, misdeeds } = await openPage(browser, {
    origin: api.url,
    colorScheme,
    viewport: { width, height: 800 },
    // axe is put into the page; that the page's own policy holds, the other tests show.
    bypassCSP: true,
  });
  for (const path of PAGES) {
    await page.goto(`/docs/${path}`);
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
    expect(violations.map(({ id, nodes }) => `${path}: ${id}: ${nodes[0]?.html}`)).toEqual([]);
    const sideways = await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
    expect(sideways ? await page.evaluate(TOO_WIDE) : null, path).toBeNull();
  }
  expect(misdeeds.found).toEqual([]);
  await context.close();
});
