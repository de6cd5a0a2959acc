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

test('says how it was, stands still, and offers no act', async () => {
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()! });
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(`/?at=${iso(at)}`);
  if (process.env.SHOTS) {
    await page.screenshot({ path: `${process.env.SHOTS}/then-1280.png`, fullPage: true });
    for (const width of [360, 768, 1024]) {
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({ path: `${process.env.SHOTS}/then-${width}.png`, fullPage: true });
    }
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.screenshot({ path: `${process.env.SHOTS}/then-dark.png`, fullPage: true });
    await page.goto(`/?at=13d`);
    await page.screenshot({ path: `${process.env.SHOTS}/then-calm.png`, fullPage: true });
    await page.goto(`/?at=20d`);
    await page.screenshot({ path: `${process.env.SHOTS}/then-bad.png`, fullPage: true });
  }
  expect(await page.locator('h1').textContent()).toBe('se: 12 customers were stuck waiting for the card provider.');
  expect(misdeeds.found).toEqual([]);
  await context.close();
});
