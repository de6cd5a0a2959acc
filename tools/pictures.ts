/**
 * Pictures of the console's pages in both themes, and of some as a phone shows them, made from the demo: `npm run pictures` writes
 * them to docs/pictures. Once the demo's story has alerted people of one checkout, the switches break a page and kill the receiver,
 * so that all pictures show the same night; two weeks before it are written first.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { machineKey } from '../src/runtime/secrets/kept-key.ts';
import { startBrowser } from '../test/support/browser.ts';
import { writeHistory } from './picture-history.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'docs/pictures');
const THEMES = ['light', 'dark'] as const;
const WIDE = { width: 1_440, height: 900 };
const NARROW = { width: 360, height: 780 };
/** Pages that are also shown as a phone shows them: those that a message leads to. */
const ON_PHONES: ReadonlySet<string> = new Set(['now', 'incident', 'purchase']);
/** The rest of a longer page is more of the same. */
const TALLEST = 1_500;
/** A silence for later, so that the list of silences has an entry. */
const PLANNED = { site: 'demo-fi', startsAt: '1h', endsAt: '3h', reason: 'The bank changes its page tonight', by: 'Aino' };
/** How long the demo may take until what is waited for is there. */
const PATIENCE = 240_000;
/** Of the pictures, in percent: letters stay sharp, and a page takes a fifth of what it takes without loss. */
const QUALITY = 75;

interface Purchase {
  readonly site: string;
  readonly purchaseId: string;
}

interface Delivery {
  readonly id: string;
  readonly event: { readonly type: string };
  readonly tries: number;
}

const data = mkdtempSync(join(tmpdir(), 'pw-pictures-'));
// A daemon reads what is usual when it starts.
await writeHistory(join(data, 'demo'));
const demo = spawn(process.execPath, [join(ROOT, 'bin/purchase-watch.mjs'), 'demo'], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, DATA_DIR: data },
});
try {
  mkdirSync(FOLDER, { recursive: true });
  await takeAll(new URL(await linkOf(demo)));
} finally {
  if (demo.exitCode === null && demo.kill('SIGINT')) await once(demo, 'exit');
  rmSync(data, { recursive: true, force: true });
}

/** The link to the console that the demo prints. */
async function linkOf({ stdout }: ChildProcess): Promise<string> {
  let printed = '';
  stdout!.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  return soon('an address', async () => {
    if (demo.exitCode !== null) throw new Error(`the demo ended:\n${printed}`);
    return /Open (http:\S+) in a browser/.exec(printed)?.[1];
  });
}

/** Waits until there is something. */
async function soon<Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await delay(250)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`there is not ${what} after ${PATIENCE / 1_000} s`);
}

/** Calls the API of the demo's daemon. */
function ask(address: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${machineKey(join(data, 'demo'))}`, 'content-type': 'application/json' };
  return fetch(address, { ...init, headers });
}

async function post(address: string, body: unknown): Promise<void> {
  const response = await ask(address, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${address} answered ${response.status}: ${await response.text()}`);
}

/** The first resource of a list of the API that is as wanted; waits until there is one. */
function firstOf<Body>(api: string, path: string, isWanted: (body: Body) => boolean = () => true): Promise<Body> {
  return soon(path, async () => {
    const response = await ask(api + path).catch(() => null);
    return response?.ok ? ((await response.json()) as { data: Body[] }).data.find(isWanted) : undefined;
  });
}

/** Where the daemon itself serves the console: without the demo's bar. */
async function daemonOf(demoUrl: string): Promise<string> {
  const { settings } = (await (await ask(`${demoUrl}/v1/system`)).json()) as { settings: { name: string; text: string }[] };
  return `http://127.0.0.1:${settings.find(({ name }) => name === 'PORT')!.text}`;
}

/** Breaks a page, waits until people are alerted, and kills the receiver: a switch that a person presses ends the demo's story. */
async function breakThings(page: Page, demoUrl: string, api: string): Promise<void> {
  await firstOf(api, '/v1/deliveries?subscriber=@slack');
  // The charts leave out the minute that is not over yet.
  await soon('a whole minute', async () => {
    const { minutes } = (await (await ask(`${api}/v1/activity?minutes=3`)).json()) as { minutes: { polls: number }[] };
    return minutes.slice(0, -1).some(({ polls }) => polls > 0) ? true : undefined;
  });
  await open(page, demoUrl, WIDE);
  await page.getByRole('button', { name: 'Break card page' }).click();
  await firstOf(api, '/v1/deliveries?subscriber=@slack', ({ event }: Delivery) => event.type === 'incident.opened');
  await post(`${api}/v1/silences`, PLANNED);
  await page.getByRole('button', { name: 'Receiver' }).click();
  await soon('a paused subscriber', async () => {
    const { health } = (await (await ask(`${api}/v1/subscribers/shop`)).json()) as { health: { status: string } };
    return health.status === 'paused' ? true : undefined;
  });
}

/** Each page by the name of its picture. */
async function pagesOf(api: string): Promise<ReadonlyMap<string, string>> {
  const incident = await firstOf<{ id: string }>(api, '/v1/incidents?status=open&kind=stuck');
  const stuck = await firstOf<Purchase>(api, '/v1/purchases?stuck=true');
  const delivery = await firstOf(api, '/v1/deliveries?subscriber=shop', ({ tries }: Delivery) => tries > 1);
  return new Map([
    ['now', '/'],
    ['incidents', '/incidents'],
    ['incident', `/incidents/${incident.id}`],
    ['purchases', '/purchases'],
    ['register', '/purchases/register'],
    ['purchase', `/purchases/${stuck.site}/${stuck.purchaseId}`],
    ['sites', '/sites'],
    ['site', `/sites/${stuck.site}`],
    ['subscribers', '/subscribers'],
    ['subscriber', '/subscribers/shop'],
    ['deliveries', '/deliveries'],
    ['delivery', `/deliveries/${delivery.id}`],
    ['channels', '/channels'],
    ['silences', '/silences'],
    ['rehearse', '/rehearse?from=10m&settings.states.WaitingForCardPayments.stuckAfter=20s'],
    ['system', '/system'],
    ['actions', '/system/actions'],
  ]);
}

async function takeAll(link: URL): Promise<void> {
  const demoUrl = link.origin;
  const browser = await startBrowser();
  try {
    const page = await (await browser.newContext()).newPage();
    await page.goto(link.href);
    const api = await daemonOf(demoUrl);
    await breakThings(page, demoUrl, api);
    await open(page, demoUrl, WIDE);
    await take(page, 'demo', 'light');
    for (const [name, path] of await pagesOf(api)) {
      await open(page, api + path, WIDE);
      for (const theme of THEMES) await take(page, `${name}-${theme}`, theme);
      if (!ON_PHONES.has(name)) continue;
      await open(page, api + path, NARROW);
      await take(page, `${name}-narrow`, 'light');
    }
  } finally {
    await browser.close();
  }
}

async function open(page: Page, address: string, size: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(size);
  const response = await page.goto(address, { waitUntil: 'load' });
  if (response?.status() !== 200) throw new Error(`${address} answered ${response?.status()}`);
  // As tall as the page, so that what sticks to the window's edges stands where a person sees it.
  const [height] = (await page.evaluate('[document.documentElement.scrollHeight]')) as [number];
  await page.setViewportSize({ ...size, height: Math.min(Math.max(height, size.height), TALLEST) });
}

/** Writes a picture of the window. */
async function take(page: Page, name: string, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  const session = await page.context().newCDPSession(page);
  const { data: bytes } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  await session.detach();
  writeFileSync(join(FOLDER, `${name}.webp`), Buffer.from(bytes, 'base64'));
}
