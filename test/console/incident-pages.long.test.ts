/** The pages of incidents with full tables, and that a page, Now and Slack say the same. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEYS, OPERATOR, openSignedIn, startBrowser } from '../support/browser.ts';
import { LEFT, STUCK, type StuckWorld, startStuckWorld } from '../support/stuck-world.ts';

let browser: Browser;
let world: StuckWorld;
let origin: string;

beforeAll(async () => {
  browser = await startBrowser();
  world = await startStuckWorld(KEYS);
  await world.t.database.sql`vacuum analyze`;
  origin = world.t.app.url()!;
}, 120_000);

afterAll(async () => {
  await world?.t.stop();
  await browser?.close();
});

const signedIn = (to: string, options: object = {}) => openSignedIn(browser, { origin, key: OPERATOR, to, ...options });

/** Sums without thousands apart, by currency. */
const sums = (text: string): string[] =>
  [...text.replaceAll('\u00a0', ' ').matchAll(/(\d[\d ]*(?:\.\d+)?) ([A-Z]{3})\b/g)]
    .map(([, amount, currency]) => `${amount!.replaceAll(' ', '')} ${currency}`)
    .sort();

test('the money is the same on Now, in the list, on the incident and in Slack, and that of the database', async () => {
  const { sql } = world.t.database;
  const { page, context } = await signedIn('/');
  const rows = await sql<{ sum: string }[]>`
    select sum((d.fields ->> 'Price')::numeric)::text || ' ' || (d.fields ->> 'CurrencyCode') as sum
    from purchase_watch.purchases p join purchase_watch_internal.purchase_details d on d.purchase = p.id
    where p.site = 'shop-dk' and p.stuck_since is not null group by d.fields ->> 'CurrencyCode'`;
  const known = rows.map(({ sum }) => sum).sort();
  expect(known).toHaveLength(3);
  const figure = page.locator('.needs > li', { hasText: '1 000 customers' }).locator('.money');
  expect(sums(await figure.innerText())).toEqual(known);
  expect(await page.locator('main').innerText()).not.toContain('at least');
  await page.goto('/incidents');
  expect(sums(await page.locator(`#row-${world.cards} [data-l=waits]`).innerText())).toEqual(known);
  await page.goto(`/incidents/${world.cards}`);
  expect(sums(await page.locator('.head .sub').innerText())).toEqual(known);
  const numbers = page.locator('section', { has: page.getByRole('heading', { name: 'Numbers' }) });
  expect(sums(await numbers.locator('dt:text-is("Money waiting") + dd').innerText())).toEqual(known);
  await numbers.getByText('all 1\u00a0000 purchases counted').waitFor();
  const message = world.t.slack.received
    .map(({ text, blocks }) => `${text} ${JSON.stringify(blocks)}`)
    .find((each) => each.includes('shop-dk'))!;
  const field = /Money waiting\*\\n(.*?)"/.exec(message)![1]!;
  expect(sums(field.replaceAll('\\n', '\n'))).toEqual(known);
  await context.close();
});

const sentences = (text: string): string[] => text.match(/[^.!?\n]{25,}[.!?]/g) ?? [];

test('the page has every fact of its own Slack message', async () => {
  const { page, context } = await signedIn(`/incidents/${world.cards}`);
  const shown = (await page.locator('main').innerText()).replaceAll(/[\u00a0\s]+/g, ' ');
  const message = world.t.slack.received.find(({ blocks }) => JSON.stringify(blocks).includes('shop-dk'))!;
  const texts = message.blocks!.flatMap(({ text, fields = [] }) => [
    ...(text === undefined ? [] : [text.text]),
    ...fields.map((each) => each.text),
  ]);
  const all = texts.join('\n');
  // Remedies, causes and reasons word by word.
  const remedies = sentences(all.split('*What to do*').slice(1).join('\n')).filter(
    (each) => !/purchase-watch|Commands|chance/.test(each),
  );
  expect(remedies.length).toBeGreaterThan(2);
  expect(
    remedies.map((each) => each.trim()).filter((each) => !shown.includes(each.replaceAll(/\s+/g, ' ').replace(/^Why: /, ''))),
  ).toEqual([]);
  // And its numbers: customers, the worst, the share since it began, the limit, how rarely chance looks like this.
  for (const fact of [
    '1 000',
    '1 020 at the worst',
    '1 000 of 1 012 customers',
    'usually 1.3 in 100',
    'Stuck after 15 min',
    'once in 5 600 customers',
  ])
    expect(shown).toContain(fact);
  await context.close();
});

const rowsOf = (page: Page) => page.locator('table.people tbody tr');

test('customers: order and amount first, what each is now, and as many as the number says', async () => {
  const { page, context } = await signedIn(`/incidents/${world.cards}`, { viewport: { width: 360, height: 800 } });
  const first = rowsOf(page).first();
  expect((await first.innerText()).split('\n').slice(0, 3).join(' ')).toMatch(/^ORD-1001-dk \w{8}…\w{4} 136\.50\sEUR/);
  expect(await first.innerText()).toMatch(/stuck for\s/);
  expect(await first.locator('.id').getAttribute('title')).toHaveLength(36);
  for (const [word, count] of [
    ['paid late', LEFT.late],
    ['not paid', LEFT.lost],
    ['not decided', LEFT.other],
  ] as const) {
    await page.getByRole('link', { name: `${word} ${count}`, exact: true }).click();
    await page.waitForURL(/outcome=/);
    const more = page.getByRole('link', { name: /^Show / });
    if (await more.isVisible()) await more.click();
    await expect.poll(() => rowsOf(page).count()).toBe(count);
  }
  const ids = await rowsOf(page).evaluateAll((all) => all.map(({ id }) => id));
  expect(new Set(ids).size).toBe(LEFT.other);
  expect(await page.locator('tbody[data-still]').count()).toBe(1);
  await page.getByRole('link', { name: `all ${STUCK + 100}`.replace(/(\d)(\d{3})$/, '$1\u00a0$2') }).waitFor();
  await context.close();
});

test('acknowledged with one tap, the note afterwards; the whole keeps who looks after a part', async () => {
  const { sql } = world.t.database;
  const touch = { viewport: { width: 360, height: 740 }, hasTouch: true };
  const { page, context } = await signedIn(`/incidents/${world.cards}`, touch);
  const acknowledge = page.locator('main button:visible:not([data-pause])').first();
  expect(await acknowledge.innerText()).toBe('Acknowledge');
  expect((await acknowledge.boundingBox())!.y).toBeLessThan(740);
  await acknowledge.tap();
  await page.getByText('acknowledged by API_KEY').waitFor();
  await page.getByRole('status').getByRole('link', { name: 'Add a note for the others' }).tap();
  await page.locator('#note').getByLabel('Note for the others').fill('Taking back deploy 4.2');
  await page.getByRole('button', { name: 'Keep the note' }).tap();
  await page.getByText('Taking back deploy 4.2').waitFor();
  const [row] =
    await sql`select acknowledged_by as by, acknowledged_note as note from purchase_watch_internal.incidents where id = ${world.cards}`;
  expect(row).toEqual({ by: 'API_KEY', note: 'Taking back deploy 4.2' });

  await sql`
    update purchase_watch_internal.incidents set acknowledged_at = now(), acknowledged_by = 'Kim', acknowledged_note = 'bank called'
    where site = 'shop-no' and ended_at is null`;
  await page.goto(`/incidents/${world.sites}`);
  expect(await page.locator('.head .st').innerText()).toMatch(/acknowledged for shop-no alone$/);
  await page.getByText('Acknowledging the whole keeps who looks after shop-no.').waitFor();
  const part = (site: string) => page.locator('table.parts tr', { hasText: site });
  expect(await part('shop-no').innerText()).toMatch(/15 of the latest 20; usually 1\.3 in 100/);
  expect(sums(await part('shop-fi').innerText())).toEqual(['520.50 EUR']);
  await page.getByRole('button', { name: 'Acknowledge' }).tap();
  await page.getByText('acknowledged by API_KEY').waitFor();
  expect(await part('shop-no').innerText()).toMatch(/Kim[\s\S]*bank called/);
  expect(await part('shop-se').innerText()).toContain('API_KEY');
  await context.close();
});

test('the list puts each part below its whole, and ended ones page by page', async () => {
  const { page, context } = await signedIn('/incidents');
  const open = await page
    .locator('section', { has: page.locator('#open') })
    .locator('tbody tr')
    .evaluateAll((all) => all.map((each) => [each.id, each.className]));
  expect(open.map(([, name]) => name)).toEqual(['', '', 'is-part', 'is-part', 'is-part']);
  expect(open.slice(0, 2).map(([id]) => id)).toEqual([`row-${world.cards}`, `row-${world.sites}`]);
  let ended = 0;
  await page.goto('/incidents?status=ended');
  for (;;) {
    ended += await page.locator('tbody tr').count();
    const older = page.getByRole('link', { name: 'Older', exact: true });
    if (!(await older.isVisible())) break;
    const before = page.url();
    await older.click();
    await page.waitForURL((url) => url.href !== before);
  }
  expect(ended).toBe(200);
  await context.close();
});
