/**
 * Pictures of the console's pages, in both themes, made from the demo: `npm run pictures` writes them to docs/pictures. The demo
 * needs about two minutes, until a page is broken and its incident is there.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startBrowser } from '../test/support/browser.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'docs/pictures');
const THEMES = ['light', 'dark'] as const;
const WIDTHS = [
  ['', 1280],
  ['-narrow', 360],
] as const;
/** How long the demo may take until an incident is open. */
const PATIENCE = 180_000;

interface Purchase {
  readonly site: string;
  readonly purchaseId: string;
}

const data = mkdtempSync(join(tmpdir(), 'pw-pictures-'));
const demo = spawn(process.execPath, [join(ROOT, 'bin/purchase-watch.mjs'), 'demo'], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, DATA_DIR: data },
});
try {
  await takeAll(await addressOf(demo));
} finally {
  demo.kill('SIGINT');
  await new Promise((resolve) => demo.once('exit', resolve));
  rmSync(data, { recursive: true, force: true });
}

/** Where the demo serves the console, as it prints. */
async function addressOf({ stdout }: ChildProcess): Promise<string> {
  let printed = '';
  for await (const chunk of stdout!) {
    printed += chunk;
    const [, address] = /(?:console|API):? +(http:\S+)/.exec(printed) ?? [];
    if (address !== undefined) {
      stdout!.resume();
      return address.replace(/\/$/, '');
    }
  }
  throw new Error(`the demo ended:\n${printed}`);
}

/** The first resource of a list of the API; waits until there is one. */
async function firstOf<Body>(api: string, path: string): Promise<Body> {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await delay(1_000)) {
    const response = await fetch(api + path).catch(() => null);
    const { data: [found] = [] } = response?.ok ? ((await response.json()) as { data: Body[] }) : {};
    if (found !== undefined) return found;
  }
  throw new Error(`${path} is empty after ${PATIENCE / 1_000} s`);
}

async function takeAll(address: string): Promise<void> {
  const incident = await firstOf<{ id: string }>(address, '/v1/incidents?status=open');
  const purchase = await firstOf<Purchase>(address, '/v1/purchases?stuck=true');
  const pages: readonly (readonly [name: string, path: string])[] = [
    ['now', '/'],
    ['incidents', '/incidents'],
    ['incident', `/incidents/${incident.id}`],
    ['purchases', '/purchases'],
    ['register', '/purchases/register'],
    ['purchase', `/purchases/${purchase.site}/${purchase.purchaseId}`],
    ['sites', '/sites'],
    ['site', `/sites/${purchase.site}`],
    ['subscribers', '/subscribers'],
    ['subscriber', '/subscribers/shop'],
    ['deliveries', '/deliveries'],
    ['channels', '/channels'],
    ['silences', '/silences'],
    ['system', '/system'],
    ['actions', '/system/actions'],
  ];
  mkdirSync(FOLDER, { recursive: true });
  const browser = await startBrowser();
  try {
    for (const colorScheme of THEMES) {
      for (const [suffix, width] of WIDTHS) {
        if (suffix !== '' && colorScheme === 'dark') continue;
        const context = await browser.newContext({ baseURL: address, colorScheme, viewport: { width, height: 800 } });
        const page = await context.newPage();
        for (const [name, path] of pages) {
          const response = await page.goto(path, { waitUntil: 'load' });
          if (response?.status() !== 200) throw new Error(`${path} answered ${response?.status()}`);
          await delay(500);
          await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}${suffix}.png`), fullPage: true });
        }
        await context.close();
      }
    }
  } finally {
    await browser.close();
  }
}
