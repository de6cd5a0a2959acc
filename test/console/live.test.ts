/** An open page: it follows what happens, and waits for its reader. How it loses and regains the daemon: journey.test.ts. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openByLink, startBrowser } from '../support/browser.ts';
import { signedIn } from '../support/machine.ts';
import { startTestApp } from '../support/test-app.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
});

const watched = (page: Page): Promise<string | null> => page.locator('.sub').textContent();

test('a page follows what happens without being loaded again, unless its reader pauses it', async () => {
  const t = await startTestApp({ realClock: true });
  await t.app.start();
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()! });
  await t.watch();
  await page.goto('/');
  await expect.poll(async () => (await page.reload()) && watched(page)).toContain('1 purchase is watched');
  await page.evaluate("document.documentElement.dataset.loaded = 'once'");
  await page.getByText('Live, updated').waitFor();
  const places = page.getByRole('navigation', { name: 'Pages' });
  expect(await places.textContent()).not.toContain('not getting events');

  t.receiver.respondAlways({ status: 503, headers: { 'retry-after': '600' } });
  await t.watch();
  await expect.poll(() => watched(page)).toContain('2 purchases are watched');
  await expect.poll(() => places.textContent()).toContain('1 not getting events as usual');
  expect(await page.locator('html').getAttribute('data-loaded')).toBe('once');

  await page.keyboard.press('p');
  await page.getByText('Paused by you').waitFor();
  await t.watch();
  await page.getByText('1 change since').waitFor();
  expect(await watched(page)).toContain('2 purchases are watched');
  await page.getByRole('button', { name: 'Go on' }).click();
  await expect.poll(() => watched(page)).toContain('3 purchases are watched');
  expect(misdeeds.found).toEqual([]);

  // What a proxy answers while it reaches no daemon takes the place of nothing.
  await page.route('**/', (route) => route.fulfill({ status: 503, body: '<main id="main">from the proxy</main>' }));
  await t.watch();
  await page.getByText('No answer from the daemon since').waitFor();
  expect(await watched(page)).toContain('3 purchases are watched');
  await page.unroute('**/');
  await t.watch();
  await expect.poll(() => watched(page)).toContain('5 purchases are watched');
  await context.close();
  await t.stop();
});

test('keys go to pages and list themselves', async () => {
  const t = await startTestApp({ realClock: true });
  await t.app.start();
  const { page, context } = await openByLink(browser, { origin: t.app.url()! });
  await page.goto('/');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type('g i');
  expect(await page.getByRole('searchbox').inputValue()).toBe('g i');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.waitForURL('**/incidents');
  await context.close();
  await t.stop();
});

test('a proxy may serve the console below a path, and pass that path or take it away', async () => {
  const t = await startTestApp({ realClock: true, env: { CONSOLE_URL: 'https://ops.example/watch' } });
  await t.app.start();
  const headers = await signedIn(t.app.url()!);
  for (const address of [`${t.app.url()}/watch/`, `${t.app.url()}/`]) {
    const html = await (await fetch(address, { headers })).text();
    const links = [...html.matchAll(/(?:href|src|action)="([^"#]+)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((link) => !link.startsWith('/watch/'))).toEqual([]);
    const assets = links.filter((link) => link.includes('/assets/'));
    for (const asset of assets) expect((await fetch(new URL(asset, t.app.url()!))).status).toBe(200);
  }
  expect((await fetch(`${t.app.url()}/watch/healthz`)).status).toBe(200);
  await t.stop();
});
