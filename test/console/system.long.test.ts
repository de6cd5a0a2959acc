/** The system: versions, findings, keys and settings, and no secret among them; settings that are tried on a past time. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isoTime } from '../../src/domain/values/time.ts';
import { runCommand } from '../cli/run.ts';
import { brokenPage } from '../support/broken-page.ts';
import { openPage, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const READER = 'reader-key-0123456789abcdef0123456789abc';
const OPERATOR = 'operator-key-0123456789abcdef0123456789';

const HOUR = 3_600_000;
/** A day before now, on the hour: when the records of a broken page begin. */
const T = Math.floor(Date.now() / HOUR) * HOUR - 24 * HOUR;
const SPAN = { from: isoTime(T), to: isoTime(T + 4 * HOUR) };
const HOSTILE = '<img src=x onerror=alert(1)>\u202e';

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
  await brokenPage(t.database.sql, T, 'default');
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
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(
    /^1 replica runs\. The key API_KEY of the API expires in \d+.d\./,
  );
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

/** A page of somebody who may only read. */
async function signedIn(to: string, javaScriptEnabled = true) {
  const opened = await openPage(browser, { origin: t.app.url()!, javaScriptEnabled });
  await opened.page.goto(`/sign-in?to=${encodeURIComponent(to)}`);
  await opened.page.getByLabel('Key of the API').fill(READER);
  await opened.page.getByRole('button', { name: 'Sign in' }).click();
  await opened.page.waitForURL(t.app.url()! + to);
  return opened;
}

test.each([true, false])(
  'a reader tries another limit, and the address holds what is tried (script: %s)',
  async (javaScriptEnabled) => {
    const { page, context, misdeeds } = await signedIn('/incidents', javaScriptEnabled);
    await page.getByRole('link', { name: 'What would another limit have alerted of?' }).click();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Which alerts would other settings have sent?');
    expect(await page.locator('#example').textContent()).toContain(`curl ${t.app.url()}/v1/rehearsals`);
    expect(await page.getByLabel('WaitingForCardPayments').inputValue()).toBe('15m');
    await page.getByLabel('From').fill(SPAN.from);
    await page.getByLabel('Up to').fill(SPAN.to);
    await page.getByLabel('WaitingForCardPayments').fill('5 minutes');
    await page.getByRole('button', { name: 'Rehearse' }).click();
    await page.getByText(/must be a duration such as/).waitFor();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Nothing was rehearsed');
    await page.getByLabel('WaitingForCardPayments').fill('5m');
    await page.getByRole('button', { name: 'Rehearse' }).click();
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
    const asked = { ...SPAN, 'settings.states.WaitingForCardPayments.stuckAfter': '5m' };
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual(asked);

    const response = await fetch(`${t.app.url()}/v1/rehearsals`, {
      method: 'POST',
      headers: { authorization: `Bearer ${READER}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...SPAN, settings: { states: { WaitingForCardPayments: { stuckAfter: '5m' } } } }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: a body as it came
    const body = (await response.json()) as any;
    const text = async (selector: string) =>
      ((await page.locator(selector).first().textContent()) ?? '').replaceAll('\u00a0', ' ');
    expect(await text('h1')).toBe(body.summary);
    expect(body.summary).toMatch(/instead of \d+ in these 4 h, the incident that both find 10 min earlier\.$/);
    const { rehearsed, present, really } = body;
    const row = (name: string) => text(`section[aria-labelledby="numbers"] tr:has(th:text-is("${name}"))`);
    expect(await row('Alerts')).toBe(`Alerts${rehearsed.messages}${present.messages}${really.messages}`);
    expect(await row('Purchases found stuck')).toBe(
      `Purchases found stuck${rehearsed.overdue}${present.overdue}${really.overdue}`,
    );
    expect(await text('section[aria-labelledby="messages"] tbody tr')).toContain(rehearsed.said[0].headline);
    const wide = page.locator('section[aria-labelledby="timeline"] .only-wide svg[role=img]');
    expect(await wide.locator('rect.r-bar').count()).toBe(rehearsed.timeline.length + present.timeline.length);
    expect(await wide.locator('circle, .r-end, .d-stuck').count()).toBe(rehearsed.messages + present.messages + really.messages);
    expect(await wide.getAttribute('aria-label')).toContain(
      `Changed settings: ${rehearsed.messages} alerts, 1 incident. Present settings:`,
    );
    await page.getByText('The incidents as a table').click();
    expect(await page.getByRole('row', { name: /default, waiting for the card provider Changed settings/ }).count()).toBe(1);
    await page.getByLabel('Before the session of a stuck purchase ends').fill('20m');
    await page.getByRole('button', { name: 'Rehearse' }).click();
    await page.getByRole('rowheader', { name: 'Announced as at risk' }).waitFor();
    expect(new URL(page.url()).searchParams.get('settings.polling.atRisk.before')).toBe('20m');
    expect(misdeeds.found.filter((each) => !each.includes('400'))).toEqual([]);
    await context.close();

    const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
    const [own, file] = [join(folder, 'own.yaml'), join(folder, 'new.yaml')];
    writeFileSync(own, 'slack: { stuck: incidents }');
    writeFileSync(file, 'slack: { stuck: incidents }\nstates: { WaitingForCardPayments: { stuckAfter: 5m } }');
    const env = { DATABASE_URL: t.database.url, SLACK_WEBHOOK_URL: t.slack.url, PURCHASE_WATCH_CONFIG: own };
    const { stdout } = await runCommand(['rehearse', '--from', SPAN.from, '--to', SPAN.to, '--config', file, '--json'], env);
    rmSync(folder, { recursive: true });
    expect(JSON.parse(stdout)).toMatchObject({ rehearsed, present, really, summary: body.summary });
  },
);

test('what an address holds stays text, and a time that is too long is refused', async () => {
  const { page, context, misdeeds } = await signedIn('/rehearse');
  const query = new URLSearchParams({ from: HOSTILE, site: HOSTILE, 'settings.slack.quietFor': HOSTILE, other: HOSTILE });
  expect((await page.goto(`/rehearse?${query.toString()}`))!.status()).toBe(400);
  expect(await page.locator('main img').count()).toBe(0);
  expect(await page.getByLabel('From').inputValue()).toBe(HOSTILE);
  expect(new URL(page.url()).searchParams.has('other')).toBe(false);
  expect((await page.goto('/rehearse?from=90d'))!.status()).toBe(400);
  await page.getByText(/From is more than 31d before the end of the time/).waitFor();
  expect(misdeeds.found.filter((each) => !each.includes('400'))).toEqual([]);
  await context.close();
});
