/**
 * Hostile text stays text: markup, control characters, characters that turn the direction of writing, and thousands of letters
 * without a space, in every field that a customer, a merchant, the service, a receiver or a colleague controls.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OPERATOR, openPage, startBrowser, TOO_WIDE } from '../support/browser.ts';
import { registerFromBefore } from '../support/old-ids.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** Makes elements where it is taken for markup, and then says so by `hit`. */
const MARKUP = `<x-evil></x-evil><img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>'"&lt;x-evil&gt;`;
const TURNED = '\u202eevil\u2066\u200f';
const HOSTILE = `${MARKUP}${TURNED}`;
const LONG = `${HOSTILE}\u001b[31m\u0007${'W'.repeat(4_000)}`;
/** Of the service's answers these are numbers, times, or looked at before anything is kept. */
const KEPT = ['PurchaseId', 'PurchaseID', 'Created', 'BeingProcessed', 'Completed', 'Cancelled', 'InvoiceDate', 'DueDate'];

/** Runs in the page: what it shows, and what it must not have. */
const LOOK = `({
  text: document.body.textContent,
  made: document.querySelectorAll('x-evil, body img, body script').length,
  wasHit: 'hit' in globalThis,
  isWide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
})`;

let browser: Browser;
let t: TestApp;
let origin: string;
let service: Server;
let receiver: Server;
/** Where the simulator is; the product asks the service in front of it. */
let simulator: string;

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function serve(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => Promise<void>,
): Promise<Server> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    await answer(request, response, Buffer.concat(chunks).toString());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** An answer of the service with hostile text in each field that is a text. */
function poisoned(value: unknown, name = ''): unknown {
  if (KEPT.includes(name)) return value;
  if (typeof value === 'string') return name === 'CurrencyCode' ? value : LONG;
  if (Array.isArray(value)) return value.map((each) => poisoned(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, poisoned(each, key)]));
}

async function answerAsService({ url = '', method = 'GET', headers }: IncomingMessage, response: ServerResponse, body: string) {
  if (url.startsWith('/away')) {
    response.statusMessage = MARKUP;
    return void response.writeHead(500, { 'content-type': 'text/html', 'x-error': MARKUP }).end(`<html>${LONG}</html>`);
  }
  const passed = Object.fromEntries(
    ['authorization', 'content-type', 'accept'].flatMap((name) =>
      headers[name] === undefined ? [] : [[name, String(headers[name])]],
    ),
  );
  const answer = await fetch(simulator + url, { method, headers: passed, ...(method === 'GET' ? {} : { body }) });
  const text = await answer.text();
  const isOfPurchase = url.includes('CheckOut2Api') && answer.ok;
  response.writeHead(answer.status, { 'content-type': 'application/json' });
  response.end(isOfPurchase ? JSON.stringify(poisoned(JSON.parse(text))) : text);
}

beforeAll(async () => {
  browser = await startBrowser();
  service = await serve(answerAsService);
  receiver = await serve(async (_request, response) => {
    response.statusMessage = MARKUP;
    response.writeHead(503, { 'content-type': 'text/html', 'x-reason': MARKUP, server: MARKUP }).end(LONG);
  });
  t = await startTestApp({
    realClock: true,
    env: { API_KEY: OPERATOR, SECRETS_KEY: 'a key to encrypt with, of many characters' },
    change: (settings) => {
      const [site] = settings.sites;
      simulator = String(site!.baseUrl).replace(/\/$/, '');
      const baseUrl = urlOf(service);
      settings.sites = [
        { ...site!, baseUrl, invoices: true },
        { ...site!, name: 'away', baseUrl: `${urlOf(service)}/away` },
      ];
      settings.store = {
        ...settings.store,
        fields: ['OrderReference', 'SiteCode', 'Description', 'DebitItems', 'CreditItems', 'Mail'],
      };
      settings.apiKeys = settings.apiKeys.map((key) => ({ ...key, name: `key ${MARKUP}` }));
    },
  });
  await t.app.start();
  origin = t.app.url()!;
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
  for (const server of [service, receiver]) server?.close();
});

async function api<Body>(method: string, path: string, json?: unknown): Promise<Body> {
  const headers = { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' };
  const answer = await fetch(origin + path, { method, headers, ...(json !== undefined && { body: JSON.stringify(json) }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as Body;
}

/** Writes hostile text into every field; answers the pages on which it stands, each with a part of what must be read there. */
async function poison(): Promise<[path: string, shows: string][]> {
  const id = `id/../${MARKUP.slice(0, 100)}${TURNED}`;
  const site = 'default';
  t.simulator.control.add({ purchaseId: id, script: [{ state: 'New' }, { state: 'Completed', afterPolls: 1 }] });
  const metadata = JSON.stringify({ note: LONG, [HOSTILE]: [HOSTILE] });
  await registerFromBefore(t.database.sql, { purchaseId: id, site, reference: HOSTILE, metadata });
  const odd = t.simulator.control.add({ script: [{ state: 99 }] }).purchaseId;
  await api('POST', '/v1/purchases', { purchaseId: odd, site, reference: 'W'.repeat(200) });
  await api('POST', '/v1/purchases', { purchaseId: 'lost', site: 'away', reference: HOSTILE });
  await api('POST', '/v1/subscribers', {
    name: 'evil',
    url: `${urlOf(receiver)}/${'w'.repeat(500)}?a=${encodeURIComponent(MARKUP)}`,
  });
  for (let failed = 0; failed < 4; failed++) await api('POST', '/v1/subscribers/evil/test?wait=20s');
  await t.database.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, severity)
    values ('inc_evil', 'stuck', 'default', 6, now(), now(), 3, 4, 1)`;
  await api('POST', '/v1/incidents/inc_evil/acknowledge', { by: MARKUP, note: HOSTILE });
  await api('POST', '/v1/incidents/inc_evil/answer', { cause: 'other', by: MARKUP, note: HOSTILE });
  await api('POST', '/v1/silences', { kind: 'unreachable', by: MARKUP, reason: HOSTILE, endsAt: '2h' });
  await api('POST', '/v1/marks', { text: HOSTILE });
  const page = `/purchases/${site}/${encodeURIComponent(id)}`;
  await expect.poll(() => t.rowOf(id).then(({ state }) => state), { timeout: 60_000 }).toBe(2);
  await expect
    .poll(async () => (await api<{ lastError: string | null }>('GET', '/v1/sites/away')) !== null, { timeout: 60_000 })
    .toBe(true);
  const { data } = await api<{ data: { id: string; purchaseId: string | null }[] }>('GET', '/v1/deliveries?limit=200');
  const { id: test } = (await api<{ data: { id: string }[] }>('GET', '/v1/deliveries?subscriber=evil')).data.at(-1)!;
  const ofPurchase = data.find(({ purchaseId }) => purchaseId === id)!.id;
  const query = encodeURIComponent(MARKUP);
  return [
    ['/', ''],
    ['/purchases', '<x-evil>'],
    [`/purchases?q=${encodeURIComponent(HOSTILE)}`, '<x-evil>'],
    [`/purchases?reference=${query}`, '<x-evil>'],
    [`/purchases?state=${query}`, ''],
    [page, '<script>globalThis.hit=1</script>'],
    [`${page}/forget`, '<x-evil>'],
    [`/purchases/${site}/${odd}`, 'state 99, which is not in the specification'],
    ['/purchases/away/lost', '<x-evil>'],
    [`/purchases/${query}/${query}`, ''],
    ['/incidents', '<x-evil>'],
    ['/incidents/inc_evil', '<x-evil>'],
    [`/incidents/${query}`, '<x-evil>'],
    ['/silences', '<x-evil>'],
    ['/trends', '<x-evil>'],
    ['/subscribers', 'evil'],
    ['/subscribers/evil', '<x-evil>'],
    [`/subscribers/${query}`, ''],
    ['/deliveries', 'evil'],
    [`/deliveries?subscriber=${query}`, ''],
    [`/deliveries/${test}`, '<x-evil>'],
    [`/deliveries/${ofPurchase}`, '<x-evil>'],
    ['/channels', ''],
    ['/sites', ''],
    ['/sites/away', ''],
    [`/sites/${query}`, ''],
    ['/system', '<x-evil>'],
    ['/system/actions', '<x-evil>'],
    ['/system/sessions', '<x-evil>'],
    [`/${query}`, ''],
  ];
}

test('hostile text makes no element, runs no script and widens no page', { timeout: 300_000 }, async () => {
  const pages = await poison();
  const { page, context, misdeeds } = await openPage(browser, {
    origin,
    userAgent: MARKUP,
    viewport: { width: 320, height: 800 },
  });
  await page.goto(`/sign-in?to=/${encodeURIComponent(MARKUP)}`);
  await page.getByLabel('Key of the API').fill(OPERATOR);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForLoadState();
  const wrong: string[] = [];
  for (const [path, shows] of pages) {
    await page.goto(path);
    const found = (await page.evaluate(LOOK)) as { text: string; made: number; wasHit: boolean; isWide: boolean };
    if (found.made > 0 || found.wasHit) wrong.push(`${path} makes elements`);
    if (found.isWide) wrong.push(`${path} is wider than its window: ${await page.evaluate(TOO_WIDE)}`);
    if (!found.text.includes(shows)) wrong.push(`${path} does not show ${shows}`);
  }
  expect(wrong).toEqual([]);
  // Pages of what there is not are answers with 400 and 404, which the browser prints.
  expect(misdeeds.found.filter((each) => !/ 40[04] /.test(each))).toEqual([]);
  await context.close();
});
