/**
 * Every page of a full world at six widths, of an empty one at two, in both themes, and at 320 pixels: nothing scrolls sideways, stands over another or outside
 * its box, is cut without a way to read it, or has too little contrast; axe finds nothing. FULL_WORLD_PICTURES=folder
 * writes each page as a picture; FULL_WORLD_ONLY=^/sites looks at addresses that match alone.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import axe, { type AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATOR, openSignedIn, startBrowser, TOO_WIDE } from '../support/browser.ts';
import { ROUTES, startEmptyWorld, startFullWorld, type World } from '../support/full-world/full-world.ts';
import { addNews } from '../support/full-world/news.ts';

const WIDTHS = [360, 768, 800, 1024, 1280, 1440];
/** Where a layout becomes another one, which changes names, roles and order too: axe looks there. Dark differs from light by colours alone. */
const LAYOUTS = [360, 1280];
/** The further addresses of a route have the templates of its first one with other data; the pages of an empty world have no data. */
const PLANS = {
  first: { light: WIDTHS, dark: LAYOUTS, axe: LAYOUTS },
  further: { light: [360, 1024, 1280], dark: [1280], axe: [1280] },
  empty: { light: LAYOUTS, dark: [1280], axe: [1280] },
};
type Plan = (typeof PLANS)[keyof typeof PLANS];
/** A page at four times its size on a wide screen: nothing scrolls sideways. */
const NARROWEST = 320;
/** Pages looked at at a time. */
const AT_ONCE = 3;
const PICTURES = process.env.FULL_WORLD_PICTURES;
const ONLY = process.env.FULL_WORLD_ONLY;
/** Rows of a list are made by one template, so axe looks at the first of them. Contrast is measured by the look. */
const AXE = `axe.run({ exclude: [['tbody tr:nth-child(n + 5)'], ['ul.rows > li:nth-child(n + 5)']] },
  { resultTypes: ['violations'], rules: { 'color-contrast': { enabled: false } } })`;
const LOOK = readFileSync(new URL('../support/full-world/look.js', import.meta.url), 'utf8');

/** Faults of one rule that are listed of a page: what stands over one thing stands over many. */
const MOST_SHOWN = 4;

/** Pages with lists, of which each `<tbody data-still>` keeps its rows while news come. */
const STILL = [
  ...['/incidents', '/incidents?status=ended', '/purchases', '/purchases?stuck=true', '/deliveries'],
  ...['/subscribers', '/subscribers/default', '/silences', '/system/actions'],
];
/** `still.long` looks at ten refreshes of one list; here every list goes through some. */
const NEWS = 3;

let browser: Browser;
let full: World;
let empty: World;
beforeAll(async () => {
  [browser, full] = await Promise.all([startBrowser(), startFullWorld()]);
  empty = await startEmptyWorld();
});
afterAll(async () => {
  await full?.t.stop();
  await empty?.t.stop();
  await browser?.close();
});

describe.each(['full', 'empty'] as const)('the %s world', (name) => {
  test('has every page', () => {
    const has = [...(name === 'full' ? full : empty).addresses.keys()].filter((route) => route !== '').sort();
    if (name === 'full') expect(has).toEqual(ROUTES.toSorted());
    else expect(ROUTES).toEqual(expect.arrayContaining(has));
  });

  test('has room for everything, at every width and in both themes', { timeout: 900_000 }, async () => {
    const world = name === 'full' ? full : empty;
    const left = [...world.addresses.values()]
      .flatMap((paths) => paths.map((path, at) => ({ path, plan: planOf(name, at) })))
      .filter(({ path }) => new RegExp(ONLY ?? '').test(path));
    const found: string[] = [];
    const work = async (page: Page): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const { path } = next;
        const faults = [...(await faultsOf(page, next, name))];
        const ofRule = Map.groupBy(faults, ([fault]) => fault.split(' | ')[0]!);
        for (const [rule, all] of ofRule) {
          const shown = all.slice(0, MOST_SHOWN).map(([fault, where]) => `${path.slice(0, 60)} at ${where.join(', ')}: ${fault}`);
          const more = all.length - shown.length;
          found.push(...shown);
          if (more > 0) found.push(`${path.slice(0, 60)}: ${rule} | ${more} more`);
        }
      }
    };
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const { page, context, misdeeds } = await openSignedIn(browser, { origin: world.origin, key: OPERATOR, to: '/sign-in' });
        await page.addInitScript(LOOK);
        await page.addInitScript(axe.source);
        await work(page);
        // Pages of what there is not are answers with 400 and 404, and an invoice that cannot be read is 503, which the browser prints.
        found.push(...misdeeds.found.filter((each) => !/ (?:40[04]|503) /.test(each)));
        await context.close();
      }),
    );
    expect(found).toEqual([]);
  });
});

function planOf(world: 'full' | 'empty', at: number): Plan {
  if (PICTURES !== undefined) return { light: WIDTHS, dark: WIDTHS, axe: [] };
  if (world === 'empty') return PLANS.empty;
  return at === 0 ? PLANS.first : PLANS.further;
}

/** What is in the rows that hold still, and where the pointer and the focus are. */
const ROWS = `(() => {
  const rows = [...document.querySelectorAll('tbody[data-still] > tr')];
  const under = document.elementFromPoint(...globalThis.pointed)?.closest('tr')?.id;
  return JSON.stringify({ ids: rows.map(({ id }) => id), under, focused: document.activeElement.getAttribute('href') });
})()`;
const REFRESHED = 'globalThis.refreshed = 0; document.addEventListener("htmx:after:swap", () => (globalThis.refreshed += 1))';

/** Opens a list, points at a row of it and focuses the link of another one. Answers null when no list holds still, or has too few rows. */
async function openList(page: Page, path: string): Promise<string | null> {
  await page.goto(path);
  const row = page.locator('tbody[data-still] > tr').nth(2);
  if ((await page.locator('tbody[data-still] > tr').count()) < 3) return null;
  await row.scrollIntoViewIfNeeded();
  const { x, y, height } = (await row.boundingBox())!;
  const pointed = [x + 12, y + height / 2] as const;
  await page.mouse.move(...pointed);
  const focusable = page.locator('tbody[data-still] > tr').nth(1).locator('a, button, input').first();
  if ((await focusable.count()) > 0) await focusable.focus();
  await page.evaluate(`globalThis.pointed = ${JSON.stringify(pointed)}; ${REFRESHED}`);
  return page.evaluate<string>(ROWS);
}

/** Pages that are open in one context: a browser has six connections to a daemon, and each page keeps one for its news. */
const IN_ONE_CONTEXT = 4;

test('rows stay where they are while news come', { timeout: 600_000 }, async () => {
  const { t, origin } = full;
  const left = [...STILL];
  const before = new Map<string, string | null>();
  const moved: string[] = [];
  for (let round = 1; left.length > 0; round += NEWS) {
    const paths = left.splice(0, IN_ONE_CONTEXT);
    const { page: first, context } = await openSignedIn(browser, { origin, key: OPERATOR, to: '/sign-in' });
    const pages = await Promise.all(paths.map((_, at) => (at === 0 ? first : context.newPage())));
    for (const [at, path] of paths.entries()) before.set(path, await openList(pages[at]!, path));
    for (let news = 1; news <= NEWS; news++) {
      await addNews(t.database.sql, round + news);
      for (const [at, path] of paths.entries()) {
        if (before.get(path) === null) continue;
        await pages[at]!.bringToFront();
        await expect.poll(() => pages[at]!.evaluate<number>('globalThis.refreshed')).toBeGreaterThanOrEqual(news);
        const now = await pages[at]!.evaluate<string>(ROWS);
        if (now !== before.get(path))
          moved.push(`${path} in refresh ${news}: ${now.slice(0, 300)} instead of ${before.get(path)?.slice(0, 300)}`);
      }
    }
    await context.close();
  }
  expect(moved).toEqual([]);
  expect(
    [...before].flatMap(([path, rows]) => (rows === null ? [path] : [])),
    'no list of three rows that holds still',
  ).toEqual([]);
});

test('what needs a person is shown at once, but not while a row of it is pointed at', { timeout: 60_000 }, async () => {
  const { t, origin } = full;
  const { page, context } = await openSignedIn(browser, { origin, key: OPERATOR, to: '/' });
  const needs = () => page.locator('[aria-labelledby="needs"] > ul > li').evaluateAll((all) => all.map(({ id }) => id));
  await page.getByText('Live, updated').waitFor();
  const before = await needs();
  const second = page.locator('[aria-labelledby="needs"] > ul > li').nth(1);
  await second.hover();
  const place = await second.boundingBox();
  await page.evaluate(REFRESHED);
  await t.database.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, severity)
    values ('inc_new', 'stuck', 'se', 7, now(), now(), 5, 5, 1)`;
  await addNews(t.database.sql, 1_000);
  await expect.poll(() => page.evaluate<number>('globalThis.refreshed')).toBeGreaterThanOrEqual(1);
  expect(await needs()).toEqual(before);
  expect(await second.boundingBox()).toEqual(place);
  await page.mouse.move(0, 0);
  await expect.poll(needs).toContain('row-incident-inc_new');
  await context.close();
});

/** Faults of a page, each with the widths and themes at which it is there. */
async function faultsOf(page: Page, { path, plan }: { path: string; plan: Plan }, world: string): Promise<Map<string, string[]>> {
  const faults = new Map<string, string[]>();
  const add = (fault: string, where: string): void => void faults.set(fault, [...(faults.get(fault) ?? []), where]);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(path);
  // Forms are folded: unfolded they need the most room.
  await page.evaluate(`for (const each of document.querySelectorAll('details:not(.zone)')) each.open = true`);
  await page.setViewportSize({ width: NARROWEST, height: 900 });
  const isWide = await page.locator('html').evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
  if (isWide) add(`scrolls sideways | ${await page.evaluate(TOO_WIDE)}`, String(NARROWEST));
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of plan[theme]) {
      const where = `${width}${theme === 'dark' ? ' dark' : ''}`;
      await page.setViewportSize({ width, height: 900 });
      for (const fault of await page.evaluate<string[]>('look()')) add(fault, where);
      if (PICTURES !== undefined) await draw(page, join(PICTURES, `${world}-${pictureName(path)}-${width}-${theme}.png`));
      if (theme === 'dark' || !plan.axe.includes(width)) continue;
      const { violations } = await page.evaluate<AxeResults>(AXE);
      for (const { id, nodes } of violations) add(`axe | ${id} | ${nodes[0]!.html.slice(0, 120)}`, where);
    }
  }
  return faults;
}

async function draw(page: Page, path: string): Promise<void> {
  mkdirSync(PICTURES!, { recursive: true });
  // The first screens: more rows of the same make a picture slow to take and hard to look at.
  const { width } = page.viewportSize()!;
  const height = await page.evaluate<number>('Math.min(document.documentElement.scrollHeight, 2400)');
  await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width, height }, animations: 'disabled' });
}

const pictureName = (path: string): string => path.replaceAll(/[^a-z0-9]+/gi, '_').slice(0, 60);
