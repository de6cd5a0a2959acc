/** Subscribers, deliveries and channels in a real browser: what operators do with them, and what they must never see. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OPERATOR, openSignedIn, READER, startBrowser } from '../support/browser.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { SLACK_ANSWERS } from '../support/slack-stand-in.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const HOSTILE = `<img src=x onerror="document.title='taken'"><b>bold</b> & \u202eesrever ${'long '.repeat(800)}`;

let browser: Browser;
let t: TestApp;
let origin: string;
let receiver: Receiver;

beforeAll(async () => {
  browser = await startBrowser();
  const keys = { API_KEY: OPERATOR, API_READ_KEY: READER, SECRETS_KEY: 'a key to encrypt with, of many characters' };
  t = await startTestApp({ realClock: true, env: keys });
  await t.app.start();
  origin = t.app.url()!;
  receiver = await startReceiver();
});

afterAll(async () => {
  await t?.stop();
  await receiver?.stop();
  await browser?.close();
});

/** The page of subscribers of a person who has signed in; the caller closes its context. */
const signedIn = (key = OPERATOR, options: { javaScriptEnabled?: boolean } = {}) =>
  openSignedIn(browser, { origin, key, to: '/subscribers', ...options });

const api = (method: string, path: string, json?: unknown) =>
  fetch(origin + path, {
    method,
    headers: { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
const bodyOf = async (path: string): Promise<any> => (await api('GET', path)).json();
const addByApi = (name: string) => api('POST', '/v1/subscribers', { name, url: receiver.url });
const says = (page: Page): Promise<string | null> => page.locator('h1').textContent();

/** Fails so often that it is paused. */
async function pause(name: string): Promise<void> {
  for (let failed = 0; failed < 4; failed++) await api('POST', `/v1/subscribers/${name}/test?wait=20s`);
  await expect.poll(async () => (await bodyOf(`/v1/subscribers/${name}`)).health.status).toBe('paused');
}

test('a subscriber is added, its secret is shown once, and its test arrives', async () => {
  const { page, context, misdeeds } = await signedIn();
  const name = 'shop';
  await page.locator('#add > summary').click();
  await page.locator('[name=name]').fill('Shop!');
  await page.locator('[name=url]').fill(receiver.url);
  await page.getByLabel('purchase.stuck').check();
  await page.getByRole('button', { name: 'Add the subscriber' }).click();
  await page.getByText('must be up to 63 small letters').first().waitFor();
  expect(await page.locator('[name=url]').inputValue()).toBe(receiver.url);
  expect(await page.getByLabel('purchase.stuck').isChecked()).toBe(true);
  await page.locator('[name=name]').fill(name);
  await page.getByLabel('subscriber.test').check();
  await page.getByText('States, format, headers and more').click();
  await page.getByLabel('Headers, one a line').fill('x-shop-token: very-secret-value');
  await page.getByRole('button', { name: 'Add the subscriber' }).click();
  const secret = (await page.locator('#secret').textContent())!;
  expect(secret).toMatch(/^whsec_/);
  expect(page.url()).not.toContain(secret);
  await page.getByRole('button', { name: 'send a test' }).click();
  await page.getByText('The test arrived').waitFor();
  const [arrived] = await receiver.waitFor((all) => all.some(({ type }) => type === 'subscriber.test'));
  expect(arrived!.headers['x-shop-token']).toBe('very-secret-value');
  expect(await page.locator('#what').locator('..').locator('..').textContent()).toMatch(/purchase\.stuck, subscriber\.test/);
  for (const path of ['/subscribers', `/subscribers/${name}`, '/deliveries']) {
    await page.goto(path);
    const shown = await page.content();
    expect(shown).not.toContain(secret);
    expect(shown).not.toContain('very-secret-value');
  }
  expect(t.log.join('')).not.toContain(secret);
  expect(t.log.join('')).not.toContain('very-secret-value');
  const rows = await t.database.sql`select s::text as row from purchase_watch_internal.subscribers s`;
  expect(JSON.stringify(rows)).not.toContain(secret.slice(6));
  // The refused form is an answer with 400, which the browser prints.
  expect(misdeeds.found.filter((each) => !each.includes('400'))).toEqual([]);
  await context.close();
});

test('a receiver that fails is seen as paused in words, its answer as text, and is resumed', async () => {
  await addByApi('books');
  receiver.respondAlways({ status: 503, body: HOSTILE });
  await pause('books');
  const { page, context, misdeeds } = await signedIn();
  expect(await says(page)).toContain('books is paused');
  await page.getByRole('link', { name: 'books', exact: true }).click();
  await page.waitForURL('**/subscribers/books');
  expect(await says(page)).toMatch(/books takes nothing after 4 failures in a row: the receiver answered 503\./);
  expect(await page.locator('.ladder [aria-current]').textContent()).toContain('4: 1');
  expect(await page.locator('main img, main b:text("bold")').count()).toBe(0);
  expect(await page.locator('.answer').first().textContent()).toContain('<img src=x');
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('The test did not arrive yet').waitFor();
  await page
    .getByRole('navigation', { name: 'Status' })
    .getByRole('link', { name: /parked/ })
    .click();
  await page.waitForURL('**/subscribers/books?status=parked*');
  await page.getByRole('link', { name: /^dlv_/ }).last().click();
  await page.waitForURL('**/deliveries/dlv_*');
  expect(await says(page)).toMatch(/dlv_\d+ is parked until books gets events again/);
  expect(await page.getByLabel('The event as JSON').textContent()).toContain('"type": "subscriber.test"');
  expect(await page.title()).toMatch(/^Delivery dlv_/);
  receiver.respondAlways({ status: 200, body: 'ok' });
  await page.goto('/subscribers/books');
  await page.getByRole('button', { name: 'Resume now' }).click();
  await page.getByText('The pause of books is over').waitFor();
  // The page is live: it says by itself that everything was taken.
  await page.getByRole('heading', { name: 'books takes what it is sent. Nothing waits.' }).waitFor({ timeout: 60_000 });
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('what was given up is counted and retried, and a single delivery is sent again', async () => {
  await addByApi('given');
  await api('POST', '/v1/subscribers/given/test?wait=20s');
  const [{ id }] = (await bodyOf('/v1/deliveries?subscriber=given')).data;
  await t.database.sql`
    update purchase_watch_internal.deliveries set status = 'exhausted', settled_at = now(), attempts = 1, took_ms = null where id = ${Number(id.slice(4))}`;
  const { page, context } = await signedIn();
  await page.goto('/subscribers/given');
  const retry = page.locator('section', { has: page.locator('#retry') });
  await retry.getByRole('button', { name: 'Count first' }).click();
  await retry.getByRole('button', { name: 'Retry 1 delivery' }).click();
  await page.getByText('1 delivery is scheduled to be sent again').waitFor();
  await expect.poll(async () => (await bodyOf(`/v1/deliveries/${id}`)).status).toBe('delivered');
  const before = receiver.received.length;
  await page.goto(`/deliveries/${id}`);
  await page.getByRole('button', { name: 'Send this 1 delivery again' }).click();
  await page.getByText(`${id} was made due now`).waitFor();
  await receiver.waitFor((all) => all.length > before);
  await context.close();
});

test('a secret is replaced, and a subscriber is switched off, on again, and removed', async () => {
  await addByApi('rotated');
  const { page, context } = await signedIn();
  await page.goto('/subscribers/rotated');
  await page.getByText('Rotate the secret').click();
  await page.getByLabel('Overlap').fill('90d');
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  await page.getByText('30d at most').first().waitFor();
  await page.getByLabel('Overlap').fill('1h');
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  expect(await page.locator('#secret').textContent()).toMatch(/^whsec_/);
  expect(await page.locator('main').textContent()).toContain('The old secret signs, too, until');
  await page.goto('/subscribers/rotated');
  await page.getByText('Switch off', { exact: true }).click();
  await page.getByRole('button', { name: 'Switch off rotated' }).click();
  await page.getByRole('heading', { name: /rotated is off: it was switched off by hand\./ }).waitFor();
  await page.getByRole('button', { name: 'Switch on' }).click();
  await page.getByText('rotated is switched on').waitFor();
  await page.getByText('Remove', { exact: true }).click();
  await page.getByRole('button', { name: 'Remove rotated' }).click();
  await page.getByText('The subscriber was removed').waitFor();
  expect((await api('GET', '/v1/subscribers/rotated')).status).toBe(404);
  await context.close();
});

test.each([true, false])(
  'a subscriber is edited, and what waits goes to the new address (script: %s)',
  async (javaScriptEnabled) => {
    const name = javaScriptEnabled ? 'edited' : 'edited-plain';
    const other = await startReceiver();
    const dead = await startReceiver();
    dead.respondAlways({ status: 503, body: 'no' });
    await api('POST', '/v1/subscribers', {
      ...{ name, url: dead.url, headers: { 'x-token': 'first-value' }, types: ['subscriber.test', 'purchase.stuck'] },
    });
    await api('POST', `/v1/subscribers/${name}/test?wait=20s`);
    const { page, context, misdeeds } = await signedIn(OPERATOR, { javaScriptEnabled });
    await page.goto(`/subscribers/${name}`);
    const edit = page.locator('#edit');
    await edit.locator('> summary').click();
    expect(await edit.locator('.confirm').textContent()).toMatch(/1.delivery waits\. What waits goes to the new address/);
    expect(await edit.getByLabel('purchase.stuck').isChecked()).toBe(true);
    await edit.getByRole('button', { name: `Change ${name}` }).click();
    await page.getByText(`Nothing of ${name} was changed`).waitFor();
    await edit.locator('> summary').click();
    await edit.getByLabel('Another address').fill('ftp://nowhere');
    await edit.getByLabel('What it is for').fill('<b>Books</b>');
    await edit.getByRole('button', { name: `Change ${name}` }).click();
    await edit.getByText('Another address must be').waitFor();
    expect(await edit.getByLabel('What it is for').inputValue()).toBe('<b>Books</b>');
    await edit.getByLabel('Another address').fill(other.url);
    await edit.getByRole('button', { name: `Change ${name}` }).click();
    await edit.getByText('another origin does not get their stored values').waitFor();
    expect(other.received).toEqual([]);
    await edit.getByLabel('purchase.stuck').uncheck();
    await edit.getByLabel('purchase.recovered').check();
    await edit.getByLabel('Format').selectOption('cloudevents');
    await edit.getByLabel('Other headers').fill('x-token: second-value');
    await edit.getByRole('button', { name: `Change ${name}` }).click();
    await page.getByText(`${name} is changed`).waitFor();
    const [arrived] = await other.waitFor((all) => all.length > 0);
    expect([arrived!.headers['x-token'], arrived!.headers['content-type']]).toEqual([
      'second-value',
      expect.stringContaining('application/cloudevents+json'),
    ]);
    expect(await bodyOf(`/v1/subscribers/${name}`)).toMatchObject({
      ...{
        types: ['purchase.recovered', 'subscriber.test'],
        format: 'cloudevents',
        description: '<b>Books</b>',
        headers: ['x-token'],
      },
    });
    expect(await page.content()).not.toContain('second-value');
    await edit.locator('> summary').click();
    await edit.getByLabel('take its headers away').check();
    await edit.getByRole('button', { name: `Change ${name}` }).click();
    await page.getByText(`${name} is changed`).waitFor();
    expect(await bodyOf(`/v1/subscribers/${name}`)).toMatchObject({ headers: [], format: 'cloudevents', states: null });
    expect(misdeeds.found.filter((each) => !/40[09]/.test(each))).toEqual([]);
    await Promise.all([context.close(), other.stop(), dead.stop()]);
  },
);

test('one that the settings name is changed there; a channel has its page elsewhere', async () => {
  const { page, context } = await signedIn();
  await page.goto('/subscribers/default');
  await page.getByText('The settings name default, so it cannot be edited here').waitFor();
  expect(await page.locator('#edit').count()).toBe(0);
  expect(await page.getByText('Rotate the secret').count()).toBe(0);
  await page.goto('/subscribers/@slack');
  await page.waitForURL('**/channels#channel-slack');
  await context.close();
});

test('deliveries are found by status, subscriber and purchase; a wrong filter says so', async () => {
  const id = await t.watch({ script: [{ state: 'Completed' }] });
  await expect.poll(() => t.changesOf(id).length).toBe(1);
  const { page, context } = await signedIn(READER, { javaScriptEnabled: false });
  await page.goto('/deliveries');
  await page.getByRole('textbox', { name: 'Purchase' }).fill(id);
  await page.getByLabel('To').selectOption('default');
  await page.getByRole('button', { name: 'Show' }).click();
  expect(await page.locator('tbody tr').count()).toBe(1);
  await page.goto('/deliveries?event=nothing');
  expect(await page.getByRole('alert').textContent()).toContain('must be the id of an event');
  await page.goto('/deliveries?subscriber=default&status=exhausted');
  await page.getByText('No delivery has this subscriber, status.').waitFor();
  await context.close();
});

test('a channel shows what it gets, and is sent its test messages', async () => {
  const { page, context, misdeeds } = await signedIn();
  await page.goto('/channels');
  expect(await says(page)).toBe('@slack takes alerts.');
  await page.getByText('warnings and critical ones').waitFor();
  expect(await page.locator('#example-slack-1').textContent()).toContain('This is a TEST');
  expect(await page.content()).not.toContain('a-secret-path');
  await page.getByRole('button', { name: 'Send 3 test messages to @slack' }).click();
  await page.getByText('@slack took 3 messages').waitFor({ timeout: 30_000 });
  expect(t.slack.received).toHaveLength(3);
  t.slack.respond(SLACK_ANSWERS.noService);
  await page.getByRole('button', { name: 'Send 3 test messages to @slack' }).click();
  await page.getByText('It took 0 messages:').waitFor({ timeout: 30_000 });
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('who may only read has no buttons, and the forms are refused', async () => {
  await addByApi('read-only');
  const { page, context } = await signedIn(READER);
  for (const [path, word] of [
    ['/subscribers', 'can add subscribers'],
    ['/subscribers/read-only', 'can send tests, resume'],
    ['/channels', 'can send test messages'],
  ] as const) {
    await page.goto(path);
    await page.getByText(word).waitFor();
    expect(await page.locator('main form[method=post]:not([action$="/zone"])').count()).toBe(0);
  }
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  const headers = { cookie, 'sec-fetch-site': 'same-origin' };
  const refused = await fetch(`${origin}/subscribers/read-only/remove`, {
    method: 'POST',
    headers,
    body: new URLSearchParams(),
    redirect: 'manual',
  });
  expect(refused.status).toBe(403);
  expect((await api('GET', '/v1/subscribers/read-only')).status).toBe(200);
  await context.close();
});
