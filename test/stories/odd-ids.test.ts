/** Purchases with ids that shells, addresses and browsers read as something else: every door shows and erases them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { onDatabase } from '../cli/command.ts';
import { KEYS, OPERATOR } from '../support/browser.ts';
import { registerFromBefore } from '../support/old-ids.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const IDS = [
  ...['...', '%2e', '%2e%2e', '%2F', 'a/b', '/', '//x.example', 'a?b=c', '#a', 'a b', 'a+b', '&amp', '\\', 'register'],
  ...['-x', '--site', '--help', '-', '--', '$(touch ran)', '`ran`', '~', '漢'.repeat(200), '%'.repeat(200)],
];

let t: TestApp;
let origin: string;
let cookie: string;
beforeAll(async () => {
  t = await startTestApp({ realClock: true, env: KEYS });
  await t.app.start();
  origin = t.app.url()!;
  const signedIn = await post('/sign-in', { key: OPERATOR });
  cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!;
});
afterAll(() => t?.stop());

const api = (path: string, json?: unknown) =>
  fetch(origin + path, {
    headers: { 'content-type': 'application/json', authorization: `Bearer ${OPERATOR}` },
    ...(json !== undefined && { method: 'POST', body: JSON.stringify(json) }),
  });
const page = (path: string) => fetch(origin + path, { headers: { cookie } });
const post = (path: string, fields: Record<string, string>) =>
  fetch(origin + path, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { origin, ...(cookie !== undefined && { cookie }) },
    redirect: 'manual',
  });
const run = (...argv: string[]) => onDatabase(t.database, argv);

describe.each(IDS)('%s', (id) => {
  const path = encodeURIComponent(id);
  const isKnown = async () => (await api(`/v1/purchases/${path}`)).status === 200;
  const add = async () => expect((await api('/v1/purchases', { purchaseId: id })).status).toBe(201);

  test('is explained and erased by HTTP', async () => {
    await add();
    expect(await (await api(`/v1/purchases/${path}/why`)).json()).toMatchObject({ purchase: { purchaseId: id } });
    expect((await api(`/v1/purchases/${path}/forget`, { dryRun: false })).status).toBe(200);
    expect(await isKnown()).toBe(false);
  });

  test('is shown and erased on the console, by the links of its pages', async () => {
    await add();
    const link = `/purchases/default/${path}`;
    const list = await (await page('/purchases')).text();
    expect(list.replaceAll('&amp;', '&').replaceAll('&#39;', "'")).toContain(`href="${link}"`);
    expect((await page(link)).status).toBe(200);
    expect((await post(`${link}/forget`, { confirm: id })).headers.get('location')).toContain('forgotten');
    expect(await isKnown()).toBe(false);
  });

  test('is shown and erased by commands', async () => {
    await add();
    const named = id.startsWith('-') ? ['--site=default', '--', id] : [id, '--site', 'default'];
    for (const command of ['why', 'status']) expect(await run(command, ...named)).toMatchObject({ exitCode: 0 });
    expect(await run('forget', '--yes', ...named)).toMatchObject({ exitCode: 0 });
    expect(await isKnown()).toBe(false);
  });
});

const REFUSED = [
  ...[
    ['.', 'no web address can hold'],
    ['..', 'no web address can hold'],
    ['\u202efdp', 'cannot be seen'],
    ['"', 'quotation mark'],
  ],
  ...[
    ["'", 'quotation mark'],
    [';', 'separator of columns'],
    ['1.23E+15', 'spreadsheet rounded'],
    ['#REF!', 'spreadsheet shows'],
  ],
] as const;
describe.each(REFUSED)('%j, which no service gives as an id', (id, problem) => {
  test('is registered by no door', async () => {
    const one = await api('/v1/purchases', { purchaseId: id });
    expect([one.status, await one.text()]).toEqual([400, expect.stringContaining(problem)]);
    const batch = await api('/v1/purchases/batch', { purchases: [{ purchaseId: id }] });
    expect(await batch.json()).toMatchObject({ created: 0, rejected: [{ detail: expect.stringContaining(problem) }] });
    // Browsers and spreadsheets put such signs around an id, too, where they are taken away.
    const typed = id.replace('\u202e', 'a\u202e');
    expect(await (await post('/purchases/register', { purchaseId: typed })).text()).toContain(problem);
    const { sql } = t.database;
    await expect(sql`insert into purchase_watch.purchases (purchase_id) values (${id})`).rejects.toThrow(problem);
    await expect(sql`select purchase_watch.watch(${id})`).rejects.toThrow(problem);
    expect(await run('watch', '--', id)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(problem) });
  });

  test('from before that was refused, is still written to, shown and erased by commands', async () => {
    const { sql } = t.database;
    await registerFromBefore(sql, { purchaseId: id, site: 'default', reference: null, metadata: null });
    await sql`update purchase_watch.purchases set next_poll_at = next_poll_at where purchase_id = ${id}`;
    for (const command of ['why', 'status', 'unwatch']) expect(await run(command, id)).toMatchObject({ exitCode: 0 });
    expect(await run('forget', id, '--yes')).toMatchObject({ exitCode: 0 });
  });
});
