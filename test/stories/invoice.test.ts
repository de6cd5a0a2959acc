import { afterEach, expect, test } from 'vitest';
import type { Settings } from '../../src/config/settings.ts';
import { requestInvoice } from '../../src/postgres/purchases/invoices.ts';
import { stopPurchase } from '../../src/postgres/purchases/purchases.ts';
import { startTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts';
import { testClock } from '../support/test-clock.ts';

let t: TestApp;
afterEach(() => t.stop());

const asking = (options: TestAppOptions = {}) => startTestApp({ ...options, env: { CHECKOUT_INVOICES: 'true', ...options.env } });
const PAID: Parameters<TestApp['watch']>[0] = { script: [{ state: 'Completed' }], paymentMethod: 'invoice', price: '1249.50' };

const rowOf = async (purchaseId: string) => {
  const [row] = await t.app.sql<
    { invoice: string | null; status: string; failures: number; error: string | null; due: number | null }[]
  >`
    select invoice, status, failures, last_error as error, next_poll_at as due from purchase_watch.purchases where purchase_id = ${purchaseId}`;
  return row!;
};
const typesOf = (purchaseId: string): string[] => t.eventsOf(purchaseId).map(({ type }) => type);
const invoiceCalls = (): number => t.simulator.control.counters().calls.invoice;
const pollAndTell = async (): Promise<void> => {
  t.clock.catchUp();
  await t.app.pollOnce();
  t.clock.catchUp();
  await t.app.deliverOnce();
};

test('the invoice of a completed purchase is fetched once and announced after the change, digit for digit', async () => {
  t = await asking();
  const purchase = await t.watch(
    { ...PAID, script: [{ state: 'WaitingForEidApp' }, { state: 'Completed', after: '30s' }], currency: 'SEK' },
    { reference: 'ORD-1' },
  );
  await t.app.pollOnce();
  expect(invoiceCalls()).toBe(0);
  t.clock.advance('1m');
  await pollAndTell();

  expect(typesOf(purchase)).toEqual(['purchase.state_changed', 'purchase.state_changed', 'purchase.invoice_ready']);
  const { body, verified } = t.receiver.received.at(-1)!;
  expect(verified).toBe(true);
  expect(body).toMatch(
    new RegExp(
      `^\\{"id":"evt_[0-9A-Z]{26}","type":"purchase.invoice_ready","timestamp":"[^"]+Z","data":\\{"site":"default","purchaseId":"${purchase}","sequence":3,` +
        '"invoice":\\{"totalAmount":1249.50,"totalAuthorizedAmount":1374.45,"minimumAmountToPay":249.90,' +
        '"invoiceDate":"\\d{4}-\\d\\d-\\d\\dT00:00:00[^"]*","dueDate":"\\d{4}-\\d\\d-\\d\\dT00:00:00[^"]*","completed":"[^"]+Z","debitItems":2,"creditItems":0\\},' +
        '"reference":"ORD-1","metadata":null,"price":1249.50,"currency":"SEK","orderReference":"[^"]+"\\}\\}$',
    ),
  );
  expect(await rowOf(purchase)).toMatchObject({ invoice: 'ready', status: 'settled', due: null, failures: 0, error: null });
  t.clock.advance('20d');
  await pollAndTell();
  expect(invoiceCalls()).toBe(1);
});

test('one that is completed when it is seen first has its invoice announced, too', async () => {
  t = await asking();
  const purchase = await t.watch(PAID);
  await pollAndTell();
  expect(typesOf(purchase)).toEqual(['purchase.state_changed', 'purchase.invoice_ready']);
});

test('a site that does not ask for invoices is never asked for one, until somebody does', async () => {
  t = await startTestApp();
  const purchase = await t.watch(PAID);
  await pollAndTell();
  expect([invoiceCalls(), (await rowOf(purchase)).invoice]).toEqual([0, null]);
  const row = await t.rowOf(purchase);
  expect(await requestInvoice(t.app.sql, row)).toBe('wanted');
  await pollAndTell();
  expect(typesOf(purchase)).toEqual(['purchase.state_changed', 'purchase.invoice_ready']);
  expect(await requestInvoice(t.app.sql, row)).toBe('ready');
  await pollAndTell();
  expect(invoiceCalls()).toBe(1);
});

test('a purchase of a kind without invoices is asked for one once, and nothing is told', async () => {
  t = await asking();
  const purchase = await t.watch({ ...PAID, paymentMethod: 'card' });
  await pollAndTell();
  t.clock.advance('20d');
  await pollAndTell();
  expect(invoiceCalls()).toBe(1);
  expect(typesOf(purchase)).toEqual(['purchase.state_changed']);
  expect(await rowOf(purchase)).toMatchObject({ invoice: 'none', status: 'settled', due: null, error: null });
});

test("the site's trouble with invoices holds up nothing else, and is waited out", async () => {
  t = await asking();
  t.simulator.control.fail({ kind: '503', times: 3, only: 'invoice' });
  const purchase = await t.watch(PAID);
  await pollAndTell();
  expect(typesOf(purchase)).toEqual(['purchase.state_changed']);
  expect(await rowOf(purchase)).toMatchObject({ invoice: 'wanted', failures: 0 });
  expect((await rowOf(purchase)).error).toContain('HTTP 503');
  await t.live(10_000);
  expect(typesOf(purchase)).toEqual(['purchase.state_changed', 'purchase.invoice_ready']);
  expect(await rowOf(purchase)).toMatchObject({ invoice: 'ready', error: null });
});

test.each(['invalid-json', 'other-purchase', 'cut', 'huge', 'html', 'hang'] as const)(
  'an invoice spoiled by "%s" is never announced, and the good one is, once',
  async (kind) => {
    // Only what never comes is waited for.
    t = await asking({ env: kind === 'hang' ? { CHECKOUT_TIMEOUT: '1500ms' } : {} });
    t.simulator.control.fail({ kind, times: 2, only: 'invoice' });
    const purchase = await t.watch(PAID);
    await pollAndTell();
    expect(typesOf(purchase)).toEqual(['purchase.state_changed']);
    await t.live(10 * 60_000);
    expect(typesOf(purchase)).toEqual(['purchase.state_changed', 'purchase.invoice_ready']);
    expect(t.receiver.received.at(-1)!.body).toContain('"totalAmount":1249.50,');
    expect(invoiceCalls()).toBe(3);
  },
);

test('an answer that never becomes an invoice is given up after some hours, and says so', async () => {
  t = await asking();
  t.simulator.control.fail({ kind: 'invalid-json', for: '2d', only: 'invoice' });
  const purchase = await t.watch(PAID);
  for (let tries = 1; tries <= 8; tries++) {
    await t.app.pollOnce();
    const { due } = await rowOf(purchase);
    expect(due === null).toBe(tries === 8);
    if (due !== null) t.clock.advance(`${due - t.clock.now()}ms`);
  }
  expect(await rowOf(purchase)).toMatchObject({ invoice: 'none', status: 'settled', due: null, failures: 8 });
  expect((await rowOf(purchase)).error).toMatch(/^The invoice could not be read\. .*JSON/);
  expect(invoiceCalls()).toBe(8);
});

test('an invoice that is always asked to come later is asked for ever more rarely, so that polls go on', async () => {
  const hand = testClock();
  // While the site rests, a poll waits this long in vain for its turn.
  t = await asking({ env: { CHECKOUT_TIMEOUT: '1s' }, replacements: { clock: { ...hand, monotonic: hand.now } } });
  t.simulator.control.fail({ kind: '429-seconds', for: '30d', only: 'invoice' });
  const purchase = await t.watch(PAID);
  for (let n = 0; n < 20; n++) {
    await t.app.pollOnce();
    hand.advance('1m');
  }
  expect(await rowOf(purchase)).toMatchObject({ invoice: 'wanted', failures: expect.toSatisfy((count: number) => count > 2) });
  expect(invoiceCalls()).toBeLessThan(15);
});

test('a purchase that is cancelled before its invoice could be read has none', async () => {
  t = await asking();
  t.simulator.control.fail({ kind: '503', for: '5s', only: 'invoice' });
  const purchase = await t.watch({ ...PAID, script: [{ state: 'Completed' }, { state: 'Cancelled', after: '20s' }] });
  await t.app.pollOnce();
  t.clock.advance('30s');
  await pollAndTell();
  expect(t.changesOf(purchase)).toEqual(['Completed', 'Cancelled']);
  expect(await rowOf(purchase)).toMatchObject({ invoice: 'none', due: null });
});

test('what was under way when a purchase was stopped is not announced', async () => {
  t = await asking();
  t.simulator.control.fail({ kind: '503', times: 1, only: 'invoice' });
  const purchase = await t.watch(PAID);
  await t.app.pollOnce();
  t.simulator.control.setLatency(4_000);
  t.clock.advance('10s');
  const polling = t.app.pollOnce();
  await expect.poll(invoiceCalls).toBe(2);
  await stopPurchase(t.app.sql, await t.rowOf(purchase));
  await polling;
  await t.app.deliverOnce();
  expect(typesOf(purchase)).toEqual(['purchase.state_changed']);
  expect(await rowOf(purchase)).toMatchObject({ status: 'stopped', due: null });
});

/** Every row of every table, as text. */
async function wholeDatabase(): Promise<string> {
  const { sql } = t.app;
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`;
  const texts = await Promise.all(tables.map(({ name }) => sql.unsafe(`select t::text as row from ${name} t`)));
  return texts.flatMap((rows) => rows.map(({ row }) => String(row))).join('\n');
}

test("no person's data of an invoice reaches database, logs or webhooks", async () => {
  t = await asking({ env: { LOG_LEVEL: 'trace' } });
  t.simulator.control.fail({ kind: 'invalid-json', times: 2, only: 'invoice' });
  t.simulator.control.fail({ kind: 'other-purchase', times: 2, only: 'invoice' });
  for (let count = 0; count < 9; count++) await t.watch(PAID);
  await t.live(5 * 60_000);
  expect(invoiceCalls()).toBeGreaterThanOrEqual(13);
  const places = {
    database: await wholeDatabase(),
    logs: t.log.join(''),
    webhooks: t.receiver.received.map(({ body }) => body).join('\n'),
  };
  expect(places.webhooks.split('purchase.invoice_ready')).toHaveLength(10);
  // What the simulator puts into every invoice, beside the people.
  const sensitive = [
    ...t.simulator.control.sensitiveValues(),
    '0000-0042',
    'The Checkout Operator',
    'Goods of order',
    'Shipping',
  ];
  const leaks = sensitive.flatMap((value) =>
    Object.entries(places)
      .filter(([, text]) => text.includes(value))
      .map(([place]) => `${place}: ${value}`),
  );
  expect(leaks).toEqual([]);
});

test('fields that store.fields names are told by the names of the specification, and are kept nowhere but in the event', async () => {
  t = await asking({
    change: (settings: Settings) => {
      settings.store.fields = ['Receiver', 'DueDate', 'DebitItems', 'InvoicingCity'];
    },
  });
  const purchase = await t.watch(PAID);
  await pollAndTell();
  const { details } = t.eventsOf(purchase).at(-1)!.data.invoice as { details: Record<string, unknown> };
  expect(Object.keys(details)).toEqual(['InvoicingCity', 'DueDate', 'Receiver', 'DebitItems']);
  expect(details).toMatchObject({ Receiver: 'The Checkout Operator', DebitItems: [{ TaxCode: 1 }, { Description: 'Shipping' }] });
  expect(t.receiver.received.at(-1)!.body).toMatch(/"Amount":\d+\.\d\d,/);
  const [stored] = await t.app.sql<
    { fields: Record<string, unknown> }[]
  >`select fields from purchase_watch_internal.purchase_details`;
  expect(Object.keys(stored!.fields)).toEqual(['InvoicingCity']);
});
