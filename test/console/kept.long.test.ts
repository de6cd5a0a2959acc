/** What a person typed outlives the end of the session and of the daemon; names, keys and copies of an open page. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { KEYS, OPERATOR, openPage, openSignedIn, startBrowser } from '../support/browser.ts';
import { startStuckShop } from '../support/stuck-shop.ts';
import type { TestApp } from '../support/test-app.ts';

const SLOWLY = { timeout: 60_000 };
const REASON = 'The bank moves tonight';

let browser: Browser;
let t: TestApp;
let stuck: string;
let running: App;
let origin: string;

beforeAll(async () => {
  browser = await startBrowser();
  ({ t, stuck } = await startStuckShop(KEYS));
  running = t.app;
  origin = running.url()!;
  t.settings.port = Number(new URL(origin).port);
});

afterAll(async () => {
  await running?.stop();
  await t?.stop();
  await browser?.close();
});

const endSessions = () => t.database.sql`delete from purchase_watch_internal.console_sessions`;

/** Opens the silences, and begins to type one. */
async function typeAReason(to = '/silences') {
  const opened = await openSignedIn(browser, { origin, key: OPERATOR, to });
  const { page } = opened;
  await page.getByText('Live, updated').waitFor();
  await page.locator('summary', { hasText: 'Add a silence' }).click();
  await page.getByLabel('Kind').selectOption('replica');
  await page.getByLabel('Reason').fill(REASON);
  await page.getByLabel('Reason').blur();
  return opened;
}

const reason = (page: Page) => page.getByLabel('Reason').inputValue();

test('a session that ends leaves the page and what was typed, and goes on there after the sign-in', {
  timeout: 120_000,
}, async () => {
  const { page, context } = await typeAReason();
  await page.evaluate("document.documentElement.dataset.loaded = 'once'");
  await endSessions();
  await page.getByRole('heading', { name: 'You were signed out at' }).waitFor(SLOWLY);
  await page.getByText('stands still since').waitFor();
  expect(await page.locator('#said').textContent()).toContain('You were signed out');
  expect(await reason(page)).toBe(REASON);
  await page.getByLabel('Key of the API').fill('wrong-key-0123456789abcdef0123456789abcd');
  await page.getByRole('button', { name: 'Sign in, and go on here' }).click();
  await page.getByRole('alert').getByText('not known here').waitFor();
  await page.getByLabel('Key of the API').fill(OPERATOR);
  await page.getByRole('button', { name: 'Sign in, and go on here' }).click();
  await page.getByText('Live, updated').waitFor(SLOWLY);
  expect(await page.getByRole('heading', { name: 'You were signed out at' }).count()).toBe(0);
  expect(await reason(page)).toBe(REASON);
  // The page goes on: what comes is shown, and what was typed still stands.
  await t.database.sql`
    insert into purchase_watch_internal.silences (kind, reason, created_by, starts_at, ends_at)
    values ('stuck', 'Another one', 'Kim', now(), now() + interval '2 h')`;
  await t.watch();
  await page.getByText('Another one').waitFor(SLOWLY);
  expect(await reason(page)).toBe(REASON);
  expect(await page.locator('html').getAttribute('data-loaded')).toBe('once');
  await page.getByRole('button', { name: 'Add the silence' }).click();
  await page.locator('.flash').waitFor();
  await context.close();
});

test('a form that is sent after the session’s end is not lost', { timeout: 120_000 }, async () => {
  const { page, context } = await openSignedIn(browser, { origin, key: OPERATOR, to: '/purchases/register' });
  const lines = page.locator('textarea[name=lines]');
  await lines.fill('2f1c9a7e-51b3-4c0e-9d7a-0e6b4f1d2c11');
  await endSessions();
  const send = page.locator('form', { has: lines }).getByRole('button').first();
  await send.click();
  await page.getByRole('alert').getByText('you are signed out. What you typed is kept.').waitFor();
  expect(await lines.inputValue()).toContain('2f1c9a7e');
  await page.keyboard.type(OPERATOR);
  await page.keyboard.press('Enter');
  await page.locator('.sign-again').waitFor({ state: 'detached' });
  await send.click();
  await page
    .getByText(/1 purchase/)
    .first()
    .waitFor(SLOWLY);
  await context.close();
});

test('a daemon that goes and comes back takes nothing that was typed', { timeout: 180_000 }, async () => {
  const { page, context } = await typeAReason();
  await running.stop();
  await page.getByText('No answer from the daemon since').waitFor(SLOWLY);
  await page.getByRole('button', { name: 'Add the silence' }).click();
  await page.getByRole('alert').getByText('the daemon does not answer. What you typed is kept.').waitFor(SLOWLY);
  running = await t.another();
  await running.start();
  await page.getByText('Live, updated').waitFor(SLOWLY);
  expect(await reason(page)).toBe(REASON);
  await page.getByRole('button', { name: 'Add the silence' }).click();
  await page.locator('.flash').waitFor(SLOWLY);
  await context.close();
});

test('a name is said once, at the sign-in, and stands by what its person does', { timeout: 120_000 }, async () => {
  const { sql } = t.database;
  const { page, context } = await openPage(browser, { origin });
  await page.goto(`/sign-in?to=/incidents/${stuck}`);
  await page.getByLabel('Key of the API').fill(OPERATOR);
  await page.getByLabel('Your name, if you like').fill('  Åsa\tEk ');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('You are Åsa Ek').waitFor();
  await page.getByRole('button', { name: 'Acknowledge' }).click();
  await page.getByText('no more reminders').first().waitFor();
  const [incident] = await sql`select acknowledged_by as by from purchase_watch_internal.incidents where id = ${stuck}`;
  expect(incident).toEqual({ by: 'Åsa Ek' });
  await page.goto('/system/actions');
  expect(
    await page
      .getByRole('row', { name: /acknowledge/ })
      .first()
      .textContent(),
  ).toContain('Åsa Ek');
  // The form is at the foot of the places, which a low window has to scroll.
  await page.setViewportSize({ width: 1280, height: 1_000 });
  await page.getByText('You are Åsa Ek').click();
  const name = page.getByLabel('Your name');
  await name.fill('Åsa B.');
  await name.blur();
  // Pages that follow what happens do so now, without a change to what is open and typed beside them.
  const refreshed = page.waitForResponse((response) => response.url() === page.url());
  await page.evaluate("document.dispatchEvent(new Event('pw:look'))");
  await refreshed;
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))');
  expect(await name.inputValue()).toBe('Åsa B.');
  await page.getByRole('button', { name: 'Keep it' }).click();
  await page.getByText('You are Åsa B.').waitFor();
  expect(page.url()).toBe(`${origin}/system/actions`);
  await page.goto('/system/sessions');
  await page.getByRole('row', { name: /Åsa B\..*this browser/ }).waitFor();
  await page.goto('/silences');
  expect(await page.getByLabel('Who').inputValue()).toBe('Åsa B.');
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL('**/sign-in');
  expect(await page.getByLabel('Your name, if you like').inputValue()).toBe('Åsa B.');
  await context.close();
});

test('keys are switched off for good, and Copy says that it copied', { timeout: 60_000 }, async () => {
  const { page, context, misdeeds } = await openSignedIn(browser, { origin, key: OPERATOR, to: '/purchases/register' });
  await page.goto('/rehearse');
  await page.getByRole('button', { name: 'Copy' }).first().click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.locator('#said').textContent()).toBe('Copied.');
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keys' });
  expect(await dialog.getByRole('button', { name: 'Close' }).evaluate((each) => each.matches(':focus'))).toBe(true);
  await dialog.getByLabel('Keys are on').uncheck();
  await page.keyboard.press('Escape');
  await page.reload();
  for (const key of ['g', 'i', '?']) await page.keyboard.press(key);
  expect(await dialog.isVisible()).toBe(false);
  expect(page.url()).toBe(`${origin}/rehearse`);
  await page.getByRole('link', { name: 'Keys' }).click();
  await dialog.getByLabel('Keys are on').check();
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.waitForURL('**/incidents');
  expect(misdeeds.found).toEqual([]);
  await context.close();
});
