/** The list of purchases when it is full: with keyboard and without script, and what is done to many of them. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEYS, OPERATOR, openSignedIn, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const COUNT = 220;

let browser: Browser;
let t: TestApp;
let origin: string;

beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({ realClock: true, env: KEYS, inventsEvents: true });
  await t.app.start();
  origin = t.app.url()!;
  // As polls would have left them; the next ones are due in a month.
  await t.database.sql`
    insert into purchase_watch.purchases (purchase_id, site, reference, registered_at, status, state, state_since, stuck_since, sequence, next_poll_at, due_slot, ended_at)
    select case when i % 40 = 0 then repeat('long-id-', 24) || i else gen_random_uuid()::text end, 'default', case when i % 2 = 0 then 'Ref_' || i end, at, status,
      case when status = 'settled' then case when i % 3 = 0 then 5 else 2 end when i % 30 <> 7 then 6 end,
      case when status = 'settled' or i % 30 <> 7 then at + interval '1 min' end, case when i % 10 = 1 then at + interval '20 min' end, 1,
      case when status = 'watching' then now() + interval '30 days' end, case when status = 'watching' then 2000000000 end,
      case when status <> 'watching' then now() end
    from (select i, now() - i * interval '7 minutes' as at,
      case when i % 10 = 1 then 'watching' when i % 25 = 3 then 'unreadable' when i % 25 = 4 then 'stopped' when i % 3 = 0 then 'watching' else 'settled' end as status
      from generate_series(1, ${COUNT}::integer) i) s`;
  await t.database.sql`
    insert into purchase_watch_internal.purchase_details (purchase, fields)
    select id, json_build_object('Price', round((id * 7919 % 100000) / 20.0, case when id % 50 = 0 then 12 else 2 end), 'CurrencyCode', (array['SEK', 'NOK', 'EUR'])[1 + id % 3],
      'OrderReference', case when id % 20 = 0 then repeat('ORDER-WITH-A-LONG-NAME-', 8) || id else 'ORD-' || 1000 + id end)
    from purchase_watch.purchases where id % 15 <> 2`;
  await t.database.sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, shard, state, created_at, body)
    select 'evt_list_' || id, case when stuck_since is null then 'purchase.state_changed' else 'purchase.stuck' end, site, id, 1, shard, state, now(), '{}' from purchase_watch.purchases`;
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

const opened = (options: { javaScriptEnabled?: boolean; colorScheme?: 'light' | 'dark'; bypassCSP?: boolean } = {}) =>
  openSignedIn(browser, { origin, key: OPERATOR, to: '/purchases', ...options });

const orders = (page: Page) => page.locator('tbody .ord').allTextContents();
const heading = (page: Page) => page.getByRole('heading', { level: 1 }).textContent();

test('a page holds as much as it says, in the order that it says, and the next one goes on', async () => {
  const { page, context } = await opened();
  const all: string[] = [];
  for (;;) {
    all.push(...(await page.locator('tbody tr').evaluateAll((rows) => rows.map(({ id }) => id))));
    const next = page.getByRole('link', { name: 'Next', exact: true });
    if ((await next.count()) === 0) break;
    await next.click();
    await page.getByRole('link', { name: 'First page' }).waitFor();
  }
  expect([all.length, new Set(all).size]).toEqual([COUNT, COUNT]);
  await page.goto('/purchases?currency=SEK&sort=largest');
  const amounts = (await page.locator('tbody td.num.end').allTextContents()).map((text) =>
    Number(text.replaceAll('\u00a0', '').replace('SEK', '')),
  );
  expect(amounts.length).toBe(50);
  expect(amounts).toEqual(amounts.toSorted((a, b) => b - a));
  await page.goto('/purchases?q=ref_22');
  const found = await orders(page);
  expect(found.length).toBe(2);
  expect(await heading(page)).toBe('Purchases whose order, reference or id begins with “ref_22”.');
  await page.goto('/purchases?least=5');
  await page.getByText('amounts of several currencies cannot be compared').waitFor();
  expect(await page.locator('[name=currency]').getAttribute('aria-invalid')).toBe('true');
  await context.close();
});

test('a choice stays over refreshes and pages; nothing is done before the second press', async () => {
  const { page, context, misdeeds } = await opened();
  await page.locator('table.pick input').nth(0).check();
  await page.locator('table.pick input').nth(1).check();
  const refreshed = page.waitForResponse(/\/purchases$/);
  await page.evaluate(`document.querySelector('#main').dispatchEvent(new Event('pw:refresh', { bubbles: true }))`);
  await refreshed;
  expect(await page.locator('table.pick input:checked').count()).toBe(2);
  await page.getByRole('link', { name: 'Next', exact: true }).click();
  await page.getByRole('link', { name: 'First page' }).waitFor();
  await page.locator('table.pick input').nth(0).focus();
  await page.keyboard.press('Space');
  await page.getByText('3 chosen, 2 on other pages').waitFor();
  const waiting = async () =>
    (
      await t.database
        .sql`select from purchase_watch_internal.deliveries where event in (select position from purchase_watch_internal.events where id like 'evt_list_%')`
    ).count;
  await page.getByRole('button', { name: 'Announce' }).click();
  await page.getByRole('heading', { name: 'Announce the last event of 3 purchases again? Nothing has been done yet.' }).waitFor();
  expect(await waiting()).toBe(0);
  await page.getByRole('button', { name: 'Announce 3 deliveries again' }).click();
  await page.getByText('3 deliveries are scheduled again.').waitFor();
  expect(await waiting()).toBe(3);
  expect(await page.locator('table.pick input:checked').count()).toBe(0);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('without script, all that match are stopped after a look at what that means', async () => {
  const { page, context } = await opened({ javaScriptEnabled: false });
  await page.goto('/purchases?outcome=stuck');
  await page.getByLabel('all that match').check();
  await page.getByRole('button', { name: 'Stop' }).click();
  expect(await page.getByRole('heading', { level: 2, name: 'Stop watching' }).textContent()).toBe(
    'Stop watching 22 purchases? Nothing has been done yet.',
  );
  await page.getByRole('button', { name: 'Stop watching 22 purchases' }).click();
  await page.getByText('22 purchases are not polled any more').waitFor();
  const [row] = await t.database.sql<
    [{ count: number }]
  >`select count(*)::float8 as count from purchase_watch.purchases where stuck_since is not null`;
  expect(row.count).toBe(0);
  await context.close();
});

test('the list as CSV has what the filter lets through', async () => {
  const { page, context } = await opened();
  const answer = await page.request.get('/purchases.csv?currency=NOK&sort=smallest');
  expect(answer.headers()['content-type']).toBe('text/csv; charset=utf-8');
  const [head, ...lines] = (await answer.text()).trimEnd().split('\n');
  expect(head).toMatch(/^orderReference,reference,purchaseId,site,outcome,/);
  const prices = lines.map((line) => Number(line.split(',').at(-2)));
  expect(prices.length).toBeGreaterThan(50);
  expect(prices).toEqual(prices.toSorted((a, b) => a - b));
  await context.close();
});
