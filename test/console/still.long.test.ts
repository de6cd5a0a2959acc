/** Rows that a person looks at stay where they are while purchases come; links keep their addresses, ticks and typed text stay. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openByLink, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const SHOWN = 5;
const REFRESHES = 10;

let browser: Browser;
let t: TestApp;

beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({ realClock: true });
  for (let each = 0; each < SHOWN; each++) await t.watch({ script: [{ state: 'New' }] });
  await t.app.start();
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

/** Id, place and link of each row. */
const rows = (page: Page) =>
  page.locator('[data-still] > tr').evaluateAll((all) =>
    all.map((row) => {
      const { top, height } = row.getBoundingClientRect();
      return { id: row.id, top, height, link: row.querySelector('a')!.getAttribute('href') };
    }),
  );

/** Has a purchase come, and waits until the page has asked for itself since. */
async function refreshed(page: Page): Promise<void> {
  const before = await page.locator('#main').getAttribute('data-now');
  await t.watch({ script: [{ state: 'New' }] });
  await expect.poll(() => page.locator('#main').getAttribute('data-now'), { timeout: 20_000 }).not.toBe(before);
}

test('rows stay put over ten refreshes while purchases come, and the key n shows the new ones', {
  timeout: 180_000,
}, async () => {
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()! });
  await page.goto('/purchases?sort=newest');
  await page.getByText('What is new is offered here').waitFor();
  await page.getByText('Live, updated').waitFor();
  const before = await rows(page);
  expect(before).toHaveLength(SHOWN);
  const ticked = page.locator(`tr[id="${before[3]!.id}"]`);
  await ticked.locator('th').evaluate((cell) => {
    cell.insertAdjacentHTML('beforeend', '<input type="checkbox" aria-label="Choose">');
  });
  const focused = page.locator(`tr[id="${before[1]!.id}"] a`).first();
  await ticked.getByRole('checkbox').first().check();
  await focused.focus();
  await page.locator(`tr[id="${before[2]!.id}"] td`).first().hover();
  const held = await rows(page);
  for (let each = 0; each < REFRESHES; each++) {
    await refreshed(page);
    expect(await rows(page)).toEqual(held);
    expect(await focused.evaluate((link) => link.matches(':focus'))).toBe(true);
  }
  expect(await ticked.getByRole('checkbox').first().isChecked()).toBe(true);
  await expect.poll(() => page.locator('.new-rows').textContent()).toMatch(new RegExp(`${REFRESHES} new.* since`));
  expect(await page.locator('#said').textContent()).toContain('the key n shows them');
  expect(
    await page.locator('tr').evaluateAll((all) => all.map((row) => row.querySelectorAll('time[tabindex="0"]').length)),
  ).not.toContain(2);

  await page.keyboard.press('n');
  await expect.poll(() => rows(page)).toHaveLength(SHOWN + REFRESHES);
  await expect.poll(() => page.locator('#said').textContent()).toBe(`${REFRESHES} new, shown.`);
  expect(await page.locator('tr:has(a:focus)').getAttribute('id')).toBe((await rows(page))[0]!.id);
  await page.getByText('What is new is offered here').waitFor();
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('a row that left the list stays until the list is shown anew', { timeout: 60_000 }, async () => {
  const { page, context } = await openByLink(browser, { origin: t.app.url()! });
  await t.database.sql`
    insert into purchase_watch_internal.silences (kind, reason, created_by, starts_at, ends_at)
    values ('stuck', 'A page', 'Kim', now(), now() + interval '2 h'), ('replica', 'A move', 'Kim', now(), now() + interval '2 h')`;
  await page.goto('/silences');
  await page.getByText('Live, updated').waitFor();
  const before = await page.locator('[data-still] > tr').count();
  await t.database.sql`delete from purchase_watch_internal.silences where kind = 'replica'`;
  await refreshed(page);
  await expect.poll(() => page.locator('.new-rows').textContent()).toContain('1 gone since');
  expect(await page.locator('[data-still] > tr').count()).toBe(before);
  await t.database.sql`delete from purchase_watch_internal.silences`;
  await refreshed(page);
  await expect.poll(() => page.locator('.new-rows').textContent()).toContain('2 gone since');
  await page.getByRole('button', { name: 'Show them' }).click();
  await expect.poll(() => page.locator('[data-still] > tr').count()).toBe(0);
  await context.close();
});
