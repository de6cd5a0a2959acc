/** The system: versions, findings, keys and settings, and no secret among them. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPage, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const READER = 'reader-key-0123456789abcdef0123456789abc';
const OPERATOR = 'operator-key-0123456789abcdef0123456789';

let browser: Browser;
let t: TestApp;

beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({
    realClock: true,
    env: { API_KEY: OPERATOR, API_READ_KEY: READER },
    change: (settings) => {
      settings.apiKeys = settings.apiKeys.map((key) =>
        key.name === 'API_KEY' ? { ...key, expires: Date.now() + 86_400_000 } : key,
      );
    },
  });
  await t.app.start();
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

test.each([true, false])('shows what runs and what is set, to readers too (script: %s)', async (javaScriptEnabled) => {
  const { page, context, misdeeds } = await openPage(browser, { origin: t.app.url()!, javaScriptEnabled });
  await page.goto('/system');
  await page.getByLabel('Key of the API').fill(READER);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(/\/system$/);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(/^1 replica runs\. 1 finding needs somebody\.$/);
  expect(await page.locator('section[aria-labelledby="findings"]').textContent()).toContain(
    'the key API_KEY of the API expires at',
  );
  expect(await page.locator('section[aria-labelledby="versions"]').textContent()).toContain(process.versions.node);
  expect(await page.getByRole('row', { name: /64 of 64/ }).count()).toBe(1);
  expect(await page.getByRole('row', { name: /^API_READ_KEY read, metrics never/ }).count()).toBe(1);
  expect(await page.getByRole('row', { name: /sites\.default\.maxRps 10000 environment/ }).count()).toBe(1);
  const whole = await page.content();
  for (const secret of ['demo-secret', OPERATOR, READER, 'whsec_', t.slack.url]) expect(whole).not.toContain(secret);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});
