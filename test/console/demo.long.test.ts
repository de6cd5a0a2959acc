/** The demo in a browser: what its switches break and mend, what follows, and that all of it holds while the daemon is dead. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe, { type AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { OverviewBody } from '../../src/api/overview/overview.ts';
import { stateWords } from '../../src/domain/purchases/states.ts';
import { machineKey } from '../../src/runtime/secrets/kept-key.ts';
import { openPage, startBrowser } from '../support/browser.ts';
import { quickStart } from '../support/daemon.ts';

const BIN = fileURLToPath(new URL('../../bin/purchase-watch.mjs', import.meta.url));
const DATA_DIR = mkdtempSync(join(tmpdir(), 'purchase-watch-demo-console-'));
// When the tests run as root, the server's user must be able to enter.
chmodSync(DATA_DIR, 0o755);
const WITHIN = { timeout: 180_000, interval: 500 };

let browser: Browser;
let demo: ChildProcess;
let text = '';
let origin: string;
/** What a browser and a program of the person at the terminal send. */
let cookie: string;
let authorization: string;
let control: string;

beforeAll(async () => {
  browser = await startBrowser();
  demo = spawn(process.execPath, [BIN, 'demo'], { env: { DATA_DIR, ...quickStart() }, stdio: ['ignore', 'pipe', 'inherit'] });
  demo.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await vi.waitFor(() => expect(text).toContain('1  Customers shop'), WITHIN);
  const link = /Open (http:\S+) in a browser/.exec(text)![1]!;
  ({ origin } = new URL(link));
  const opened = await fetch(link, { redirect: 'manual' });
  cookie = opened.headers.getSetCookie()[0]!.split(';')[0]!;
  authorization = `Bearer ${machineKey(join(DATA_DIR, 'demo'))}`;
  control = /controls: (\S+)/.exec(text)![1]!;
});

afterAll(async () => {
  await browser?.close();
  const ended = once(demo, 'exit');
  demo.kill('SIGTERM');
  await ended;
  rmSync(DATA_DIR, { recursive: true, force: true });
});

// A test that failed leaves switches pressed, which the next test would find so.
afterEach(async () => {
  for (const name of ['card', 'identity', 'slow', 'throttle', 'refuse', 'daemon', 'receiver']) {
    await fetch(`${origin}/demo/switch`, {
      ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams({ turn: `${name}:off` }) },
      headers: { origin, 'sec-fetch-site': 'same-origin' },
    });
  }
}, 120_000);

const overview = async (): Promise<OverviewBody> =>
  (await (await fetch(`${origin}/v1/overview`, { headers: { authorization } })).json()) as OverviewBody;
const shop = async () => (await overview()).subscribers.find(({ name }) => name === 'shop')!;
const settings = async () => (await (await fetch(`${control}/settings`)).json()) as Settings;

interface Settings {
  readonly latency: number;
  readonly faults: readonly { readonly kind: string }[];
  readonly brokenPages: readonly { readonly site: string; readonly state: string }[];
}

/** A page of the browser that the link signed in. */
async function openInDemo(...[opener, options]: Parameters<typeof openPage>): ReturnType<typeof openPage> {
  const opened = await openPage(opener, options);
  const [name, value] = cookie.split('=') as [string, string];
  await opened.context.addCookies([{ name, value, url: origin }]);
  return opened;
}

/** Presses a switch, or releases it, and waits until the button says so. */
async function turn(page: Page, word: string, isOn: boolean): Promise<void> {
  const toggle = page.getByRole('button', { name: word, exact: true });
  expect(await toggle.getAttribute('aria-pressed')).toBe(String(!isOn));
  await toggle.click();
  await page.getByRole('button', { name: word, exact: true, pressed: isOn }).waitFor(WITHIN);
}
/** Waits for what follows a switch, as the bar says of each step once it has happened. */
const happened = (page: Page, words: RegExp) =>
  page.locator('#demo-steps li.done').filter({ hasText: words }).first().waitFor(WITHIN);
/** Opens another page of one that may just load itself again, which ends what it was about to open. */
const visit = (page: Page, path: string) => vi.waitFor(() => page.goto(path), WITHIN);
const lead = (page: Page) => page.locator('#demo-lead').textContent();

test('in the first minute Trends, Then and the aftermath of an incident show the two weeks that the demo made up', {
  timeout: 300_000,
}, async () => {
  const { page, context, misdeeds } = await openInDemo(browser, { origin });
  const say = page.getByRole('heading', { level: 1 });
  const comes = (path: string, words: RegExp) =>
    vi.waitFor(async () => {
      await page.goto(path);
      expect(await say.textContent()).toMatch(words);
    }, WITHIN);
  await comes('/trends', /paid.*waiting for a Finnish bank/);
  await comes('/incidents/inc_seeded/aftermath', /^demo-se: \d+ of \d+ customers who got stuck/);
  const worst = new Date(new Date().setUTCHours(19, 0, 0, 0) - 2 * 86_400_000);
  await comes(`/?at=${worst.toISOString()}`, /demo-se: \d+ customers were stuck/);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('a switch ends the story of the terminal', { timeout: 300_000 }, async () => {
  const { page, context } = await openInDemo(browser, { origin });
  await page.goto('/');
  expect(await lead(page)).toContain('A story runs in the terminal');
  await turn(page, 'Slow', true);
  await vi.waitFor(() => expect(text).toContain('the story ends here'), WITHIN);
  await turn(page, 'Slow', false);
  await vi.waitFor(() => expect(text).toContain('Calm traffic goes on'), WITHIN);
  expect(text).not.toContain('6  What you saw');
  await context.close();
});

test.each([
  ['card', 'WaitingForCardPayments'],
  ['identity', 'WaitingForIdentityProvider'],
])(
  'the %s page breaks and is mended: the incident, and what Slack got, stand on the open page',
  { timeout: 400_000 },
  async (name, state) => {
    const { page, context, misdeeds } = await openInDemo(browser, { origin });
    const watched = await context.newPage();
    await watched.goto('/');
    await page.goto('/incidents');
    await turn(page, `Break ${name} page`, true);
    expect(new URL(page.url()).pathname).toBe('/incidents');
    expect((await settings()).brokenPages).toEqual([{ site: 'demo-se', state }]);
    expect(await lead(page)).toMatch(
      new RegExp(`At [0-9:]+ you pressed Break ${name} page: the ${name} page of demo-se is broken`),
    );
    // Nobody touches this page: it is kept up to date.
    await watched
      .locator('[id^=row-incident-]')
      .getByText(new RegExp(`stuck ${stateWords(state)}`))
      .first()
      .waitFor(WITHIN);
    await happened(watched, /the incident opens/);
    await happened(watched, /Slack gets one message/);
    await watched
      .locator('#demo-slack')
      .getByText(/demo-se: .*stuck/)
      .first()
      .waitFor(WITHIN);
    await turn(page, `Break ${name} page`, false);
    expect((await settings()).brokenPages).toEqual([]);
    await happened(watched, /come back and pay/);
    await happened(watched, /the incident ends/);
    await happened(watched, /the message that it is over/);
    await watched.locator('[id^=row-incident-], [id^=row-ending-]').waitFor({ ...WITHIN, state: 'detached' });
    await watched
      .locator('#demo-slack')
      .getByText(/no longer stuck/)
      .first()
      .waitFor(WITHIN);
    expect(misdeeds.found).toEqual([]);
    await context.close();
  },
);

test('the service is slow, throttles and refuses, one fault at a time; customers are not called stuck for it', {
  timeout: 400_000,
}, async () => {
  const { page, context, misdeeds } = await openInDemo(browser, { origin });
  await page.goto('/');
  const kinds = async () => (await settings()).faults.map(({ kind }) => kind);
  await turn(page, 'Slow', true);
  expect((await settings()).latency).toBe(3_000);
  await happened(page, /recorded and delivered all the same/);
  await turn(page, 'Slow', false);
  expect((await settings()).latency).toBe(0);
  await turn(page, 'Throttle', true);
  expect(await kinds()).toEqual(['429-seconds']);
  await vi.waitFor(async () => expect((await overview()).polling.perMinute.last5Minutes.failedPolls).toBeGreaterThan(0), WITHIN);
  await turn(page, 'Refuse', true);
  expect(await kinds()).toEqual(['503']);
  await page.getByRole('button', { name: 'Throttle', pressed: false }).waitFor(WITHIN);
  await happened(page, /an incident opens/);
  await page
    .getByRole('heading', { level: 1 })
    .getByText(/No purchase of .* can be read/)
    .waitFor(WITHIN);
  expect((await overview()).purchases.stuck).toBe(0);
  await turn(page, 'Refuse', false);
  expect(await kinds()).toEqual([]);
  await happened(page, /a probe is answered/);
  await happened(page, /the incident ends/);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('the daemon is killed and started with a page open: both say so and go on by themselves', { timeout: 300_000 }, async () => {
  const { page, context } = await openInDemo(browser, { origin });
  const later = await context.newPage();
  await page.goto('/');
  await page.getByText(/^Live, updated/).waitFor();
  await turn(page, 'Daemon', true);
  await page.getByText(/^No answer from the daemon since/).waitFor(WITHIN);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).not.toContain('does not run');
  // Who comes now gets a page in its place, which gives way to the page that was asked for.
  expect((await later.goto('/sites'))!.status()).toBe(503);
  await later.getByRole('heading', { name: 'The daemon does not run' }).waitFor();
  await later.getByText('wait: no daemon answers').waitFor(WITHIN);
  await turn(page, 'Daemon', false);
  await happened(page, /and is delivered/);
  await page.getByText(/^Live, updated/).waitFor(WITHIN);
  await later.getByRole('heading', { name: 'sites answer' }).waitFor(WITHIN);
  await context.close();
});

test('the receiver is dead for a while: it catches up in order and without a gap, and audit finds all whole', {
  timeout: 400_000,
}, async () => {
  const { page, context, misdeeds } = await openInDemo(browser, { origin });
  await page.goto('/');
  await turn(page, 'Receiver', true);
  await happened(page, /the shop is paused/);
  await vi.waitFor(async () => expect((await shop()).waiting.parked).toBeGreaterThan(20), WITHIN);
  await page.locator('#demo-shop').getByText('audit: whole').waitFor(WITHIN);
  await turn(page, 'Receiver', false);
  await page.locator('#demo-shop').getByRole('link', { name: 'resume it now' }).click();
  await page.waitForURL('**/subscribers/shop');
  await page.getByRole('button', { name: 'Resume now' }).click();
  await happened(page, /all that waited arrives, in order/);
  // The shop itself counts what came out of order or is missing.
  await page.locator('#demo-shop').getByText('arrived, all in order, without a gap').waitFor(WITHIN);
  await page
    .locator('#demo-shop')
    .getByText(/^[0-9\s]+events, 0 gaps, looked at/)
    .waitFor(WITHIN);
  expect(await inOrder()).toEqual([]);
  const audit = spawn(process.execPath, [BIN, 'audit'], {
    env: { DATA_DIR: join(DATA_DIR, 'demo'), ...quickStart() },
    stdio: 'inherit',
  });
  expect(await once(audit, 'exit')).toEqual([0, null]);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

/** Purchases whose deliveries to the shop were taken in another order than that of their events, by the daemon's own record. */
async function inOrder(): Promise<string[]> {
  interface Delivered {
    readonly purchaseId: string | null;
    readonly sequence: number | null;
    readonly settledAt: string | null;
  }
  const answer = await fetch(`${origin}/v1/deliveries?subscriber=shop&status=delivered&limit=500`, {
    headers: { authorization },
  });
  const { data } = (await answer.json()) as { data: Delivered[] };
  expect(data.length).toBeGreaterThan(100);
  const byPurchase = Map.groupBy(
    data.filter(({ purchaseId }) => purchaseId !== null),
    ({ purchaseId }) => purchaseId!,
  );
  const sorted = (all: readonly Delivered[]) => all.toSorted((a, b) => Date.parse(a.settledAt!) - Date.parse(b.settledAt!));
  return [...byPurchase]
    .filter(([, all]) => sorted(all).some(({ sequence }, at, one) => at > 0 && sequence! <= one[at - 1]!.sequence!))
    .map(([id]) => id);
}

test('without script the switches are forms, and lead back to their page', async () => {
  const { page, context, misdeeds } = await openInDemo(browser, { origin, javaScriptEnabled: false });
  // A form that starts the daemon is answered once the daemon runs.
  page.setDefaultTimeout(WITHIN.timeout);
  await page.goto('/sites?a=b');
  await turn(page, 'Slow', true);
  expect((await settings()).latency).toBe(3_000);
  expect(new URL(page.url()).pathname).toBe('/sites');
  await turn(page, 'Slow', false);
  await turn(page, 'Daemon', true);
  await page.getByRole('heading', { name: 'The daemon does not run' }).waitFor();
  await page.getByRole('button', { name: 'Start the daemon' }).click();
  await page.getByRole('heading', { name: 'sites answer' }).waitFor(WITHIN);
  expect(misdeeds.found.filter((each) => !each.includes('503'))).toEqual([]);
  await context.close();
}, 400_000);

test('nothing keeps a person out, in light and in dark', { timeout: 300_000 }, async () => {
  const { page, context, misdeeds } = await openInDemo(browser, { origin, bypassCSP: true });
  const violations: string[] = [];
  const look = async (when: string) => {
    // Dark differs from light by colours alone.
    for (const [width, colorScheme] of [
      [320, 'light'],
      [360, 'light'],
      [768, 'light'],
      [1440, 'light'],
      [1440, 'dark'],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await page.waitForLoadState();
      const bar = await page.locator('section.demo').evaluate((each) => each.getBoundingClientRect().height);
      if (width <= 360 && bar > 120) violations.push(`${when} at ${width}: the bar takes ${bar} px`);
      // In one call: a page that follows its switch may be loaded again between two.
      const { violations: all } = await page.evaluate<AxeResults>(`${axe.source};axe.run()`);
      violations.push(
        ...all.map(({ id, nodes }) => `${when} at ${width}, ${colorScheme}: ${id} ${nodes.map(({ html }) => html).join(' ')}`),
      );
      const isWide = await page.locator('html').evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
      if (isWide) violations.push(`${when} at ${width} scrolls sideways`);
    }
  };
  await page.goto('/');
  await page.getByText('What each switch does').click();
  await look('calm');
  // On a phone the switches are a tap away.
  await page.setViewportSize({ width: 360, height: 780 });
  expect(await page.getByRole('button', { name: 'Slow' }).isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Switches' }).click();
  await page.getByRole('button', { name: 'Slow' }).waitFor();
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 1440, height: 900 });
  await visit(page, '/incidents');
  await turn(page, 'Slow', true);
  await look('pressed');
  await turn(page, 'Slow', false);
  await turn(page, 'Daemon', true);
  await visit(page, '/');
  await look('dead');
  await turn(page, 'Daemon', false);
  expect(violations).toEqual([]);
  expect(misdeeds.found.filter((each) => !each.includes('503'))).toEqual([]);
  await context.close();
});

test('a form of another site turns nothing', async () => {
  const answer = await fetch(`${origin}/demo/switch`, {
    ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams({ turn: 'slow:on' }) },
    headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  });
  expect(answer.status).toBe(403);
  expect((await settings()).latency).toBe(0);
});
