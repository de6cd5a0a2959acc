import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { InvoiceReply } from '../../../src/checkout/invoice-details.ts';
import { parseExact } from '../../../src/domain/values/exact-json.ts';
import { fetchAsMachine } from '../../support/machine.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { startTestApi, type TestApi } from '../api.ts';

describe('reading an invoice', () => {
  let t: TestApp;
  beforeEach(async () => {
    const env = { LOG_LEVEL: 'trace', CHECKOUT_TIMEOUT: '10s', API_READ_KEY: 'a-key-that-may-read-all' };
    t = await startTestApp({ realClock: true, env });
    await t.app.start();
  });
  afterEach(() => t.stop());
  const read = async (purchaseId: string) => {
    const response = await fetchAsMachine(`${t.app.url()}/v1/purchases/${purchaseId}/invoice`, {
      headers: { authorization: 'Bearer a-key-that-may-read-all' },
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  };
  const readsLogged = () =>
    t.log
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'api.personal_data_read')
      .map(({ time: _time, level: _level, event: _event, host: _host, replica: _replica, ...fields }) => fields);
  const paid = (differs = {}) =>
    t.watch({ script: [{ state: 'Completed' }], paymentMethod: 'invoice', price: '1249.50', ...differs });

  test('brings all of it, digit for digit, and leaves nothing behind', async () => {
    await t.watch();
    await t.watch();
    const purchase = await paid();
    const { status, headers, text, body } = await read(purchase);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(text).toContain('"totalAmount":1249.50,"totalAuthorizedAmount":1374.45,"minimumAmountToPay":249.90,');
    expect(text).toContain(
      '"creditItems":[{"description":"Voucher","notes":null,"amount":124.95,"taxCode":null,"taxAmount":24.99}]',
    );
    expect(body).toMatchObject({ purchaseId: purchase, site: 'default', state: { value: 2, name: 'Completed' } });
    expect(body.invoicingFirstName).toEqual(expect.any(String));
    expect(body.completed).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(body.dueDate).toMatch(/^\d{4}-\d\d-\d\dT00:00:00/);
    const kept = await t.app
      .sql`select invoice, (select count(*)::integer from purchase_watch_internal.events where type like '%invoice%') as told
      from purchase_watch.purchases where purchase_id = ${purchase}`;
    expect(kept).toMatchObject([{ invoice: null, told: 0 }]);
    for (const value of t.simulator.control.sensitiveValues()) expect(t.log.join('')).not.toContain(value);
    expect(t.log.join('')).not.toContain(body.invoicingAddressLine1);
    expect(readsLogged()).toEqual([
      { key: 'API_READ_KEY', address: '127.0.0.1', call: 'GET /v1/purchases/{id}/invoice', id: purchase, status: 200 },
    ]);
  });

  test.each([
    ['paid by card', { paymentMethod: 'card' }, 404, 'no_invoice', /in state Completed \(2\)\. .*Only Invoice, Loan/],
    ['not completed', { script: [{ state: 'New' }] }, 409, 'not_completed', /in state New \(0\)\. .*only completed purchases/],
  ])('of a purchase that is %s is a problem that says why', async (_, spec, status, code, detail) => {
    const answer = await read(await paid(spec));
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.body.detail).toMatch(detail);
    expect(readsLogged()).toEqual([]);
  });

  test('of a purchase that the service does not know says so', async () => {
    await t.app.sql`insert into purchase_watch.purchases (purchase_id) values ('nobody')`;
    const { status, body } = await read('nobody');
    expect([status, body.code, body.detail]).toEqual([404, 'no_invoice', expect.stringContaining('there is no such purchase')]);
  });

  test('is refused with a reason while the service fails, asks for fewer calls, or is left alone', async () => {
    const purchase = await paid();
    await t.receiver.waitFor((received) => received.length === 1);
    t.simulator.control.fail({ kind: '503', only: 'invoice' });
    expect(await read(purchase)).toMatchObject({ status: 502, body: { code: 'checkout_unavailable' } });
    t.simulator.control.fail({ kind: '429-seconds', only: 'invoice', retryAfter: 30 });
    const throttled = await read(purchase);
    expect([throttled.status, throttled.body.code, throttled.headers.get('retry-after')]).toEqual([503, 'checkout_busy', '30']);
    const calls = t.simulator.control.counters().calls.invoice;
    const left = await read(purchase);
    expect([left.status, left.body.code]).toEqual([502, 'checkout_unavailable']);
    expect(Number(left.headers.get('retry-after'))).toBeGreaterThan(20);
    expect(t.simulator.control.counters().calls.invoice).toBe(calls);
  });
});

describe('within the ceiling of the site', () => {
  let t: TestApp;
  afterEach(() => t.stop());

  test('many who ask at once are served in turn, and polls go on between them', async () => {
    t = await startTestApp({ realClock: true, env: { CHECKOUT_MAX_RPS: '10', CHECKOUT_TIMEOUT: '20s' } });
    await t.app.start();
    const purchase = await t.watch({ script: [{ state: 'Completed' }], paymentMethod: 'invoice' });
    await t.receiver.waitFor((received) => received.length === 1);
    t.simulator.control.resetCounters();
    const asked = Array.from({ length: 32 }, () => fetchAsMachine(`${t.app.url()}/v1/purchases/${purchase}/invoice`));
    await Promise.all(Array.from({ length: 8 }, () => t.watch({ script: [{ state: 'Completed' }] })));
    while (t.simulator.control.counters().calls.status < 8) await delay(5);
    // The eighth poll is there, and half of the places were theirs: those who ask are not all served yet.
    expect(t.simulator.control.counters().calls.invoice).toBeLessThan(32);
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 200));
    const { calls, mostPerSecond } = t.simulator.control.counters();
    expect(calls).toMatchObject({ invoice: 32, status: 8 });
    // Calls may arrive closer together than they left; without a ceiling it would be all forty.
    expect(mostPerSecond.all).toBeLessThanOrEqual(15);
  });

  test('nobody waits longer than the time for one call', async () => {
    t = await startTestApp({ realClock: true, env: { CHECKOUT_MAX_RPS: '0.1', CHECKOUT_TIMEOUT: '2s' } });
    await t.app.start();
    const purchase = await t.watch({ script: [{ state: 'Completed' }], paymentMethod: 'invoice' });
    await t.receiver.waitFor((received) => received.length === 1);
    const response = await fetchAsMachine(`${t.app.url()}/v1/purchases/${purchase}/invoice`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await response.json()).toMatchObject({ code: 'checkout_busy', detail: expect.stringContaining('maxRps') });
  });
});

describe('without a service', () => {
  const FULL = 'full-key-0123456789-';
  const READING = 'read-key-0123456789-';
  let api: TestApi;
  let reply: InvoiceReply;
  let asked: string[];
  beforeAll(async () => {
    api = await startTestApi({
      sites: ['se', 'fi'],
      apiKey: FULL,
      apiReadKey: READING,
      invoiceOf: async ({ site, purchaseId }) => {
        asked.push(`${site}/${purchaseId}`);
        return reply;
      },
    });
  });
  afterAll(() => api.stop());
  beforeEach(async () => {
    asked = [];
    reply = { kind: 'unconfigured', retryAfter: 0 };
    await api.sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges cascade`;
    await api.sql`
      insert into purchase_watch.purchases (purchase_id, site, state, state_since, next_poll_at)
      values ('p', 'se', 2, now(), now() + interval '1 day'), ('new', 'se', 0, now(), now()), ('unseen', 'se', null, null, now()),
        ('twice', 'se', 2, now(), now()), ('twice', 'fi', 2, now(), now())`;
    await api.sql`truncate purchase_watch_internal.nudges`;
  });
  const call = (method: string, path: string, key = FULL) =>
    api.call(method, `/v1/purchases/${path}`, { headers: { authorization: `Bearer ${key}` } });
  const problem = async (answer: ReturnType<typeof call>) => {
    const { status, body } = await answer;
    return [status, body.code];
  };

  test.each<[InvoiceReply, number, string, string | null]>([
    [{ kind: 'unconfigured', retryAfter: 0 }, 409, 'site_not_configured', null],
    [{ kind: 'resting', retryAfter: 12_001 }, 502, 'checkout_unavailable', '13'],
    [{ kind: 'busy', retryAfter: 1_000 }, 503, 'checkout_busy', '1'],
    [
      { kind: 'malformed', reason: 'not_json', detail: 'No JSON.', httpStatus: 200, retryAfter: null },
      502,
      'checkout_unavailable',
      null,
    ],
    [
      { kind: 'refused', reason: 'http_403', detail: 'Not allowed.', httpStatus: 403, retryAfter: null },
      502,
      'checkout_unavailable',
      null,
    ],
  ])('%j is a problem of its own', async (given, status, code, retryAfter) => {
    reply = given;
    const answer = await call('GET', 'p/invoice', READING);
    expect([answer.status, answer.body.code, answer.headers.get('retry-after')]).toEqual([status, code, retryAfter]);
    expect(asked).toEqual(['se/p']);
  });

  test('nobody is asked about a purchase that is not the one', async () => {
    expect(await problem(call('GET', 'nobody/invoice'))).toEqual([404, 'purchase_not_found']);
    expect(await problem(call('GET', 'twice/invoice'))).toEqual([409, 'ambiguous_purchase']);
    expect(await problem(call('GET', 'p/invoice?site=no'))).toEqual([400, 'unknown_site']);
    expect(await problem(call('GET', 'p/invoice?announce=true'))).toEqual([400, 'invalid_request']);
    expect(asked).toEqual([]);
    await call('GET', 'twice/invoice?site=fi');
    expect(asked).toEqual(['fi/twice']);
  });

  test('having it announced makes the purchase due at once, and asking again changes nothing', async () => {
    const row = async () =>
      (
        await api.sql`select invoice, revision, next_poll_at <= now() as due, next_poll_reason as reason, (select count(*)::integer from purchase_watch_internal.nudges) as nudges
        from purchase_watch.purchases where purchase_id = 'p'`
      )[0];
    const { status, exact } = await call('POST', 'p/invoice');
    expect([status, exact]).toEqual([202, { purchaseId: 'p', site: 'se', invoice: 'wanted' }]);
    const once = await row();
    expect(once).toEqual({ invoice: 'wanted', revision: 1, due: true, reason: 'invoice', nudges: 1 });
    expect((await call('POST', 'p/invoice')).status).toBe(202);
    expect(await row()).toEqual(once);
    await api.sql`update purchase_watch.purchases set invoice = 'ready'`;
    expect((await call('POST', 'p/invoice')).body).toEqual({ purchaseId: 'p', site: 'se', invoice: 'ready' });
    expect(asked).toEqual([]);
  });

  test('what is not completed, or not watched, is not announced, and neither is it for readers', async () => {
    expect((await call('POST', 'new/invoice')).body).toMatchObject({
      code: 'not_completed',
      detail: expect.stringContaining('New (0)'),
    });
    expect((await call('POST', 'unseen/invoice')).body).toMatchObject({
      code: 'not_completed',
      detail: expect.stringContaining('not seen yet'),
    });
    await api.sql`update purchase_watch.purchases set status = 'stopped'`;
    expect(await problem(call('POST', 'p/invoice'))).toEqual([409, 'not_watched']);
    expect(await problem(call('POST', 'p/invoice', READING))).toEqual([403, 'read_only_key']);
    expect(await problem(call('POST', 'nobody/invoice'))).toEqual([404, 'purchase_not_found']);
    const [{ wanted }] = await api.sql<
      [{ wanted: number }]
    >`select count(invoice)::integer as wanted from purchase_watch.purchases`;
    expect(wanted).toBe(0);
  });

  test('amounts of whatever size pass as they are', async () => {
    const time = { text: '2026-07-01T12:00:00.0000001', instant: Date.UTC(2026, 6, 1, 10), ambiguous: false };
    const amount = { rawJSON: '12345678901234567890.1200' };
    const none = null;
    reply = {
      kind: 'invoice',
      invoice: {
        PurchaseId: 'p',
        State: 2,
        Completed: time,
        InvoiceDate: { ...time, text: 'soon', instant: null },
        DueDate: none,
        TotalAmount: parseExact(amount.rawJSON) as never,
        TotalAuthorizedAmount: none,
        MinimumAmountToPay: none,
        InvoicingFirstName: none,
        InvoicingLastName: none,
        InvoicingAddressLine1: none,
        InvoicingAddressLine2: none,
        InvoicingZip: none,
        InvoicingCity: none,
        BankAccount: none,
        AccountNumber: none,
        AliasAccount: none,
        Receiver: none,
        DebitItems: [],
        CreditItems: [],
      },
    };
    const { text, body } = await call('GET', 'p/invoice');
    expect(text).toContain('"totalAmount":12345678901234567890.1200,');
    expect(body).toMatchObject({ completed: '2026-07-01T10:00:00.000Z', invoiceDate: 'soon', dueDate: null });
  });
});
