import { afterEach, expect, test } from 'vitest';
import { LIFE_NAMES } from '../../packages/simulator/src/contract/names.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

/** Every row of every table, as text. */
async function wholeDatabase(): Promise<string> {
  const { sql } = t.app;
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`;
  const texts = await Promise.all(tables.map(({ name }) => sql.unsafe(`select t::text as row from ${name} t`)));
  return texts.flatMap((rows) => rows.map(({ row }) => String(row))).join('\n');
}

/** Lives through all kinds of purchases, good answers and bad ones, with everything that is told of them. */
async function liveThroughEverything(): Promise<string[]> {
  const purchases: string[] = [];
  for (const script of LIFE_NAMES) purchases.push(await t.watch({ script }));
  // So many that their page is called broken, and Slack hears of it.
  const stuck = [{ state: 'New' }, { state: 'WaitingForIdentityProvider', after: '5s' }];
  for (let customer = 0; customer < 5; customer++) purchases.push(await t.watch({ script: stuck }));
  for (let pass = 0; pass < 30; pass++) {
    if (pass === 10) t.simulator.control.fail({ kind: 'invalid-json', times: 5 });
    if (pass === 12) t.simulator.control.fail({ kind: 'other-purchase', times: 3 });
    if (pass === 14) t.simulator.control.fail({ kind: 'string-state', times: 3 });
    if (pass === 16) t.simulator.control.expireTokens();
    if (pass === 18) t.simulator.control.fail({ kind: 'cut', times: 2 });
    await t.live(40_000, 2_000);
  }
  return purchases;
}

test("no person's data, token or secret of an answer reaches database, logs, webhooks, Slack or API", async () => {
  t = await startTestApp({ env: { LOG_LEVEL: 'trace', API_KEY: 'key-that-nobody-may-see-0123456789' } });
  const purchases = await liveThroughEverything();
  await t.app.start();
  const api: string[] = [];
  const authorization = { authorization: 'Bearer key-that-nobody-may-see-0123456789' };
  for (const path of [
    '/v1/purchases?limit=500',
    `/v1/purchases/${purchases[0]}`,
    '/v1/purchases/nobody',
    '/readyz',
    '/openapi.json',
  ]) {
    api.push(await (await fetch(`${t.app.url()}${path}`, { headers: authorization })).text());
  }
  const places = {
    database: await wholeDatabase(),
    logs: t.log.join(''),
    webhooks: t.receiver.received.map(({ body, headers }) => body + JSON.stringify(headers)).join('\n'),
    slack: JSON.stringify(t.slack.received),
    api: api.join('\n'),
  };
  for (const [place, text] of Object.entries(places)) expect(text.length, place).toBeGreaterThan(100);
  const sensitive = [
    ...t.simulator.control.sensitiveValues(),
    'key-that-nobody-may-see-0123456789',
    t.settings.subscribers[0]!.secret!,
    t.slack.url,
  ];
  expect(sensitive.length).toBeGreaterThan(100);
  const leaks = sensitive.flatMap((value) =>
    Object.entries(places)
      .filter(([, text]) => text.includes(value))
      .map(([place]) => `${place}: ${value}`),
  );
  expect(leaks).toEqual([]);
});

test('a field that store.fields names is stored and sent, and no other', async () => {
  t = await startTestApp({
    change: (settings) => {
      settings.store.fields = ['Mail'];
    },
  });
  const purchase = await t.watch({ script: 'card-paid' });
  for (let pass = 0; pass < 20; pass++) {
    await t.app.pollOnce();
    t.clock.advance('1m');
  }
  await t.app.deliverOnce();
  const [row] = await t.app.sql<
    { fields: Record<string, unknown> }[]
  >`select fields from purchase_watch_internal.purchase_details`;
  expect(Object.keys(row!.fields)).toEqual(['Mail']);
  const last = t.eventsOf(purchase).at(-1)!;
  expect(last.data).toMatchObject({ price: null, currency: null, orderReference: null });
});
