/** Every page in both themes and three widths: no violation that axe finds, nothing in the browser's console, no other host. */
import axe from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openByLink, startBrowser, TOO_WIDE } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const PAGES = [
  '/',
  '/?site=default',
  '/?at=1h',
  '/sites',
  '/sites/default',
  '/incidents',
  '/incidents/inc_card',
  '/incidents/inc_over',
  '/subscribers',
  '/subscribers/default',
  '/deliveries',
  '/deliveries/dlv_1',
  '/channels',
  '/silences',
  '/rehearse',
  '/rehearse?from=1h&settings.slack.quietFor=5m',
  '/system',
  '/system/actions',
  '/system/sessions',
  '/purchases',
  '/purchases?q=nothing',
  '/purchases/register',
];
/** Pages of what the test makes. */
let own: string[];

let browser: Browser;
let t: TestApp;

beforeAll(async () => {
  browser = await startBrowser();
  t = await startTestApp({ realClock: true });
  const purchase = await t.watch(undefined, { reference: 'ORD-1', metadata: '{"cart": 7}' });
  own = [`/purchases/default/${purchase}`, `/purchases/default/${purchase}/forget`];
  await someIncidents();
  await t.app.start();
  // The first delivery has a page.
  await t.receiver.waitFor((all) => all.length > 0);
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

/** An open incident that somebody looks after, and one that ended; silences that hold and that are over. */
async function someIncidents(): Promise<void> {
  const { sql } = t.database;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, quiet_since, count, peak, severity, acknowledged_at, acknowledged_by, answer_cause, answered_by, answered_at)
    values ('inc_card', 'stuck', 'default', 6, now(), now(), null, null, 3, 4, 1, now(), 'Kim', null, null, null),
      ('inc_over', 'unreachable', 'default', null, now(), now(), now(), now(), 0, 1, 0, null, null, 'other', 'Kim', now())`;
  await sql`
    insert into purchase_watch_internal.silences (kind, reason, created_by, starts_at, ends_at)
    values ('stuck', 'A new page', 'Kim', now(), now() + interval '2 h'), ('replica', 'A move', 'Kim', now() - interval '2 h', now() - interval '1 h')`;
}

test.each(['light', 'dark'] as const)('nothing keeps a person out, in %s', { timeout: 180_000 }, async (colorScheme) => {
  const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()!, colorScheme, bypassCSP: true });
  const violations: string[] = [];
  for (const path of [...PAGES, ...own]) {
    await page.goto(path);
    await page.evaluate(axe.source);
    for (const width of [320, 768, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const found = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
      violations.push(
        ...found.violations.map(({ id, nodes }) => `${path} at ${width}: ${id} ${nodes.map(({ html }) => html).join(' ')}`),
      );
      const isWide = await page.locator('html').evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
      if (isWide) violations.push(`${path} at ${width} scrolls sideways: ${await page.evaluate(TOO_WIDE)}`);
      const panels = await page.locator('.panel').evaluateAll((all) =>
        all.flatMap((panel) => {
          const end = panel.getBoundingClientRect().right;
          const cells = [...panel.querySelectorAll('th, td, dd')].filter((each) => each.closest('.scroll') === null);
          return cells.some((each) => each.getBoundingClientRect().right > end + 1)
            ? [panel.id, panel.textContent.slice(0, 60)]
            : [];
        }),
      );
      if (panels.length > 0) violations.push(`${path} at ${width}: wider than its panel: ${panels}`);
    }
  }
  expect(violations).toEqual([]);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});
