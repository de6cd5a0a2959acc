/** Journeys through a full world with a keyboard alone, and with a finger on a phone: find a purchase, acknowledge an incident, resume a subscriber. */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OPERATOR, openPage, startBrowser } from '../support/browser.ts';
import { startFullWorld, type World } from '../support/full-world/full-world.ts';
import { LONGEST, longId } from '../support/full-world/purchases.ts';
import { LONG_PERSON, PAUSED } from '../support/full-world/words.ts';

/** Of a page until its main action is reached. The rail has a few dozen links; 90 are enough once Acknowledge comes before the customers. */
const MOST_TABS = 400;
/** Pixels that a finger hits (WCAG 2.2, 2.5.8). */
const FINGER = 24;

let browser: Browser;
let world: World;
beforeAll(async () => {
  [browser, world] = await Promise.all([startBrowser(), startFullWorld()]);
});
afterAll(async () => {
  await world?.t.stop();
  await browser?.close();
});

const acknowledged = async (): Promise<number> => {
  const [row] = await world.t.database.sql<{ count: number }[]>`
    select count(*)::int as count from purchase_watch_internal.incidents where acknowledged_by <> ${LONG_PERSON}`;
  return row!.count;
};
const isPaused = async (): Promise<boolean> => {
  const [row] = await world.t.database.sql<{ paused: boolean }[]>`
    select h.paused_until > now() as paused from purchase_watch_internal.subscriber_health h
    join purchase_watch_internal.subscribers s on s.id = h.subscriber where s.name = ${PAUSED}`;
  return row?.paused ?? false;
};
/** Puts back what a journey changes. */
const putBack = async (): Promise<void> => {
  const { sql } = world.t.database;
  await sql`update purchase_watch_internal.incidents set acknowledged_at = null, acknowledged_by = null, acknowledged_note = null where acknowledged_by <> ${LONG_PERSON}`;
  await sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until)
    select id, 57, 9, now() - interval '5 hours', now() + interval '14 minutes' from purchase_watch_internal.subscribers where name = ${PAUSED}
    on conflict (subscriber) do update set failures = excluded.failures, failing_since = excluded.failing_since, paused_until = excluded.paused_until`;
};

/** The focused element: what it is, whether it is marked, and whether it can be seen. */
const FOCUSED = `(() => {
  const at = document.activeElement;
  const { left, top, right, bottom } = at.getBoundingClientRect();
  const seen = document.elementFromPoint((left + right) / 2, (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2);
  return {
    text: [at.localName, (at.textContent || at.name || '').trim().slice(0, 60), at.getAttribute('href') ?? ''].join(' '),
    isMarked: at.matches(':focus-visible') && getComputedStyle(at).outlineStyle !== 'none',
    isSeen: seen !== null && (at.contains(seen) || seen.contains(at)),
  };
})()`;

/** Presses a key until the focus is where it is wanted; each stop must be marked and in sight. */
async function pressUntil(page: Page, key: string, wanted: string | RegExp): Promise<void> {
  const hidden: string[] = [];
  for (let pressed = 0; pressed < MOST_TABS; pressed++) {
    await page.keyboard.press(key);
    const { text, isMarked, isSeen } = await page.evaluate<{ text: string; isMarked: boolean; isSeen: boolean }>(FOCUSED);
    if (!isMarked || !isSeen) hidden.push(text);
    if (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text))
      return expect(hidden, 'stops without a mark, or out of sight').toEqual([]);
  }
  throw new Error(`${MOST_TABS} times ${key} did not reach ${wanted} on ${page.url()}`);
}

test('with a keyboard alone', { timeout: 300_000 }, async () => {
  await putBack();
  const { page, context } = await openPage(browser, { origin: world.origin });
  const { keyboard } = page;
  await page.goto('/');
  await page.waitForURL('**/sign-in*');
  // The field has the focus.
  await keyboard.type(OPERATOR);
  await keyboard.press('Enter');
  await page.waitForURL(`${world.origin}/`);

  await keyboard.press('/');
  await keyboard.type(longId(LONGEST));
  await keyboard.press('Enter');
  await page.waitForURL(`**/purchases/se/${longId(LONGEST)}*`);

  await keyboard.press('g');
  await keyboard.press('i');
  await page.waitForURL('**/incidents');
  await pressUntil(page, 'j', '/incidents/inc_sites');
  await keyboard.press('Enter');
  await page.waitForURL('**/incidents/inc_sites');
  await pressUntil(page, 'Tab', /^button Acknowledge/);
  await keyboard.press('Enter');
  await expect.poll(acknowledged).toBeGreaterThan(0);

  await keyboard.press('g');
  await keyboard.press('u');
  await page.waitForURL('**/subscribers');
  await pressUntil(page, 'j', `/subscribers/${PAUSED}`);
  await keyboard.press('Enter');
  await page.waitForURL(`**/subscribers/${PAUSED}`);
  await pressUntil(page, 'Tab', /^button Resume/);
  await keyboard.press('Enter');
  await expect.poll(isPaused).toBe(false);
  await context.close();
});

/** Taps what a finger can hit, on a page that is as wide as the phone. */
async function tap(page: Page, what: Locator): Promise<void> {
  await what.scrollIntoViewIfNeeded();
  const { width, height } = (await what.boundingBox())!;
  expect(Math.min(width, height), `${await what.textContent()} is too small for a finger`).toBeGreaterThanOrEqual(FINGER);
  expect(
    await page.evaluate('[document.documentElement.scrollWidth, visualViewport.scale]'),
    `${page.url()} scrolls sideways`,
  ).toEqual([360, 1]);
  await what.tap();
}

test('with a finger on a phone', { timeout: 300_000 }, async () => {
  await putBack();
  const phone = { viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
  const { page, context } = await openPage(browser, { origin: world.origin, ...phone });
  const goTo = async (place: string): Promise<void> => {
    await tap(page, page.getByRole('button', { name: 'Menu' }));
    await tap(page, page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: place }));
    await page.waitForURL(`**/${place.toLowerCase()}`);
  };
  await page.goto('/sign-in');
  await page.getByLabel('Key of the API').fill(OPERATOR);
  await tap(page, page.getByRole('button', { name: 'Sign in' }));
  await page.waitForURL(`${world.origin}/`);

  await page.getByLabel(/^Find a purchase/).fill(longId(LONGEST));
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/purchases/se/${longId(LONGEST)}*`);

  await goTo('Incidents');
  // The one that is about several sites.
  await page.locator('main a[href*="/incidents/inc_sites"]').first().tap();
  await page.waitForURL('**/incidents/inc_sites*');
  await tap(page, page.getByRole('button', { name: /^Acknowledge/ }).first());
  await expect.poll(acknowledged).toBeGreaterThan(0);

  await goTo('Subscribers');
  await page.locator(`main a[href$="/subscribers/${PAUSED}"]`).first().tap();
  await page.waitForURL(`**/subscribers/${PAUSED}`);
  await tap(page, page.getByRole('button', { name: /^Resume/ }).first());
  await expect.poll(isPaused).toBe(false);
  await context.close();
});
