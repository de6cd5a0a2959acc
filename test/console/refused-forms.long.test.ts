/** A form that was refused opens at the field that is wrong: it has the focus, and below it stands why. Also without script. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEYS, OPERATOR, openSignedIn, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let browser: Browser;
let t: TestApp;
beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({ realClock: true, env: { ...KEYS, SECRETS_KEY: 'a key to encrypt with, of many characters' } });
  await t.app.start();
});
afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

/** The field with the focus, its message, and whether both are in sight. */
const AT = `(() => {
  const at = document.activeElement;
  const message = document.getElementById((at.getAttribute('aria-describedby') ?? '').split(' ')[0]);
  const isSeen = (each) => each !== null && each.getBoundingClientRect().top >= 0 && each.getBoundingClientRect().bottom <= innerHeight;
  const isBelow = message !== null && message.getBoundingClientRect().top >= at.getBoundingClientRect().bottom - 1;
  return { name: at.getAttribute('name'), invalid: at.getAttribute('aria-invalid'), says: message?.textContent.trim(), isSeen: isSeen(at) && isSeen(message), isBelow };
})()`;

const FORMS: readonly (readonly [path: string, field: string, says: RegExp, fill: (page: Page) => Promise<void>])[] = [
  [
    '/silences',
    'endsAt',
    /^Until must be at most 30 days ahead/,
    async (page) => {
      await page.locator('summary', { hasText: 'Add a silence' }).click();
      await page.getByLabel('Reason').fill('A move.');
      await page.getByLabel('Until').fill('40d');
      await page.getByLabel('Kind').selectOption('unreachable');
      await page.getByRole('button', { name: 'Add the silence' }).click();
    },
  ],
  [
    '/subscribers',
    'url',
    /^Address must/,
    async (page) => {
      await page.locator('summary', { hasText: 'Add a subscriber' }).click();
      await page.getByRole('main').getByLabel('Name').first().fill('shop');
      await page.getByLabel('Address').fill('nowhere');
      await page.getByRole('button', { name: 'Add the subscriber' }).click();
    },
  ],
  [
    '/subscribers/default',
    'since',
    /^From must be/,
    async (page) => {
      await page.getByLabel('From').fill('yesterday');
      await page.locator('form', { hasText: 'Sends past events again' }).getByRole('button').click();
    },
  ],
  [
    '/purchases/register',
    'metadata',
    /is not JSON/,
    async (page) => {
      await page.getByLabel('Purchase ID', { exact: true }).fill('p-1');
      await page.getByLabel(/^Metadata/).fill('{');
      await page.getByRole('button', { name: 'Register 1 purchase' }).click();
    },
  ],
  [
    '/trends',
    'at',
    /^When must be a time with its zone/,
    async (page) => {
      await page.locator('summary', { hasText: 'Mark a moment' }).click();
      await page.getByRole('textbox', { name: /^Mark/ }).fill('deploy 4.2');
      await page.getByRole('textbox', { name: /^When/ }).fill('yesterday');
      await page.getByRole('button', { name: 'Mark it' }).click();
    },
  ],
  [
    '/rehearse',
    'from',
    /^From must/,
    async (page) => {
      await page.getByLabel('From').fill('yesterday');
      await page.getByRole('button', { name: 'Rehearse' }).click();
    },
  ],
];

test.each(FORMS)('%s opens at the field %s', async (path, field, says, fill) => {
  for (const javaScriptEnabled of [true, false]) {
    const viewport = { width: 360, height: 700 };
    const options = { origin: t.app.url()!, key: OPERATOR, to: path, viewport, javaScriptEnabled };
    const { page, context } = await openSignedIn(browser, options);
    await fill(page);
    await page.locator('[aria-invalid="true"]').first().waitFor();
    await expect
      .poll(() => page.evaluate(AT))
      .toEqual({ name: field, invalid: 'true', says: expect.stringMatching(says), isSeen: true, isBelow: true });
    await context.close();
  }
});

test('a pasted line that can hardly be an id is registered, and named', async () => {
  const options = { origin: t.app.url()!, key: OPERATOR, to: '/purchases/register' };
  const { page, context } = await openSignedIn(browser, options);
  await page.getByLabel(/^One purchase a line/).fill('2f1c9a7e-51b3\nTotal\n3c1c9a7e-51b3\n');
  await page.getByRole('button', { name: 'Register these lines' }).click();
  await page.getByText('1 line may hold no Purchase ID').waitFor();
  expect(await page.getByRole('link', { name: 'Total' }).getAttribute('href')).toBe('/purchases/default/Total');
  await context.close();
});
