/** Now with everything wrong at once at forty sites with long names, and with no purchase at all, at every width and in both themes. */
import axe from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { onDatabase } from '../cli/command.ts';
import { openByLink, startBrowser, TOO_WIDE } from '../support/browser.ts';
import { fetchAsMachine } from '../support/machine.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const WIDTHS = [360, 768, 800, 1_024, 1_280, 1_440];
const SITES = Array.from({ length: 40 }, (_, place) => `shop-number-${place}-${'x'.repeat(place % 2 === 0 ? 40 : 2)}`);

interface Need {
  readonly kind: string;
  readonly text: string;
  readonly why: string | null;
  readonly action: { readonly path: string };
}

let browser: Browser;
let full: TestApp;
let empty: TestApp;

beforeAll(async () => {
  browser = await startBrowser();
  full = await startTestApp({
    realClock: true,
    change: (settings) => {
      const [site] = settings.sites;
      settings.sites = SITES.map((name) => ({ ...site!, name }));
    },
  });
  empty = await startTestApp({ realClock: true });
  for (const t of [full, empty]) await t.app.start();
  await troubles();
}, 120_000);

afterAll(async () => {
  await full?.stop();
  await empty?.stop();
  await browser?.close();
});

/** Rows as loops leave them; none of the loops looks at them again within the test. */
async function troubles(): Promise<void> {
  const { sql } = full.database;
  // A replica that never looks holds the judge's lease, or the judge would end what has no customers.
  await sql`insert into purchase_watch_internal.replicas (id, process, expires_at) values ('rep_held', 'test', now() + interval '1 day')`;
  await sql`update purchase_watch_internal.leases set owner = 'rep_held', epoch = epoch + 1 where name = 'judge'`;
  await sql`update purchase_watch_internal.sites set last_success_at = now() where name = ${SITES[0]!}`;
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, reference, state, state_since, seen_at, polls, stuck_since, status, next_poll_at, due_slot)
    select 'purchase-' || n || repeat('y', 40), ${SITES[0]!}, 'ORD-' || n, 6, now() - n * interval '1 minute', now(), 3,
      now() - n * interval '10 seconds', 'watching', now() + interval '1 day', purchase_watch_internal.due_slot(now() + interval '1 day')
    from generate_series(1, 3) n`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, severity, alerted_at, announced_at)
    select 'inc_' || n, 'stuck', s, 4, now(), now() - interval '20 min', 1000, 1200, n % 2, now(), now()
    from unnest(${SITES.slice(1, 20)}::text[]) with ordinality as t (s, n)`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, count, peak, severity, alerted_at, announced_at, acknowledged_at, acknowledged_by)
    select 'inc_blind' || n, 'unreachable', s, now(), now(), 1, 1, 0, now(), now(), now(), 'Kim'
    from unnest(${SITES.slice(20, 30)}::text[]) with ordinality as t (s, n)`;
  await sql`
    insert into purchase_watch_internal.silences (kind, reason, created_by, starts_at, ends_at)
    values ('stuck', 'A new page', 'Kim', now(), now() + interval '2 h')`;
  await sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
    select id, 9, 3, now() - interval '75 min', now() + interval '6 min', 'It answered 500: NullPointerException in OrderController.java:118, ' || repeat('at line ', 60)
    from purchase_watch_internal.subscribers where configured`;
}

const needsOf = async (t: TestApp): Promise<{ text: string; needs: Need[] }> => {
  const answer = await fetchAsMachine(`${t.app.url()}/v1/overview`);
  return ((await answer.json()) as { headline: { text: string; needs: Need[] } }).headline;
};

test('the page, the API and the command say the same, the sentence is the first of the list, and each link leads to a page', async () => {
  const origin = full.app.url()!;
  const { page, context } = await openByLink(browser, { origin, javaScriptEnabled: false });
  const plain = (words: string | null): string => (words ?? '').replaceAll('\u00a0', ' ');
  let { text, needs } = await needsOf(full);
  // A second may begin or end a need between two looks.
  await vi.waitFor(async () => {
    ({ text, needs } = await needsOf(full));
    await page.goto('/');
    expect(plain(await page.locator('[data-said]').textContent())).toBe(text);
    const rows = await page.locator('.needs > li .what > a bdi').allTextContents();
    expect(rows.map(plain)).toEqual(needs.map((need) => need.text));
    const { stdout } = await onDatabase(full.database, ['status', '--json']);
    const told = (JSON.parse(stdout) as { headline: { needs: Need[] } }).headline;
    expect(told.needs.map((need) => need.text)).toEqual(needs.map((need) => need.text));
    const words = (await onDatabase(full.database, ['status'])).stdout.replaceAll(/\s+/g, ' ');
    expect(words).toContain(text);
    expect(words).toMatch(
      /Alerts are silenced for .* more\. No person looks after it yet\. For 2\d min.*\. What to do: see "purchase-watch/,
    );
  }, 30_000);
  expect(text).toBe(`${needs[0]!.text}. ${needs.length - 1} more things need somebody.`);
  // No channel takes messages while incidents are open: that is as bad as they are.
  expect(needs.find(({ kind }) => kind === 'channel')).toMatchObject({ severity: 'critical', action: { path: '/channels' } });
  expect(needs.find(({ kind }) => kind === 'incident')!.why).toMatch(
    /^Alerts are silenced for (2 h|1 h 5\d min) more\. No person looks after it yet$/,
  );
  expect(needs.find(({ kind }) => kind === 'stuck')!.why).toMatch(/^ORD-3 waiting for the card provider for [34] min/);
  for (const kind of ['incident', 'channel', 'subscriber', 'stuck']) {
    const { path } = needs.find((need) => need.kind === kind)!.action;
    expect((await page.goto(path))!.status(), path).toBe(200);
  }
  await context.close();
});

test.each(['light', 'dark'] as const)(
  'with everything and with nothing it fits every width, in %s',
  { timeout: 120_000 },
  async (colorScheme) => {
    const faults: string[] = [];
    for (const [name, t] of [
      ['full', full],
      ['empty', empty],
    ] as const) {
      const { page, context, misdeeds } = await openByLink(browser, { origin: t.app.url()!, colorScheme, bypassCSP: true });
      await page.goto('/');
      await page.evaluate(axe.source);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const isWide = await page.locator('html').evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
        if (isWide) faults.push(`${name} at ${width} scrolls sideways: ${await page.evaluate(TOO_WIDE)}`);
        faults.push(...((await page.evaluate(OVER_EACH_OTHER)) as string[]).map((fault) => `${name} at ${width}: ${fault}`));
        const found = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
        faults.push(
          ...found.violations.map(
            ({ id, nodes }) =>
              `${name} at ${width}: ${id} ${nodes
                .map((node) => node.html)
                .join(' ')
                .slice(0, 300)}`,
          ),
        );
        if (process.env.PICTURES !== undefined)
          await page.screenshot({ path: `${process.env.PICTURES}/now-${name}-${colorScheme}-${width}.png`, fullPage: true });
      }
      expect(misdeeds.found).toEqual([]);
      await context.close();
    }
    expect(faults).toEqual([]);
  },
);

/** Boxes of the list and of health that lie over each other, or that cut their text without a way to read it. */
const OVER_EACH_OTHER = `(() => {
  const faults = [];
  const shown = (all) => [...all].filter((each) => each.getClientRects().length > 0);
  for (const list of [shown(document.querySelectorAll('.needs > li > *')), shown(document.querySelectorAll('.strip li > span'))]) {
    for (const [place, one] of list.entries()) for (const other of list.slice(place + 1)) {
      const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) faults.push(one.textContent.slice(0, 40) + ' over ' + other.textContent.slice(0, 40));
    }
  }
  for (const each of shown(document.querySelectorAll('#main .needs *, #main .strip *'))) {
    const { overflowX } = getComputedStyle(each);
    if (overflowX !== 'visible' && each.scrollWidth > each.clientWidth + 1 && each.title === '' && !each.classList.contains('vh')) faults.push('cut: ' + each.textContent.slice(0, 60));
  }
  return faults;
})()`;

test('without a purchase there is a checklist in place of charts, and the sentence reassures nobody', async () => {
  const { page, context, misdeeds } = await openByLink(browser, { origin: empty.app.url()!, javaScriptEnabled: false });
  await page.goto('/');
  expect(await page.locator('[data-said]').textContent()).toBe('No purchase is registered yet.');
  expect(await page.locator('#begin').textContent()).toBe('To begin');
  expect(await page.locator('.needs > li').count()).toBe(5);
  expect(await page.locator('.map, .charts').count()).toBe(0);
  expect(await page.getByRole('main').textContent()).toContain(`curl -X POST ${empty.app.url()}/v1/purchases`);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});
