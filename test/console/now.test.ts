/** The page of now: the sentence, the flow of purchases as picture, list and table, the hour by the minute, and health. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openByLink, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const LONG_NAME = `site-with-a-name-${'x'.repeat(30)}`;

let browser: Browser;
let t: TestApp;
const seen: string[] = [];

beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({
    realClock: true,
    change: (settings) => {
      const [site] = settings.sites;
      settings.sites = [site!, { ...site!, name: LONG_NAME }];
    },
  });
  for (const state of [
    'BeingProcessed',
    'WaitingForCardPayments',
    'WaitingForCardPayments',
    'WaitingForEidApp',
    'Completed',
    17,
    99,
  ])
    seen.push(await t.watch({ script: [{ state }] }));
  await t.app.start();
  // The first polls are made within seconds; a change back to an earlier state and an hour of traffic are counted beside them.
  await vi.waitFor(async () => expect((await t.rowOf(seen.at(-1)!)).state).toBe(99), { timeout: 20_000, interval: 100 });
  const hour = Math.floor((Date.now() - 30 * MINUTE) / (10 * MINUTE)) * 10 * MINUTE;
  const ways: [from: number | null, to: number, now: number, usual: number][] = [
    ...([
      [null, 0, 214, 210],
      [0, 1, 206, 205],
      [0, 5, 4, 4],
      [0, 6, 5, 4],
      [0, 2, 3, 3],
      [1, 4, 26, 27],
      [1, 7, 40, 41],
    ] as const),
    ...([
      [1, 6, 91, 90],
      [1, 12, 22, 22],
      [1, 2, 4, 4],
      [1, 5, 2, 2],
      [4, 2, 23, 25],
      [7, 2, 39, 40],
      [6, 2, 38, 81],
    ] as const),
    ...([
      [6, 3, 3, 3],
      [6, 5, 1, 1],
      [12, 2, 21, 21],
      [4, 6, 3, 3],
      [6, 1, 3, 2],
      [2, 8, 2, 2],
      [2, 4, 1, 0],
    ] as const),
  ].map((way) => [...way] as [number | null, number, number, number]);
  for (const [from, to, now, usual] of ways) {
    await count(hour, from, to, now);
    for (const days of [1, 2, 3, 4]) await count(hour - days * DAY, from, to, usual);
  }
  await t.database.sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
    values ('default', ${hour - 5 * DAY}::timestamptz, null, 9, 1)`;
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

const count = (at: number, from: number | null, to: number, n: number) => t.database.sql`
  insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
  values ('default', ${at}::timestamptz, ${from}, ${to}, ${n})
  on conflict do nothing`;

test.each([true, false])('says how things are, and shows where purchases go (script: %s)', async (javaScriptEnabled) => {
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()!, javaScriptEnabled });
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto('/');
  const map = page.locator('.map svg').first();
  const text = async (locator: string): Promise<string> =>
    (await map.locator(locator).textContent())!.replace(/\s+/g, ' ').trim();
  expect(await text('#flow-6')).toMatch(/waiting for the card provider 2 now 0 stuck/);
  expect(await text('#flow-1')).toMatch(/in the check-out form 1 now/);
  expect(await text('#flow-17')).toMatch(/state 17, which is not in the specification 1 now/);
  expect(await text('#flow-2')).toMatch(/completed 129 ?usually 174/);
  // Where less than half of the usual number goes, the usual width stands around the ribbon.
  expect(await map.locator('.ghost').count()).toBe(2);
  expect((await map.locator('.en.less').textContent())?.replace(/\s+/g, ' ')).toBe('38, usually 81');
  expect(await map.locator('title').allTextContents()).toContain(
    'waiting for the card provider → in the check-out form: 3, usually 2',
  );
  const table = page.locator('#flow-table');
  await table.locator('summary').click();
  expect(await table.getByRole('row', { name: /state 99, which/ }).count()).toBe(1);
  expect(await page.locator('.charts figure').count()).toBe(4);
  expect(await page.locator('.charts').textContent()).toContain('no attempt failed');
  // Each number that leads to a list has as many rows there; how many came in the hour leads to none.
  expect(await map.locator('a#flow-2').count()).toBe(0);
  const boxes = await map
    .locator('a.node')
    .evaluateAll((all) => all.map((each) => [each.getAttribute('href')!, each.textContent!]));
  expect(boxes.length).toBeGreaterThan(3);
  for (const [address, words] of boxes) {
    const list = (await (await page.request.get(address!)).text()).split('<tbody')[1] ?? '';
    expect(list.match(/<tr/g)?.length ?? 0, words).toBe(Number(/(\d+)\s+now/.exec(words!)![1]));
  }
  await map.locator('#flow-6').click();
  expect(new URL(page.url()).search).toBe('?state=WaitingForCardPayments&status=watching');
  expect(misdeeds.found.filter((each) => !each.includes('404'))).toEqual([]);
  await context.close();
});

test('one site is shown by an address, whatever it is called; a site that there is not is named', async () => {
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()!, javaScriptEnabled: false });
  await page.goto('/');
  await page.getByLabel('Site', { exact: true }).selectOption(LONG_NAME);
  await page.getByRole('button', { name: 'Show' }).click();
  expect(new URL(page.url()).searchParams.get('site')).toBe(LONG_NAME);
  await page.getByText('No purchase was watched in the last hour').waitFor();
  expect(await page.locator('#flow-6').count()).toBe(0);
  expect(misdeeds.found).toEqual([]);
  await page.goto('/?site=nowhere');
  await page.getByText('nowhere').first().waitFor();
  await context.close();
});

test('nothing runs over the edges: every state and count is inside the picture', async () => {
  const { page, context } = await openByLink(browser, { origin: t.app.url()!, viewport: { width: 1280, height: 900 } });
  await page.goto('/');
  const outside = await page
    .locator('.map svg')
    .first()
    .evaluate((svg) => {
      const { width, height } = (svg as unknown as { viewBox: { baseVal: { width: number; height: number } } }).viewBox.baseVal;
      return [...svg.querySelectorAll('rect.box, text.en, path.e')].filter((each) => {
        const box = (each as unknown as { getBBox(): { x: number; y: number; width: number; height: number } }).getBBox();
        return box.x < -4 || box.y < -1 || box.x + box.width > width || box.y + box.height > height + 1;
      }).length;
    });
  expect(outside).toBe(0);
  await page.setViewportSize({ width: 360, height: 800 });
  expect(await page.locator('.flow-list').isVisible()).toBe(true);
  expect(await page.locator('.map').isVisible()).toBe(false);
  await context.close();
});

test('an incident in which nobody is stuck any more says when it ends, and asks for nothing', async () => {
  const { sql } = t.database;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, severity, alerted_at, announced_at, ends_at)
    values ('inc_ending', 'stuck', 'default', 4, now(), now(), 0, 3, 0, now(), now(), now() + interval '10 minutes')`;
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()!, javaScriptEnabled: false });
  await page.goto('/');
  const row = page.locator('#row-ending-inc_ending');
  expect(await row.textContent()).toMatch(/It ends in \d+\smin.* unless another customer gets stuck\./s);
  expect(await page.getByRole('link', { name: 'Open and acknowledge' }).count()).toBe(0);
  expect(await page.locator('section:has(#needs) li').allTextContents()).toEqual([]);
  expect(await page.locator('[data-said]').textContent()).toMatch(
    /any more, 3 at worst\. The incident ends in (9|10)\smin.* unless another customer gets stuck\.$/,
  );
  await page.goto('/incidents/inc_ending');
  expect(await page.getByRole('main').textContent()).toMatch(/not acknowledged.*ends in|ends in.*not acknowledged/s);
  expect(misdeeds.found).toEqual([]);
  await sql`delete from purchase_watch_internal.incidents where id = 'inc_ending'`;
  await context.close();
});

test('while only the incident of a loss of the database ends, the loss and what to do about it stay in the first sentence', async () => {
  const { sql } = t.database;
  await sql`
    insert into purchase_watch_internal.database_changes (id, kind, noticed_at, replica, host, came_back_to)
    values ('zz', 'went_back', now(), 'rep_1', 'host', now() - interval '5 s')`;
  const body = JSON.stringify({
    type: 'incident.opened',
    data: { kind: 'replica', troubles: [{ reason: 'database_went_back' }] },
  });
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, opened_at, since, count, peak, severity, alerted_at, alerted_count, alerted_severity, announced_at, quiet_since, ends_at)
    values ('inc_loss', 'replica', now(), now(), 0, 1, 32, now(), 1, 32, now(), now(), now() + interval '30 s')`;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, shard, incident, created_at, body)
    values ('evt_loss', 'incident.opened', '', 0, 'inc_loss', now(), ${body})`;
  const { page, context } = await openByLink(browser, { origin: t.app.url()!, javaScriptEnabled: false });
  // A daemon that reads of such a change dials the database again, and has no pages for a moment.
  await expect
    .poll(async () => (await page.goto('/'))!.status() === 200 && page.locator('[data-said]').textContent(), { timeout: 20_000 })
    .toMatch(/^The database came back without its last writes\./);
  // Since when writes are missing, and what to do.
  const row = page.locator('.needs > li').first();
  expect(await row.textContent()).toMatch(/For .*What was written since then is missing.*What to do: register the purchases/s);
  expect(await row.getByRole('link').last().getAttribute('href')).toBe('/system');
  await expect
    .poll(async () => (await page.goto('/incidents/inc_loss')) && page.getByRole('main').textContent(), { timeout: 20_000 })
    .toMatch(/unless the database loses writes again.*What to doRegister the purchases of that time again.*came back as of /s);
  await sql`update purchase_watch_internal.database_changes set compared_at = now() where id = 'zz'`;
  await page.goto('/incidents/inc_loss');
  expect(await page.getByRole('main').textContent()).not.toContain('What to do');
  await sql`delete from purchase_watch_internal.events where id = 'evt_loss'`;
  await sql`delete from purchase_watch_internal.incidents where id = 'inc_loss'`;
  await context.close();
});
