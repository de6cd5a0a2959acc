/**
 * One operator's whole journey through the console: sign in, find a purchase, follow it to its incident, look after that, add a
 * subscriber, replay, and lose and regain the daemon with a page open. With script, and with forms alone.
 */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { OPERATOR, openPage, startBrowser } from '../support/browser.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startStuckShop } from '../support/stuck-shop.ts';
import type { TestApp } from '../support/test-app.ts';

/** Whatever the machine is busy with. */
const SLOWLY = { timeout: 60_000 };

let browser: Browser;
let t: TestApp;
/** The daemon that runs now. */
let running: App;
let origin: string;
/** The incident of the customers who are stuck. */
let stuck: string;

beforeAll(async () => {
  browser = await startBrowser();
  ({ t, stuck } = await startStuckShop({ API_KEY: OPERATOR, SECRETS_KEY: 'a key to encrypt with, of many characters' }));
  running = t.app;
  origin = running.url()!;
  // The next daemon answers at the same address.
  t.settings.port = Number(new URL(origin).port);
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

const heading = (page: Page) => page.getByRole('heading', { level: 1 });
const form = (page: Page, button: string | RegExp) => page.locator('form', { has: page.getByRole('button', { name: button }) });
const careOf = async () => {
  const [row] = await t.database.sql<{ by: string | null; cause: string | null; silences: number }[]>`
    select acknowledged_by as by, answer_cause as cause,
      (select count(*)::int from purchase_watch_internal.silences where ends_at > now()) as silences
    from purchase_watch_internal.incidents where id = ${stuck}`;
  return row!;
};

async function signIn(page: Page): Promise<void> {
  await page.goto('/');
  await page.waitForURL('**/sign-in*');
  await page.getByLabel('Key of the API').fill(OPERATOR);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${origin}/`);
}

/** From an order that a customer names to the incident of that customer. */
async function findTheIncident(page: Page): Promise<void> {
  await page
    .locator('.needs > li', { hasText: /5 customers stuck/ })
    .getByText(/500\.50\sSEK/)
    .waitFor();
  await page.getByRole('searchbox', { name: 'Find a purchase' }).fill('ORD-3');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/purchases/default/*');
  expect(await heading(page).textContent()).toMatch(/^Waiting for the card provider .*100\.10\sSEK/);
  await page.getByText('part of').getByRole('link', { name: stuck }).click();
  await page.waitForURL(`${origin}/incidents/${stuck}`);
  expect(await heading(page).textContent()).toContain('5 customers stuck');
  await page.getByText('Likely: The page cannot render itself again').first().waitFor();
  await page.getByText(/A reminder/).waitFor();
  await page.getByRole('img', { name: /got stuck.*it was noticed at/ }).waitFor();
  await page
    .getByText(/500\.50\sSEK/)
    .first()
    .waitFor();
  const customer = page.getByRole('row', { name: /ORD-3/ });
  expect(await customer.textContent()).toMatch(/100\.10\sSEK/);
}

async function lookAfterTheIncident(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Acknowledge' }).click();
  await page.getByRole('status').getByText('no more reminders').waitFor();
  await form(page, 'Keep the note').getByLabel('Note for the others').fill('Taking back the deploy');
  await page.getByRole('button', { name: 'Keep the note' }).click();
  await page.getByRole('definition').getByText('Taking back the deploy').waitFor();
  await page.getByText(/No reminder, because/).waitFor();

  await page.locator('summary', { hasText: 'Silence' }).click();
  const silence = form(page, 'Silence what is chosen');
  await silence.getByLabel('For, or until').fill('soon');
  await silence.getByLabel('Reason').fill('A deploy is taken back');
  await silence.getByRole('button').click();
  await page.getByText(/For, or until must be a time with its zone/).waitFor();
  expect(await silence.getByLabel('Reason').inputValue()).toBe('A deploy is taken back');
  await silence.getByLabel('For, or until').fill('30m');
  await silence.getByRole('button').click();
  await page.getByRole('status').getByText('It is silenced').waitFor();
  await page.getByText(/Nothing while it is silenced/).waitFor();

  await page.locator('summary', { hasText: /^Say / }).click();
  const answer = form(page, 'Keep the answer');
  await answer.getByLabel('Cause').selectOption('deploy');
  await answer.getByLabel('Note').fill('Our policy blocked the form of the bank.');
  await answer.getByRole('button').click();
  await page.getByRole('status').getByText('What it was is kept').waitFor();
  expect(await careOf()).toEqual({ by: 'API_KEY', cause: 'deploy', silences: 1 });

  await page.getByRole('button', { name: /^End sil_/ }).click();
  await page.getByRole('status').getByText('The silence is over').waitFor();
  await page.getByRole('button', { name: 'Release it' }).click();
  await page.getByRole('status').getByText('It is released').waitFor();
  expect(await careOf()).toEqual({ by: null, cause: 'deploy', silences: 0 });
}

async function addASubscriber(page: Page, name: string, books: Receiver): Promise<void> {
  await page.goto('/subscribers');
  await page.locator('#add > summary').click();
  await page.locator('[name=name]').fill(name);
  await page.locator('[name=url]').fill(books.url);
  await page.getByRole('button', { name: 'Add the subscriber' }).click();
  expect(await page.locator('#secret').textContent()).toMatch(/^whsec_/);
  await page.getByRole('button', { name: 'send a test' }).click();
  await lookAgainUntil(page, page.getByText('The test arrived'));
  await books.waitFor((all) => all.some(({ type }) => type === 'subscriber.test'));
}

/** Follows the link of the page without script until the page shows what is waited for. */
async function lookAgainUntil(page: Page, shown: Locator): Promise<void> {
  const again = page.getByRole('link', { name: 'See whether it arrived' });
  await shown.or(again).first().waitFor(SLOWLY);
  while (await again.isVisible()) await again.click();
  await shown.waitFor(SLOWLY);
}

async function replay(page: Page, name: string, books: Receiver): Promise<void> {
  await page.goto(`/subscribers/${name}`);
  const section = page.locator('section', { has: page.locator('#replay') });
  await section.getByLabel('From').fill('yesterday');
  await section.getByRole('button', { name: 'Count first' }).click();
  await page.getByText('must be a time with its zone').waitFor();
  expect(await section.getByLabel('From').inputValue()).toBe('yesterday');
  await section.getByLabel('From').fill('1h');
  await section.getByLabel('Types').selectOption('purchase.stuck');
  await section.getByRole('button', { name: 'Count first' }).click();
  await section.getByRole('button', { name: 'Replay 5 deliveries' }).click();
  await page.getByText('5 deliveries are scheduled to be sent again').waitFor();
  await books.waitFor((all) => all.filter(({ type }) => type === 'purchase.stuck').length === 5);
}

test.each([true, false])(
  'one journey, from an order number to a daemon that comes back (script: %s)',
  async (javaScriptEnabled) => {
    const { page, context, misdeeds } = await openPage(browser, { origin, javaScriptEnabled });
    const name = javaScriptEnabled ? 'books' : 'books-plain';
    await signIn(page);
    await findTheIncident(page);
    await lookAfterTheIncident(page);
    const books = await startReceiver();
    await addASubscriber(page, name, books);
    await replay(page, name, books);
    await books.stop();
    // A refused form is an answer with 400, which the browser prints.
    expect(misdeeds.found.filter((each) => !each.includes('400'))).toEqual([]);

    await page.goto(`/incidents/${stuck}`);
    if (javaScriptEnabled) await page.getByText('Live, updated').waitFor();
    await running.stop();
    if (javaScriptEnabled) await page.getByText('No answer from the daemon since').waitFor(SLOWLY);
    expect(await heading(page).textContent()).toContain('5 customers stuck');
    running = await t.another();
    await running.start();
    if (javaScriptEnabled) await page.getByText('Live, updated').waitFor(SLOWLY);
    // The session outlives the daemon.
    await page.goto('/purchases?q=ORD-5');
    expect(await heading(page).textContent()).toContain('Waiting for the card provider');
    await page.getByRole('button', { name: 'Poll now' }).click();
    await page.getByText('The purchase is polled in a moment.').waitFor();
    await context.close();
  },
);
