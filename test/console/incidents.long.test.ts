/** Incidents as lists, silences, and what a reader does not see. What a person does about an incident: journey.test.ts. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEYS, OPERATOR, openSignedIn, READER, startBrowser } from '../support/browser.ts';
import { startStuckShop } from '../support/stuck-shop.ts';
import type { TestApp } from '../support/test-app.ts';

const HOSTILE = `<img src=x onerror=alert(1)>\u202e${'long '.repeat(90)}`;

let browser: Browser;
let t: TestApp;
let origin: string;
/** The incident of the customers who are stuck. */
let stuck: string;

beforeAll(async () => {
  browser = await startBrowser();
  ({ t, stuck } = await startStuckShop(KEYS));
  origin = t.app.url()!;
  const { sql } = t.database;
  // One of each that ended, with words that a person or a system might have written there.
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, subscriber, opened_at, since, ended_at, quiet_since, count, peak, severity, acknowledged_at, acknowledged_by, acknowledged_note, answer_cause, answer_note, answered_by, answered_at)
    values ('inc_over', 'subscriber', null, ${HOSTILE.slice(0, 60)}, now() - interval '2 h', now() - interval '2 h', now() - interval '1 h', now() - interval '1 h', 0, 3, 0,
        now() - interval '2 h', ${HOSTILE.slice(0, 150)}, ${HOSTILE}, 'other', ${HOSTILE}, ${HOSTILE.slice(0, 150)}, now())`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, ended_at, quiet_since, count, peak)
    select 'inc_old' || n, 'unreachable', 'default', now() - interval '3 d', now() - interval '3 d', now() - interval '2 d', now() - interval '2 d', 0, 1 from generate_series(1, 40) n`;
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

/** A page of a person who is signed in. */
async function signedIn(key: string, to: string, options: BrowserContextOptions = {}) {
  const opened = await openSignedIn(browser, { origin, key, to, ...options });
  opened.page.setDefaultTimeout(10_000);
  return opened;
}

const rowOf = async (id: string) => {
  const [row] = await t.database.sql<{ by: string | null; note: string | null; cause: string | null }[]>`
    select acknowledged_by as by, acknowledged_note as note, answer_cause as cause from purchase_watch_internal.incidents where id = ${id}`;
  return row!;
};
const form = (page: Page, button: string) => page.locator('form', { has: page.getByRole('button', { name: button }) });

test('incidents are filtered by the address, and read page by page', async () => {
  const { page, context, misdeeds } = await signedIn(READER, '/incidents');
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('1 incident is open');
  const open = page.getByRole('row', { name: /5 customers stuck waiting for the card provider.*500\.50\sSEK/ });
  expect(await open.count()).toBe(1);
  expect(await page.locator('#row-inc_old40').count()).toBe(1);
  expect(await page.locator('#row-inc_old1').count()).toBe(0);
  await page.getByRole('link', { name: 'Older', exact: true }).click();
  await page.locator('#row-inc_old1').waitFor();
  expect(await page.locator(`#row-${stuck}`).count()).toBe(0);
  await page.goto('/incidents');
  await page.getByLabel('Kind').selectOption('subscriber');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL(/kind=subscriber/);
  expect(await page.locator('tbody tr').count()).toBe(1);
  await page.getByRole('link', { name: 'Open', exact: true }).click();
  await page.getByText('No incident matches these filters').waitFor();
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('a reader sees no buttons, and what a reader posts is refused', async () => {
  const { page, context } = await signedIn(READER, `/incidents/${stuck}`);
  await page.getByText('need a key with the scope operate').waitFor();
  expect(await page.locator('main form[method=post]:not([action$="/zone"]) button').count()).toBe(0);
  await page.goto('/silences');
  await page.getByText('needs a key with the scope operate').waitFor();
  expect(await page.locator('main form[method=post]:not([action$="/zone"]) button').count()).toBe(0);
  const before = await rowOf(stuck);
  for (const path of [`/incidents/${stuck}`, '/silences']) {
    const fields = { act: 'acknowledge', by: 'Kim', reason: 'r', endsAt: '2h', kind: 'stuck' };
    expect((await page.request.post(path, { form: fields, headers: { origin } })).status()).toBe(403);
  }
  expect(await rowOf(stuck)).toEqual(before);
  await context.close();
});

test.each([true, false])(
  'a silence is added with its mistakes beside their fields, and ended (script: %s)',
  async (javaScriptEnabled) => {
    await t.database.sql`delete from purchase_watch_internal.silences`;
    const { page, context, misdeeds } = await signedIn(OPERATOR, '/silences', { javaScriptEnabled });
    await page.getByText('There was no silence yet').waitFor();
    expect(await page.locator('#example').textContent()).toContain(`curl ${origin}/v1/silences`);
    await page.locator('summary', { hasText: 'Add a silence' }).click();
    const add = form(page, 'Add the silence');
    await add.getByLabel('Reason').fill('The service moves.');
    await add.getByLabel('Until').fill('40d');
    await add.getByRole('button').click();
    await page.getByText(/Until must be at most 30 days ahead/).waitFor();
    await page.getByText(/All incidents must be true to silence all incidents/).waitFor();
    await add.getByLabel('Until').fill('2h');
    await add.getByLabel('State').selectOption('WaitingForCardPayments');
    await add.getByRole('button').click();
    await page.getByRole('status').getByText('It holds back messages of 1 open incident now.').waitFor();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('1 silence holds');
    await page.locator('summary', { hasText: 'End it' }).click();
    await page.getByText('It matches 1 open incident').waitFor();
    await page.getByRole('button', { name: /^End sil_/ }).click();
    await page.getByRole('status').getByText('The silence is over').waitFor();
    await page.getByRole('heading', { name: 'Over' }).waitFor();
    expect(misdeeds.found.filter((each) => !each.includes('400'))).toEqual([]);
    await context.close();
  },
);

test('an incident that is not there is a page with 404', async () => {
  const { page, context } = await signedIn(READER, '/incidents');
  expect((await page.goto('/incidents/inc_none'))!.status()).toBe(404);
  await page.getByText('There is no incident inc_none').waitFor();
  await context.close();
});
