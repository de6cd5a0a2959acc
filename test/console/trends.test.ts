/** Trends as a page: each of its figures leads to a list with that many purchases, as long as all of them are kept. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR } from '../../src/domain/values/time.ts';
import { openByLink, startBrowser } from '../support/browser.ts';
import { fetchAsMachine, signedIn } from '../support/machine.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let origin: string;
let headers: Record<string, string>;

beforeAll(async () => {
  t = await startTestApp({
    realClock: true,
    change: (settings) => {
      const [site] = settings.sites;
      settings.sites = ['se', 'no'].map((name) => ({ ...site!, name, timeZone: 'Europe/Stockholm' }));
    },
  });
  await t.app.start();
  origin = t.app.url()!;
  headers = await signedIn(origin);
  const { sql } = t.database;
  // 1 500 purchases of nine days, a few hours of each; outcomes as folding leaves them, and the counts are their sums.
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, seen_at, last_polled_at, registered_at, sequence, polls, next_poll_at, ended_at)
    select 'p-' || i, (array['se', 'no'])[1 + i % 2], 'settled', 2, now(), now(), now(), now() - interval '20 days', 1, 1, null, now() from generate_series(1, 1500) i`;
  await sql`
    insert into purchase_watch_internal.purchase_details (purchase, fields)
    select id, json_build_object('Price', 10.5, 'CurrencyCode', case site when 'se' then 'SEK' else 'NOK' end) from purchase_watch.purchases`;
  await sql`
    insert into purchase_watch_internal.outcomes (purchase, hour, amount, way, was_stuck, outcome, site, currency)
    select id, date_trunc('hour', now()) - (1 + i % 216) * interval '1 hour', 10.5, (array[6, 12, null])[1 + i % 3], i % 7 = 0,
      (array['paid', 'paid', 'paid', 'not_paid', 'paid_by_another', 'again', 'open'])[1 + i % 11 % 7], site, case site when 'se' then 'SEK' else 'NOK' end
    from (select *, row_number() over (order by id)::integer as i from purchase_watch.purchases) p`;
  // More of one slice, all paid: of SEK before the last seven days, of EUR in both times.
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, seen_at, last_polled_at, registered_at, sequence, polls, next_poll_at, ended_at)
    select 'q-' || i, 'se', 'settled', 2, now(), now(), now(), now() - interval '20 days', 1, 1, null, now() from generate_series(1, 220) i`;
  await sql`
    with more as (select id, substr(purchase_id, 3)::integer as i from purchase_watch.purchases where purchase_id like 'q-%'),
    fields as (
      insert into purchase_watch_internal.purchase_details (purchase, fields)
      select id, json_build_object('Price', 10.5, 'CurrencyCode', case when i <= 120 then 'SEK' else 'EUR' end) from more)
    insert into purchase_watch_internal.outcomes (purchase, hour, amount, way, was_stuck, outcome, site, currency)
    select id, date_trunc('hour', now()) - (case when i > 170 then 60 else 220 + i % 40 end) * interval '1 hour', 10.5, 6, false, 'paid', 'se',
      case when i <= 120 then 'SEK' else 'EUR' end from more`;
  await sql`
    insert into purchase_watch_internal.outcome_hours (hour, customers, amount, way, was_stuck, outcome, site, currency)
    select hour, count(*), sum(amount), way, was_stuck, outcome, site, currency from purchase_watch_internal.outcomes group by 1, 4, 5, 6, 7, 8`;
});
afterAll(() => t?.stop());

const page = async (query = ''): Promise<string> =>
  (await (await fetch(`${origin}/trends${query}`, { headers })).text()).replaceAll('\u00a0', ' ').replaceAll('&amp;', '&');

const LINK =
  /<a(?: tabindex="-1")? href="(\/purchases\?[^"]*endedFrom[^"]*)"(?: title="([^"]*)")?>([^<]+)(?:<span class="vh">[^<]*<\/span>)?<\/a>/g;
/** Of the cells of a table each so-manieth is followed; of weekdays all. */
const CELLS = 7;

/** Links to lists with their figures: a count, or the sum of an amount. */
function figuresOf(text: string, every = CELLS): { address: string; shown: string }[] {
  let cells = 0;
  return [...text.matchAll(LINK)].flatMap(([, address, title, shown]) => {
    // A cell shows a share; its title says of how many.
    const figure = title === undefined ? shown! : (/ of ([\d ]+) paid/.exec(title)?.[1] ?? '');
    if (title !== undefined && cells++ % every !== 0) return [];
    const isFigure = /^[\d ]+(\.\d\d [A-Z]{3})?$/.test(figure);
    return isFigure ? [{ address: address!, shown: figure.replaceAll(/(?<=\d) (?=\d)/g, '') }] : [];
  });
}

async function listed(address: string): Promise<{ count: number; sum: number }> {
  const answer = await fetchAsMachine(`${origin}${address.replace('/purchases?', '/v1/purchases.csv?')}`);
  expect(answer.status, address).toBe(200);
  const lines = (await answer.text()).trim().split('\n').slice(1);
  return { count: lines.length, sum: lines.length * 10.5 };
}

describe.each(['', '?range=24h', '?range=7d&site=no', '?range=30d', '?range=90d'])('trends%s', (query) => {
  test('each figure leads to a list with that many purchases', { timeout: 120_000 }, async () => {
    const text = await page(query);
    const ofWeekdays = /range=[39]0d/.test(query);
    const figures = figuresOf(text, ofWeekdays ? 1 : CELLS);
    // The one worse slice, of one currency: two figures of it are followed below.
    const ofSlice = figures.filter(({ address }) => /site=se&.*currency=SEK/.test(address) && !/[?&]wasStuck/.test(address));
    expect(ofSlice).toHaveLength(query === '' ? 2 : 0);
    if (query === '')
      expect(text).toMatch(/<b>se, last waiting for the card provider, SEK<\/b>: [\d.]+ % paid, [\d.]+ percentage points less/);
    expect(figures.length).toBeGreaterThan(28);
    if (ofWeekdays) {
      // Cells of one hour and of three, and the heads of the rows, from which keys go to the cells.
      expect(figures.filter(({ address }) => /&endedHours=\d+&/.test(address)).length).toBeGreaterThan(150);
      expect(figures.filter(({ address }) => /&endedHours=\d+-\d+&/.test(address)).length).toBe(7 * 8);
      expect(text.match(/<th scope="row"><a href="[^"]*endedWeekday=\d&zone=Europe%2FStockholm/g)).toHaveLength(14);
    }
    const apart = new Map(figures.map((figure) => [`${figure.address} ${figure.shown}`, figure]));
    for (const { address, shown } of apart.values()) {
      const { count, sum } = await listed(address);
      if (/[A-Z]/.test(shown)) expect(`${sum.toFixed(2)}`, address).toBe(shown.split(' ')[0]);
      else expect(count, address).toBe(Number(shown));
    }
  });
});

test('the page of a list says what it is of', async () => {
  const address =
    '/purchases?site=se&endedFrom=2026-11-19T23:00Z&endedTo=2026-11-26T23:00Z&end=not_paid&lastWaited=WaitingForCardPayments&wasStuck=true';
  const text = (await (await fetch(origin + address, { headers })).text()).replaceAll('\u00a0', ' ');
  expect(/<h1[^>]*>([^<]*)/.exec(text)![1]).toMatch(
    /^Purchases at se, not paid, stuck before they ended, last waiting for the card provider, ended since \S+ 00:00 and before \S+ 00:00\.$/,
  );
  expect(text).toContain('The newest first.');
});

test.each([
  ['endedWeekday=1&endedHours=12-14&zone=Europe/Stockholm', 'on Mondays between 12 and 15 h'],
  ['endedWeekday=7&zone=Asia/Kolkata', 'on Sundays (Asia/Kolkata)'],
  ['endedHours=23', 'between 23 and 24 h (UTC)'],
])('the page of a list of %s says so', async (query, words) => {
  const address = `/purchases?endedFrom=2026-09-19T22:00Z&endedTo=2026-11-26T23:00Z&end=paid&${query}`;
  const text = (await (await fetch(origin + address, { headers })).text()).replaceAll('\u00a0', ' ');
  const [, heading = ''] = /<h1[^>]*>([^<]*)/.exec(text) ?? [];
  expect(heading).toMatch(/^Purchases, paid, ended .* since \S+ 00:00 and before \S+ 00:00\.$/);
  expect(heading).toContain(`, ended ${words} since `);
  // The filter stays when the form is sent again.
  for (const [name, value] of new URLSearchParams(query))
    expect(text).toContain(`<input type="hidden" name="${name}" value="${value}">`);
});

test('a weekday without a time to look in is refused with what to do', async () => {
  const answer = await fetch(`${origin}/purchases?endedWeekday=1`, { headers });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain('endedFrom: is missing: endedWeekday and endedHours need a time to look in');
});

test('a figure of which a purchase was deleted has no link any more', async () => {
  const before = figuresOf(await page('?range=24h'));
  await t.database.sql`
    update purchase_watch_internal.outcome_hours set gone = 1
    where hour = (select max(hour) from purchase_watch_internal.outcome_hours) and outcome = 'paid'`;
  const after = figuresOf(await page('?range=24h'));
  expect(after.length).toBeLessThan(before.length);
  expect(await page('?range=24h')).toMatch(
    /<tr class="all"><th scope="row">All<\/th><td class="num" data-l="customers">\d+<\/td>/,
  );
});

test('arrow keys go from cell to cell of a table of hours, and over cells without a list', async () => {
  const browser = await startBrowser();
  try {
    const { page: shown, misdeeds } = await openByLink(browser, { origin });
    await shown.setViewportSize({ width: 1280, height: 900 });
    await shown.goto('/trends');
    const at = () =>
      shown.evaluate(
        `(({ parentElement, cellIndex }) => [parentElement.rowIndex, cellIndex])(document.activeElement.closest('.heat :is(td, th)'))`,
      );
    // The second row has no list at its fourth hour.
    await shown.evaluate(`document.querySelector('.only-wide .heat').rows[2].cells[4].innerHTML = '<span>·</span>'`);
    await shown.locator('.only-wide .heat tbody tr:nth-child(2) th a').focus();
    const after = async (...keys: string[]) => {
      for (const key of keys) await shown.keyboard.press(key);
      return at();
    };
    expect(await at()).toEqual([2, 0]);
    expect(await after('ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight')).toEqual([2, 5]);
    expect(await after('ArrowLeft')).toEqual([2, 3]);
    expect(await after('ArrowRight', 'ArrowDown', 'ArrowLeft')).toEqual([3, 4]);
    expect(await after('ArrowUp')).toEqual([1, 4]);
    expect(await after('ArrowUp')).toEqual([1, 4]);
    // Of weekdays, too, and to the list of a cell.
    await shown.goto('/trends?range=90d');
    await shown.locator('.only-wide .heat tbody th a').first().focus();
    const [row] = (await at()) as [number, number];
    expect(await after('ArrowRight')).toEqual([row, 1]);
    await shown.getByRole('link', { name: 'Mark a moment' }).click();
    await shown.getByRole('textbox', { name: /^Mark/ }).waitFor();
    await shown.locator('.only-wide .heat tbody th a').first().focus();
    await shown.keyboard.press('ArrowRight');
    await shown.keyboard.press('Enter');
    await shown.waitForURL(new RegExp(`endedWeekday=${row}&.*endedHours=0&`));
    expect(misdeeds.found).toEqual([]);
  } finally {
    await browser.close();
  }
});

test('marks, incidents and silences stand in the lanes', async () => {
  const { sql } = t.database;
  const yesterday = new Date(Date.now() - 26 * HOUR).toISOString();
  await sql`insert into purchase_watch_internal.marks (at, text) values (${yesterday}, 'deploy <4.2>')`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak, severity)
    values ('inc_a', 'stuck', 'se', 6, now() - interval '30 hours', now() - interval '30 hours', now() - interval '28 hours', 0, 9, 1)`;
  const text = await page();
  expect(text).toContain('deploy &lt;4.2&gt;');
  expect(text).toMatch(/<a href="\/incidents\/inc_a"><title>Incident, se, waiting for the card provider/);
  expect(text).toContain('an incident was open');
});

test('the page says since when customers are counted, and draws no time before then', async () => {
  const text = await page('?range=90d');
  expect(/Customers are counted since \S+ \S+: nothing is known of the time before/.test(text)).toBe(true);
  expect(/class="c-usual thin" d=""/.test(text)).toBe(true);
});

test('incidents and silences that would stand on the same pixels are one, with their number and a link to all', async () => {
  const { sql } = t.database;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak, severity)
    select 'inc_of_an_hour' || n, 'stuck', 'se', 6, at, at, at + interval '1 minute', 0, 9, 1
    from generate_series(1, 12) n cross join lateral (select now() - interval '3 days' + n * interval '5 minutes' as at) t`;
  const text = await page();
  expect(/<a href="\/incidents"><title>12 incidents, \S+ \S+ to /.test(text)).toBe(true);
  expect(text.includes('<a href="/incidents/inc_of_an_hour3"><title>')).toBe(false);
  expect(text.includes('<a href="/incidents/inc_of_an_hour3">Incident')).toBe(true);
  await sql`delete from purchase_watch_internal.incidents where id like 'inc_of%'`;
});

test('where more happened than is listed, the page says from when on everything is there', async () => {
  const { sql } = t.database;
  expect((await page()).includes('More happened than is shown')).toBe(false);
  await sql`
    insert into purchase_watch_internal.silences (site, reason, created_by, starts_at, ends_at)
    select 'se', 'many', 'Kim', at, at + interval '1 minute'
    from generate_series(1, 201) n cross join lateral (select now() - interval '3 days' - n * interval '1 minute' as at) t`;
  expect(
    /More happened than is shown: incidents, silences and marks from before \S+ \S+ may be left out/.test(await page()),
  ).toBe(true);
  await sql`delete from purchase_watch_internal.silences where reason = 'many'`;
});

test.each([
  ['?range=8d', /range/],
  ['?site=nowhere', /nowhere/],
])('%s is refused with what to do', async (query, words) => {
  const answer = await fetch(`${origin}/trends${query}`, { headers });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  const text = await answer.text();
  expect(text).toMatch(words);
  expect(text).toContain('Show the last 7 days');
});
