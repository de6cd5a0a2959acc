import { describe, expect, test } from 'vitest';
import { startCaller } from '../caller.ts';

describe('the counters', () => {
  test('count calls by operation and by purchase, and can start again', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add({ script: [{ state: 'Completed' }], paymentMethod: 'invoice' });
    await t.status(purchaseId);
    await t.status(purchaseId);
    await t.invoice(purchaseId);
    await t.status('made-up');
    expect(t.control.counters().calls).toEqual({ token: 1, authorization: 0, status: 3, invoice: 1 });
    expect(Object.fromEntries(t.control.callsPerPurchase())).toEqual({ [purchaseId]: 3, 'made-up': 1 });
    t.control.resetCounters();
    expect(t.control.counters().calls.status).toBe(0);
    expect(t.control.callsOf(purchaseId)).toBe(0);
  });

  test('find the fullest second, wherever it begins', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add();
    await t.status(purchaseId);
    t.control.resetCounters();
    for (const wait of [0, 0.6, 0.3, 0.3, 0.3, 2, 0.9]) {
      t.pass(wait);
      await t.status(purchaseId);
    }
    expect(t.control.counters().mostPerSecond).toMatchObject({ all: 4, status: 4, token: 0 });
  });

  test('notice when a purchase is asked about twice at a time', async () => {
    const t = await startCaller();
    const one = t.control.add();
    const two = t.control.add();
    await t.status(one.purchaseId);
    // Long enough that two calls overlap, however slowly the second one comes.
    t.control.setLatency(1_000);
    await Promise.all([t.status(one.purchaseId), t.status(two.purchaseId)]);
    expect(t.control.counters()).toMatchObject({ mostInFlight: 2, mostInFlightPerPurchase: 1, overlapping: [] });
    await Promise.all([t.status(one.purchaseId), t.status(one.purchaseId)]);
    expect(t.control.counters()).toMatchObject({ mostInFlightPerPurchase: 2, overlapping: [one.purchaseId] });
    await expect.poll(() => t.control.counters().inFlight).toBe(0);
  });
});

test('latency holds every answer back', async () => {
  const t = await startCaller();
  t.control.setLatency(80);
  const before = performance.now();
  await t.token();
  expect(performance.now() - before).toBeGreaterThan(70);
});

test('down refuses connections, up answers again on the same port with everything as it was', async () => {
  const t = await startCaller();
  const { purchaseId } = t.control.add();
  await t.status(purchaseId);
  const { url } = t.simulator;
  await t.control.down();
  // The first call may still find out that its idle connection was closed.
  await expect.poll(() => t.status(purchaseId).catch((error) => error.code)).toBe('ECONNREFUSED');
  await t.control.up();
  expect(t.simulator.url).toBe(url);
  expect((await t.status(purchaseId)).status).toBe(200);
});

test('down ends calls that are under way', async () => {
  const t = await startCaller();
  t.control.fail({ kind: 'hang' });
  const ended = t.token().catch((error) => error.code);
  await expect.poll(() => t.control.counters().inFlight).toBe(1);
  await t.control.down();
  expect(await ended).toBe('UND_ERR_SOCKET');
});

test('an outage over HTTP ends by itself', async () => {
  const t = await startCaller();
  // Long enough to be noticed, however seldom this process gets to look.
  expect((await t.steer('/down', { for: '2s' })).status).toBe(202);
  await expect
    .poll(() =>
      t.token().then(
        () => 'answers',
        () => 'refuses',
      ),
    )
    .toBe('refuses');
  await expect
    .poll(() =>
      t.token().then(
        () => 'answers',
        () => 'refuses',
      ),
    )
    .toBe('answers');
});

describe('sensitive values', () => {
  test('are all of the customer that answers showed, tokens and secrets, and nothing of customers never shown', async () => {
    const t = await startCaller();
    const shown = t.control.add({ script: [{ state: 'Completed' }], paymentMethod: 'business-invoice' });
    const neverShown = t.control.add({ script: [{ state: 'Completed' }] });
    const answer = JSON.parse((await t.status(shown.purchaseId)).text);
    const values = t.control.sensitiveValues();
    const fields = [
      'InvoicingFirstName',
      'InvoicingLastName',
      'InvoicingAddressLine1',
      'InvoicingZip',
      'InvoicingCity',
      'DeliveryFirstName',
    ];
    fields.push(
      'DeliveryAddressLine1',
      'DeliveryZip',
      'DeliveryCity',
      'Phone',
      'Mail',
      'AccountNumber',
      'CustomerToken',
      'ReferenceName',
    );
    fields.push('CompanyName', 'OrganizationNumber', 'B2BAdditionalInfo');
    for (const field of fields) expect(values, field).toContain(answer[field]);
    expect(values.some((value) => answer.Attachment.includes(value))).toBe(true);
    expect(values).toContain('demo-secret');
    const token = JSON.parse((await t.token()).text).access_token;
    expect(t.control.sensitiveValues()).toContain(token);

    const before = t.control.sensitiveValues().length;
    await t.status(neverShown.purchaseId);
    expect(t.control.sensitiveValues().length).toBeGreaterThan(before);
  });

  test('are long enough to be searched for, and none is part of what a watcher may keep', async () => {
    const t = await startCaller();
    for (const { purchaseId } of t.control.addMany(200, { script: [{ state: 'Completed' }] })) await t.status(purchaseId);
    const values = t.control.sensitiveValues();
    expect(values.filter((value) => value.length < 8)).toEqual([]);
    const harmless = JSON.stringify(t.control.list({ limit: 200 }));
    expect(values.filter((value) => harmless.includes(value))).toEqual([]);
  });
});

describe('the control API', () => {
  test('adds, lists, shows and changes purchases', async () => {
    const t = await startCaller();
    const one = await t.steer('/purchases', {
      purchaseId: 'p-1',
      site: 'demo-fi',
      price: '249.50',
      script: [{ state: 'New' }, { state: 2, after: '5s' }],
    });
    expect(one.status).toBe(201);
    expect(JSON.parse(one.text).purchases).toMatchObject([
      { purchaseId: 'p-1', site: 'demo-fi', price: '249.50', currency: 'EUR' },
    ]);
    expect(JSON.parse((await t.steer('/purchases', { count: 3, script: 'never-opened' })).text).purchases).toHaveLength(3);
    expect(JSON.parse((await t.steer('/recent?after=1')).text)).toMatchObject({
      last: 4,
      purchases: [{ number: 2 }, { number: 3 }, { number: 4 }],
    });
    const set = await t.steer('/purchases/p-1/state', { state: 17 });
    expect(JSON.parse(set.text).state).toEqual({ value: 17, name: 'Unknown(17)' });
    expect(await t.state('p-1')).toBe(17);
    expect(JSON.parse((await t.steer('/purchases?state=17')).text).purchases).toHaveLength(1);
    expect(JSON.parse((await t.steer('/purchases/p-1')).text).history).toHaveLength(2);
    expect((await t.steer('/purchases/made-up')).status).toBe(404);
  });

  test('breaks and fixes the page, sets load, latency and faults, and shows them', async () => {
    const t = await startCaller();
    await t.steer('/page/break', { site: 'demo-se', states: ['WaitingForCardPayments'] });
    await t.steer('/load', { perMinute: 30 });
    await t.steer('/latency', { ms: 5 });
    const last = await t.steer('/faults', { kind: '500', times: 3, only: 'status' });
    expect(last.status).toBe(201);
    expect(JSON.parse(last.text)).toMatchObject({
      brokenPages: [{ site: 'demo-se', state: 'WaitingForCardPayments' }],
      load: 30,
      latency: 5,
      faults: [{ kind: '500', remaining: 3, only: 'status' }],
    });
    await t.steer('/page/fix', {});
    await t.call('/control/faults', { method: 'DELETE' });
    expect(JSON.parse((await t.steer('/settings')).text)).toMatchObject({ brokenPages: [], faults: [] });
  });

  test('says what is wrong with a request, and takes none from a form', async () => {
    const t = await startCaller();
    for (const [path, wish] of [
      ['/purchases', { script: 'card-payed' }],
      ['/purchases', { scirpt: 'card-paid' }],
      ['/purchases', { count: 2, purchaseId: 'same' }],
      ['/faults', { kind: 'flood' }],
      ['/load', { perMinute: -1 }],
      ['/down', { for: 'ever' }],
      ['/page/break', { site: 'nowhere' }],
    ] as const) {
      const answer = await t.steer(path, wish);
      expect([path, Math.floor(answer.status / 100), typeof JSON.parse(answer.text).code]).toEqual([path, 4, 'string']);
    }
    const unknown = await t.steer('/purchases', { life: 'card-paid' });
    const known = 'count, purchaseId, site, script, paymentMethod, price, currency, reference, description';
    expect(JSON.parse(unknown.text)).toMatchObject({
      ...{ status: 400, code: 'invalid_request' },
      errors: [{ field: 'life', value: 'card-paid', detail: `is not known here; known: ${known}` }],
    });
    expect(JSON.parse((await t.steer('/load', { perMinute: -1 })).text).detail).toMatch(/^perMinute: /);
    const step = await t.steer('/purchases', { script: [{ state: 'New' }, { state: 2, after: 'soon' }] });
    expect(step.headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(step.text).errors).toEqual([
      { field: 'script[1].after', value: 'soon', detail: expect.stringContaining('must be a duration such as') },
    ]);
    const form = await t.call('/control/tokens/expire', {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{}',
    });
    expect(form.status).toBe(415);
    const asJson = { method: 'POST', headers: { 'content-type': 'application/json; charset=utf-8' } } as const;
    const cut = await t.call('/control/load', { ...asJson, body: '{"perMinute": 1' });
    expect([cut.status, JSON.parse(cut.text).code]).toEqual([400, 'not_json']);
    const large = await t.call('/control/load', { ...asJson, body: `{"x": "${'x'.repeat(1_100_000)}"}` });
    expect([large.status, JSON.parse(large.text).detail]).toEqual([413, expect.stringContaining('larger than 1024 KiB')]);
    const elsewhere = { 'sec-fetch-site': 'cross-site' };
    expect((await t.call('/control/counters/reset', { method: 'POST', headers: elsewhere })).status).toBe(403);
    expect((await t.call('/control/faults', { method: 'PATCH' })).headers.allow).toBe('POST, DELETE');
  });

  test('has a page that shows purchases and escapes what others wrote', async () => {
    const t = await startCaller();
    t.control.add({ purchaseId: '<script>alert(1)</script>' });
    expect((await t.call('/')).headers.location).toBe('/control');
    const page = await t.call('/control');
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page.text).not.toContain('<script>alert(1)');
    expect(page.text).not.toMatch(/https?:\/\//);
  });
});
