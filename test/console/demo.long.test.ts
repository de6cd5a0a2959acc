/** The demo in a browser: things are broken and mended by its bar, also while the daemon is dead. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { OverviewBody } from '../../src/api/health/overview.ts';
import { openPage, startBrowser } from '../support/browser.ts';

const BIN = fileURLToPath(new URL('../../bin/purchase-watch.mjs', import.meta.url));
const DATA_DIR = mkdtempSync(join(tmpdir(), 'purchase-watch-demo-console-'));
// When the tests run as root, the server's user must be able to enter.
chmodSync(DATA_DIR, 0o755);
const WITHIN = { timeout: 180_000, interval: 500 };

let browser: Browser;
let demo: ChildProcess;
let text = '';
let origin: string;
let control: string;

beforeAll(async () => {
  browser = await startBrowser();
  demo = spawn(process.execPath, [BIN, 'demo'], { env: { DATA_DIR }, stdio: ['ignore', 'pipe', 'inherit'] });
  demo.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  // The story breaks and mends a page, too; people have the switches to themselves afterwards.
  await vi.waitFor(() => expect(text).toContain('Calm traffic goes on'), { ...WITHIN, timeout: 280_000 });
  origin = /Open (http:\S+) in a browser/.exec(text)![1]!;
  control = /controls: (\S+)/.exec(text)![1]!;
});

afterAll(async () => {
  await browser?.close();
  const ended = once(demo, 'exit');
  demo.kill('SIGTERM');
  await ended;
  rmSync(DATA_DIR, { recursive: true, force: true });
});

const overview = async (): Promise<OverviewBody> => (await (await fetch(`${origin}/v1/overview`)).json()) as OverviewBody;
const shop = async () => (await overview()).subscribers.find(({ name }) => name === 'shop')!;
const press = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('button', { name, exact: true }).click();
  await page.waitForLoadState();
};
const load = (perMinute: number) =>
  fetch(`${control}/load`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ perMinute }),
  });

test('a page breaks and is mended: the incident, and what Slack got, stand on the open page', { timeout: 600_000 }, async () => {
  const { page, context, misdeeds } = await openPage(browser, { origin });
  const watched = await context.newPage();
  expect((await load(90)).ok).toBe(true);
  await watched.goto('/');
  await page.goto('/incidents');
  await press(page, 'Break the card page');
  expect(new URL(page.url()).pathname).toBe('/incidents');
  await page.getByRole('button', { name: 'The card page is broken: mend it' }).waitFor();
  // Nobody touches this page: it is kept up to date.
  await watched.locator('article.inc').waitFor(WITHIN);
  await watched
    .locator('#demo-slack')
    .getByText(/demo-se: .*stuck/)
    .first()
    .waitFor(WITHIN);
  await press(page, 'The card page is broken: mend it');
  await watched.locator('article.inc').waitFor({ ...WITHIN, state: 'detached' });
  await watched
    .locator('#demo-slack')
    .getByText(/no longer stuck/)
    .first()
    .waitFor(WITHIN);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('the daemon is killed and started with the page open: the page says so and goes on', { timeout: 300_000 }, async () => {
  const { page, context } = await openPage(browser, { origin });
  const watched = await context.newPage();
  await watched.goto('/');
  await watched.getByText(/^Live, updated/).waitFor();
  await page.goto('/');
  await press(page, 'Kill the daemon');
  await page.getByRole('heading', { name: 'The daemon does not run' }).waitFor();
  await watched.getByText(/^No answer from the daemon since/).waitFor(WITHIN);
  await press(page, 'The daemon is dead: start it');
  await page.getByRole('button', { name: 'Kill the daemon' }).waitFor(WITHIN);
  await watched.getByText(/^Live, updated/).waitFor(WITHIN);
  await context.close();
});

test('the receiver is dead for a while: deliveries wait, and all go out afterwards', { timeout: 300_000 }, async () => {
  const { page, context } = await openPage(browser, { origin });
  await page.goto('/');
  await press(page, 'Kill the receiver');
  await vi.waitFor(async () => expect((await shop()).waiting.parked).toBeGreaterThan(0), WITHIN);
  await press(page, 'The receiver is dead: revive it');
  await load(0);
  expect((await fetch(`${origin}/v1/subscribers/shop/resume`, { method: 'POST' })).ok).toBe(true);
  await vi.waitFor(async () => expect((await shop()).waiting).toMatchObject({ pending: 0, parked: 0 }), WITHIN);
  const audit = spawn(process.execPath, [BIN, 'audit'], { env: { DATA_DIR: join(DATA_DIR, 'demo') }, stdio: 'inherit' });
  expect(await once(audit, 'exit')).toEqual([0, null]);
  await context.close();
});

test.each([true, false])('the bar works with and without script (script: %s)', async (javaScriptEnabled) => {
  const { page, context } = await openPage(browser, { origin, javaScriptEnabled });
  await page.goto('/');
  await press(page, 'Make it slow');
  await press(page, 'Slow: make it quick');
  await page.getByRole('button', { name: 'Make it slow' }).waitFor();
  await context.close();
});

test('a form of another site turns nothing', async () => {
  const answer = await fetch(`${origin}/demo/switch`, {
    ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams({ what: 'daemon', to: 'on' }) },
    headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  });
  expect(answer.status).toBe(403);
  expect((await fetch(`${origin}/readyz`)).status).toBe(200);
});
