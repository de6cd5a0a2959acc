/** A receiver that fails at night: what it answered, what waits, and what Resume does, on the pages of its incident, its deliveries and a purchase. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { OPERATOR, openSignedIn, READER, startBrowser } from '../support/browser.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** Deliveries that are parked beside those that were tried. */
const PARKED = 9_500;
const COOKIE = 'cookie-value-never-kept-1';
const TOKEN = 'token-value-never-kept-2';
const ECHOED = 'echoed-header-never-kept-3';
const OTHERS = 'credential-of-another-never-kept-4';
const LONG = `com.example.books.OrderController.accept(OrderController.java:118)${' at com.example.Frame.run(Frame.java:1)'.repeat(120)}`;
const ANSWER = JSON.stringify({
  error: { code: 'internal', message: 'NullPointerException in OrderController.java:118' },
  request: { 'x-books': ECHOED, authorization: `Bearer ${OTHERS}` },
  at: LONG,
});

let browser: Browser;
let t: TestApp;
let origin: string;
let receiver: Receiver;
let incident: string;
let purchase: string;
let failed: string;

const api = (method: string, path: string, json?: unknown) =>
  fetch(origin + path, {
    method,
    headers: { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
const bodyOf = async (path: string): Promise<any> => (await api('GET', path)).json();

beforeAll(async () => {
  browser = await startBrowser();
  const env = { API_KEY: OPERATOR, API_READ_KEY: READER, SECRETS_KEY: 'a key to encrypt with, of many characters' };
  t = await startTestApp({ realClock: true, env, inventsEvents: true });
  await t.app.start();
  origin = t.app.url()!;
  receiver = await startReceiver();
  receiver.respondAlways({
    status: 500,
    headers: {
      'content-type': 'application/json',
      'x-request-id': '7f3a91c2',
      'set-cookie': `session=${COOKIE}`,
      'x-amz-security-token': TOKEN,
      location: `https://books.example/in/${TOKEN}`,
    },
    body: ANSWER,
  });
  await api('POST', '/v1/subscribers', { name: 'books', url: receiver.url, headers: { 'x-books': ECHOED } });
  for (let count = 0; count < 4; count++) await api('POST', '/v1/subscribers/books/test?wait=20s');
  const patience = { timeout: 20_000, interval: 50 };
  await vi.waitUntil(async () => (await bodyOf('/v1/subscribers/books')).health.status === 'paused', patience);
  // No try falls into the test.
  await t.database.sql`update purchase_watch_internal.subscriber_health set paused_until = now() + interval '2 hours'`;
  await t.database.sql`select pg_notify('purchase_watch_wake', 'subscribers')`;
  purchase = await t.watch({ script: [{ state: 'WaitingForCardPayments' }] }, { reference: 'ORD-1042' });
  const ofPurchase = `/v1/deliveries?purchase=${purchase}&subscriber=books`;
  await vi.waitUntil(async () => (await bodyOf(ofPurchase)).data.length === 1, patience);
  [{ id: failed }] = (await bodyOf('/v1/deliveries?subscriber=books&limit=10')).data.filter(
    (each: { tries: number }) => each.tries > 0,
  );
  await parkMany();
  await manyEvents();
  incident = 'inc_books';
  await t.database.sql`
    insert into purchase_watch_internal.incidents (id, kind, subscriber, opened_at, since, count, peak, severity)
    values (${incident}, 'subscriber', 'books', now(), now(), 4, 4, 2)`;
}, 120_000);

afterAll(async () => {
  await t?.stop();
  await receiver?.stop();
  await browser?.close();
});

/** Events that nobody else gets, parked for the subscriber. */
async function parkMany(): Promise<void> {
  await t.database.sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_parked' || n, case when n % 25 = 0 then 'site.unreachable' when n % 350 = 1 then 'site.unknown_state' else 'site.reachable' end,
        'default', n % 64, now() - n * interval '100 ms', '{"id": "evt", "type": "site.reachable", "data": {}}' from generate_series(1, ${PARKED}::integer) n order by n desc
      returning position, shard)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select e.position, -e.position, s.id, e.shard, now() from event e join purchase_watch_internal.subscribers s on s.name = 'books'`;
}

/** An id as long as some services make them, and a purchase that went to and fro 200 times. */
const LONG_ID = `LONG-${'0123456789abcdef'.repeat(7)}`;
const EVENTS = 201;

async function manyEvents(): Promise<void> {
  await t.watch({ purchaseId: LONG_ID, script: [{ state: 'WaitingForCardPayments' }] }, { reference: `ORD-${'9'.repeat(90)}` });
  await vi.waitUntil(async () => (await t.rowOf(LONG_ID)).state !== null, { timeout: 20_000, interval: 50 });
  const { id } = await t.rowOf(LONG_ID);
  const { sql } = t.database;
  await sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, not_before, not_after, sequence, from_sequence, from_state, to_state)
    select ${id}, now() - (${EVENTS} - n) * interval '1 minute', now() - (${EVENTS} - n) * interval '1 minute' + interval '20 s', n, n - 1,
      case when n % 2 = 0 then 6 else 1 end, case when n % 2 = 0 then 1 else 6 end from generate_series(2, ${EVENTS}::integer) n order by n`;
  await sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body, purchase, sequence, previous, state)
      select 'evt_many' || n, 'purchase.state_changed', 'default', p.shard, now() - (${EVENTS} - n) * interval '1 minute' + interval '20 s', '{"id": "evt"}', p.id, n, n - 1, 6
      from generate_series(2, ${EVENTS}::integer) n join purchase_watch.purchases p on p.id = ${id} order by n
      returning position, shard, purchase)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at, attempts, took_ms, http_status)
    select e.position, e.purchase, s.id, e.shard, now(), case s.name when 'books' then 'pending' else 'delivered' end,
      case s.name when 'books' then null else now() end, case s.name when 'books' then 0 else 1 end, 12, 200
    from event e join purchase_watch_internal.subscribers s on s.name in ('books', 'default')`;
  await sql`update purchase_watch.purchases set sequence = ${EVENTS} where id = ${id}`;
}

/** Every row of every table, as text. */
async function wholeDatabase(): Promise<string> {
  const { sql } = t.database;
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`;
  const texts = await Promise.all(tables.map(({ name }) => sql.unsafe(`select t::text as row from ${name} t`)));
  return texts.flatMap((rows) => rows.map(({ row }) => String(row))).join('\n');
}

const PAGES = () => [
  `/incidents/${incident}`,
  `/deliveries/${failed}`,
  `/purchases/default/${purchase}`,
  `/purchases/default/${LONG_ID}`,
  '/deliveries?subscriber=books&status=parked',
  '/subscribers/books',
];

test('the incident says the true count, why, the next try, and the whole answer', async () => {
  const { page, context, misdeeds } = await openSignedIn(browser, { origin, key: OPERATOR, to: `/incidents/${incident}` });
  const [{ count }] = await t.database.sql<[{ count: number }]>`
    select count(*)::float8 as count from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber
    where s.name = 'books' and d.status = 'pending'`;
  expect(count).toBeGreaterThan(PARKED);
  const spoken = String(count).replace(/\B(?=(?:\d{3})+$)/g, '.');
  expect(await page.locator('h1').textContent()).toMatch(
    new RegExp(`^books takes nothing since [\\d:]+: ${spoken} events are parked, none is lost\\.$`),
  );
  expect(await page.locator('.head .sub').first().textContent()).toMatch(
    /It answers 500 each time: NullPointerException in OrderController\.java:118\. books is paused after 4.failures in a row: the next try is at [\d:]+, in/,
  );
  const answer = page.getByRole('region', { name: 'The whole answer' });
  expect(await answer.textContent()).toMatch(
    /^HTTP\/1\.1 500 Internal Server Error\n[\s\S]*x-request-id: 7f3a91c2\n[\s\S]*\n\n\{/,
  );
  expect(await answer.textContent()).toContain(LONG);
  expect(await page.locator('.ladder [aria-current]').textContent()).toContain('4: 1');
  const types = await page.locator('table.parked-types tbody tr').allTextContents();
  expect(types.map((text) => text.replace(/\s+/g, ' '))).toEqual(
    expect.arrayContaining([expect.stringMatching(/^site\.unreachable ?380/), expect.stringMatching(/^site\.unknown_state ?28/)]),
  );
  const { types: counted, count: all, untyped } = await bodyOf('/v1/subscribers/books/waiting');
  expect(counted.reduce((sum: number, each: { count: number }) => sum + each.count, 0) + untyped).toBe(all);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('a header with a secret reaches neither database, nor page, nor log', async () => {
  const { page, context } = await openSignedIn(browser, { origin, key: OPERATOR, to: '/' });
  const shown: string[] = [];
  for (const path of PAGES()) {
    await page.goto(path);
    shown.push(await page.content());
  }
  const answers = JSON.stringify([await bodyOf('/v1/subscribers/books/waiting'), await bodyOf(`/v1/deliveries/${failed}`)]);
  const stored = await wholeDatabase();
  expect(stored).toContain('NullPointerException');
  expect(stored).toContain('set-cookie: [not kept]');
  for (const secret of [COOKIE, TOKEN, ECHOED, OTHERS])
    for (const [where, text] of Object.entries({ stored, answers, log: t.log.join(''), pages: shown.join('') }))
      expect([where, text.includes(secret)]).toEqual([where, false]);
  await context.close();
});

test('the page of a delivery groups equal failures, and says what sending again does while it is parked', async () => {
  const { page, context, misdeeds } = await openSignedIn(browser, { origin, key: OPERATOR, to: `/deliveries/${failed}` });
  const again = page.getByRole('button', { name: 'Send this 1 delivery again' });
  expect(await again.getAttribute('aria-describedby')).toBe('again');
  expect(await page.locator('#again').textContent()).toMatch(
    /It waits already with 9.[5-9]\d\d others\. Sending it again begins its schedule again, and nothing is sent before it takes events again/,
  );
  await page.locator('#whole-answer').focus();
  expect(await page.locator('#whole-answer').evaluate((each) => each.scrollWidth <= each.clientWidth)).toBe(true);
  await t.database.sql`
    insert into purchase_watch_internal.attempts (delivery, number, at, took_ms, http_status, outcome, fault, excerpt)
    select ${Number(failed.slice(4))}, n + 100, now() + n * interval '6 minutes', 40, 500, 'http_500', 'receiver', 'no' from generate_series(1, 8) n`;
  await page.reload();
  expect(await page.locator('table.attempts tbody tr').count()).toBe(1);
  expect(await page.locator('table.attempts tbody tr').textContent()).toMatch(/the same 9 times in a row, [\d:]+ to [\d:]+/);
  await t.database.sql`delete from purchase_watch_internal.attempts where delivery = ${Number(failed.slice(4))} and number > 100`;
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('a purchase has one line for a receiver that is paused, with Resume; a reader sees it without the button', async () => {
  const { page, context } = await openSignedIn(browser, { origin, key: READER, to: `/purchases/default/${purchase}` });
  expect(await page.locator('.held').textContent()).toMatch(
    /books is paused after 4.failures in a row.* 1 event waits for it here/,
  );
  expect(await page.getByRole('button', { name: 'Resume books' }).count()).toBe(0);
  expect(await page.locator('main').textContent()).not.toMatch(/\d{4}-\d\d-\d\dT|500\., /);
  await page.goto(`/purchases/default/${LONG_ID}`);
  expect(await page.locator('.held').count()).toBe(1);
  expect(await page.locator('.held').textContent()).toContain(`${EVENTS} events wait for it here`);
  expect(await page.locator('h1').textContent()).toMatch(/^Waiting for the card provider for .*, with [\d.]+ EUR\.$|^Waiting/);
  await context.close();
});

test('Resume on the incident tries one event, with the keyboard alone, and what is parked follows', async () => {
  receiver.respondAlways({ status: 200, body: 'ok' });
  const { page, context } = await openSignedIn(browser, { origin, key: OPERATOR, to: `/incidents/${incident}` });
  const resume = page.getByRole('button', { name: 'Resume: try one event now' });
  expect(await page.locator('#resume-says').textContent()).toMatch(
    /If it is taken, the other 9.[5-9]\d\d follow in order, few at once at first.*If not, 4 failures in a row pause books again, for 1.min at first\./,
  );
  await resume.focus();
  await page.keyboard.press('Enter');
  await page.getByText('It is tried with one event now.').waitFor();
  expect(page.url()).toContain(`/incidents/${incident}`);
  await expect.poll(async () => (await bodyOf('/v1/subscribers/books/waiting')).count, { timeout: 60_000 }).toBeLessThan(PARKED);
  await context.close();
});
