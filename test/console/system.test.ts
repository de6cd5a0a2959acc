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

test.each([true, false])(
  'an operator runs doctor and reads what to do; a reader cannot (script: %s)',
  async (javaScriptEnabled) => {
    const origin = t.app.url()!;
    const { page, context, misdeeds } = await openPage(browser, { origin, javaScriptEnabled });
    await page.goto('/system');
    await page.getByLabel('Key of the API').fill(OPERATOR);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const panel = page.locator('section[aria-labelledby="doctor"]');
    const tests = () => t.receiver.received.filter(({ type }) => type === 'subscriber.test').length;
    const before = tests();
    await panel.getByRole('button', { name: 'Run doctor' }).click();
    await panel.getByText('site default').first().waitFor();
    // The database of the tests is in a hurry, and the API of the tests has a port of its own.
    expect(await panel.textContent()).toMatch(/0 checks failed.*every shard has an owner.*the credentials are accepted/s);
    expect(tests()).toBe(before);
    t.receiver.respondAlways({ status: 503, body: '<b>away</b>' });
    await panel.getByLabel('send receivers a signed event').check();
    await panel.getByRole('button', { name: 'Run doctor again' }).click();
    await panel.getByText('1 check failed').waitFor();
    expect((await panel.getByRole('listitem').first().textContent())!.replace(/\s+/g, ' ')).toMatch(
      /failed receiver default: did not take a signed test event: The receiver answered 503.*mend the receiver/,
    );
    t.receiver.respondAlways({ status: 200, body: 'ok' });
    expect(tests()).toBe(before + 1);
    const whole = await page.content();
    for (const secret of ['demo-secret', OPERATOR, READER, 'whsec_', t.slack.url]) expect(whole).not.toContain(secret);
    expect(misdeeds.found).toEqual([]);
    await context.close();
  },
);

test('programs run doctor with a key that may operate, and with no other', async () => {
  const ask = (key: string, body: unknown) =>
    fetch(`${t.app.url()}/v1/doctor`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect((await ask(READER, {})).status).toBe(403);
  expect((await ask(OPERATOR, { send: 'yes' })).status).toBe(400);
  const [one, other] = await Promise.all([ask(OPERATOR, { send: false }), ask(OPERATOR, { send: false })]);
  const found = (await one.json()) as { ok: boolean; findings: { about: string; todo: string | null }[] };
  expect(found.ok).toBe(true);
  expect(found.findings.map(({ about }) => about)).toEqual(
    expect.arrayContaining(['settings', 'database', 'daemons', 'api', 'site default']),
  );
  // Two at the same time are one run.
  expect(await other.json()).toEqual(found);
  const { page, context } = await openPage(browser, { origin: t.app.url()!, javaScriptEnabled: false });
  await page.goto('/system');
  await page.getByLabel('Key of the API').fill(READER);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('only a key with the scope operate runs it').waitFor();
  expect(await page.getByRole('button', { name: 'Run doctor' }).count()).toBe(0);
  await context.close();
});
