/** The page of what was changed: filters in the address, older pages, text from outside as text. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openByLink, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let browser: Browser;
let t: TestApp;

beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({ realClock: true });
  await t.app.start();
});
afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

const HOSTILE = `<img src=x onerror=alert(1)>\u202e${'w'.repeat(4_000)}`;

test.each([true, false])('shows who did what, by door and id (script: %s)', async (javaScriptEnabled) => {
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()!, javaScriptEnabled });
  await t.database.sql`truncate purchase_watch_internal.actions`;
  await page.goto('/system/actions');
  await page.getByText('Nothing was changed yet.').waitFor();
  await t.database.sql`
    insert into purchase_watch_internal.actions (key_name, address, via, call, subject, outcome)
    select 'night', '10.0.0.' || n, case when n % 2 = 0 then 'console' else 'cli' end, 'POST /v1/incidents/{id}/acknowledge',
      jsonb_build_object('id', 'inc_' || n), 'done' from generate_series(1, 120) n`;
  await t.database.sql`
    insert into purchase_watch_internal.actions (key_name, address, via, call, subject, outcome)
    values (${HOSTILE}, ${HOSTILE}, 'api', 'PATCH /v1/subscribers/{id}', ${JSON.stringify({ id: HOSTILE })}::text::jsonb, 'failed')`;
  await page.goto('/system/actions');
  expect(await page.locator('tbody tr').count()).toBe(50);
  expect(await page.locator('tbody img').count()).toBe(0);
  await page.getByText('failed', { exact: true }).waitFor();
  await page.getByLabel('Made through').selectOption('console');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL(/via=console/);
  expect(await page.locator('tbody td[data-l=through]').allTextContents()).toEqual(Array(50).fill('console'));
  await page.getByRole('link', { name: 'Older' }).click();
  await page.waitForURL(/cursor=/);
  expect(await page.locator('tbody tr').count()).toBe(10);
  await page.getByLabel('About the id').fill('inc_2');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL(/about=inc_2/);
  expect(await page.locator('tbody tr').count()).toBe(1);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});
