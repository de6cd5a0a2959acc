/** Sites: whether each answers, and how long its customers take. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { writeSiteCalls } from '../../src/postgres/polling/site-calls.ts';
import { onDatabase } from '../cli/command.ts';
import { openByLink, startBrowser } from '../support/browser.ts';
import { addExits } from '../support/dwell-days.ts';
import { fetchAsMachine } from '../support/machine.ts';
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
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()!, javaScriptEnabled });
  await page.goto('/sites');
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('1 of 2 sites answer; the others were not asked yet.');
  const panel = page.locator('section[aria-labelledby="site-default"]');
  expect(await panel.locator('.figs').textContent()).toMatch(/2 watched.*ceiling of 10000 a second.*last answer.*breaker/s);
  const card = panel.locator('figure', { hasText: 'waiting for the card provider' });
  expect((await card.locator('p').textContent())?.replaceAll('\u00a0', ' ')).toMatch(
    /1 waits, the oldest for .*Usual .*, 95 % under .*from 300 purchases; limit 15 min, the default\./,
  );
  expect(await card.locator('.h-bar').count()).toBe(9);
  expect(await card.locator('.tick-w').count()).toBe(1);
  await panel.getByRole('link', { name: 'Details' }).click();
  expect(new URL(page.url()).pathname).toBe('/sites/default');
  expect(await page.getByRole('row', { name: /state 17, which is not in the specification watching 1/ }).count()).toBe(1);
  expect(misdeeds.found).toEqual([]);
  await page.goto(`/sites/${LONG_NAME}`);
  await page.getByText('No purchase of this site is registered').waitFor();
  const response = await page.goto('/sites/%3Cb%3Enowhere');
  expect(response!.status()).toBe(400);
  await context.close();
});

test('the API shows what is set for a site, without addresses, accounts and secrets', async () => {
  const response = await fetchAsMachine(`${t.app.url()}/v1/sites/default`);
  const { settings } = (await response.json()) as { settings: unknown };
  expect(settings).toEqual({
    ...{ auth: 'oauth2', timeZone: 'Europe/Stockholm', maxRps: 10_000, concurrency: 32, timeoutMs: 10_000, invoices: false },
  });
});

test('shows and says how its replica calls a site, and how one does that may not call it', async () => {
  const { sql } = t.database;
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()!, javaScriptEnabled: false });
  const read = async () => {
    await page.goto('/sites/default');
    return (await page.locator('section[aria-labelledby="replicas"]').textContent())!.replaceAll('\u00a0', ' ');
  };
  await expect.poll(read).toMatch(/closed: every call may leave.*of \d+.*fetched .*valid until in /s);
  await sql`insert into purchase_watch_internal.replicas (id, process, expires_at) values ('rep_other', 'test', now() + interval '5 min') on conflict do nothing`;
  const refusal = '<b>The token endpoint</b> does not accept it';
  await writeSiteCalls(sql, 'rep_other', [
    {
      ...{ site: 'default', breaker: 'open', cause: 'failing', since: Date.now() - 90_000, nextProbeAt: Date.now() + 20_000 },
      ...{ callsPerSecond: 0.1, ceiling: 0 },
      token: { fetchedAt: null, expiresAt: null, refusedAt: Date.now() - 1_500, refusal },
    },
  ]);
  expect(await read()).toMatch(
    /rep_other.*open: only probes may leave.*the site fails.*next probe in .*owns no shard.*refused .*<b>The token/s,
  );
  expect(await page.locator('.figs').textContent()).toMatch(/open.*breaker at 1 of 2 replicas/s);
  const said = await onDatabase(t.database, ['status', '--site', 'default']);
  expect(said.stdout).toMatch(
    /^default +rep_other +open since 1 min, failing +in \d+ s +0\.1 of 0 +not fetched; refused .*<b>The token/m,
  );
  expect(said.stdout).toMatch(/^default +rep_\w+ +closed since .* of \d+ +fetched .* ago, ends in /m);
  const all = await onDatabase(t.database, ['status']);
  expect(all.stdout.match(/^default +rep_\w+/gm)).toEqual([expect.stringContaining('rep_other')]);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});
