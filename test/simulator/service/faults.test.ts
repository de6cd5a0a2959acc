import { errors } from 'undici';
import { describe, expect, test } from 'vitest';
import { FAULT_KINDS, type FaultKind } from '../../../packages/simulator/src/contract/names.ts';
import { type Caller, START, startCaller } from '../caller.ts';

const OK = { status: 200 };

/** What the caller gets to see when the next status call fails in this way. */
async function failing(t: Caller, kind: FaultKind, more: object = {}) {
  const { purchaseId } = t.control.add({ script: [{ state: 'Completed' }], price: '249.50' });
  await t.token();
  t.control.fail({ kind, only: 'status', ...more });
  return { purchaseId, answer: await t.status(purchaseId) };
}

test.each(['400', '401', '403', '404', '410', '422', '500', '502', '503'] as const)(
  '%s is answered with a list of errors',
  async (kind) => {
    const { answer } = await failing(await startCaller(), kind);
    expect(answer.status).toBe(Number(kind));
    expect(JSON.parse(answer.text)).toEqual([{ ErrorCode: expect.any(String), ErrorMessage: expect.any(String) }]);
  },
);

test('too many requests say when to come back, in seconds or as a date', async () => {
  const t = await startCaller();
  const seconds = await failing(t, '429-seconds', { retryAfter: 7 });
  expect([seconds.answer.status, seconds.answer.headers['retry-after']]).toEqual([429, '7']);
  const date = await failing(t, '429-date', { retryAfter: 60 });
  expect([date.answer.status, date.answer.headers['retry-after']]).toEqual([429, new Date(START + 60_000).toUTCString()]);
});

describe('bodies that are not what they should be', () => {
  test.each<[FaultKind, (text: string) => void]>([
    ['html', (text) => expect(text).toMatch(/^<!doctype html>/)],
    ['empty', (text) => expect(text).toBe('')],
    ['null', (text) => expect(text).toBe('null')],
    ['null-fields', (text) => expect(new Set(Object.values(JSON.parse(text)))).toEqual(new Set([null]))],
    ['null-state', (text) => expect(JSON.parse(text)).toMatchObject({ State: null, Price: 249.5 })],
    ['string-state', (text) => expect(JSON.parse(text).State).toBe('Completed')],
    ['unknown-state', (text) => expect(JSON.parse(text).State).toBe(17)],
    ['string-amount', (text) => expect(JSON.parse(text).Price).toBe('249.50 kr')],
    ['error-list', (text) => expect(JSON.parse(text)).toEqual([{ ErrorCode: 'E200', ErrorMessage: expect.any(String) }])],
    // The client takes the mark away, and does not unpack.
    ['bom', (text) => expect(JSON.parse(text).State).toBe(2)],
    ['trailing-bytes', (text) => expect(text).toMatch(/}\r\n\0/)],
    ['html-type', (text) => expect(JSON.parse(text).State).toBe(2)],
    ['utf-16', (text) => expect(text).toContain('\0')],
    ['gzip', (text) => expect(text).toContain('\ufffd')],
    ['invalid-json', (text) => expect(() => JSON.parse(text)).toThrow(SyntaxError)],
    ['deep', (text) => expect(text).toMatch(/^\[{1000}/)],
  ])('%s', async (kind, check) => {
    const { answer } = await failing(await startCaller(), kind);
    expect(answer).toMatchObject(OK);
    check(answer.text);
  });

  test('another purchase in the answer, a real one', async () => {
    const t = await startCaller();
    const other = t.control.add();
    const { purchaseId, answer } = await failing(t, 'other-purchase');
    expect(JSON.parse(answer.text).PurchaseId).toBe(other.purchaseId);
    expect(other.purchaseId).not.toBe(purchaseId);
  });

  test('a wrong content type over a good body, and a redirect away', async () => {
    const t = await startCaller();
    const plain = await failing(t, 'content-type');
    expect(plain.answer.headers['content-type']).toBe('text/plain');
    expect(JSON.parse(plain.answer.text).State).toBe(2);
    const redirect = await failing(t, 'redirect');
    expect([redirect.answer.status, redirect.answer.headers.location]).toEqual([302, '/signed-out']);
    await t.call('/signed-out');
    expect(t.control.counters().elsewhere).toBe(1);
  });

  test('bytes that are no UTF-8', async () => {
    const { answer } = await failing(await startCaller(), 'invalid-utf8');
    expect(answer.text).toContain('\ufffd');
  });

  test('a huge body is well-formed and tens of megabytes', async () => {
    const { answer } = await failing(await startCaller(), 'huge');
    expect(answer.text.length).toBeGreaterThan(60_000_000);
    expect(answer.text.endsWith('}')).toBe(true);
  });
});

describe('connections that go wrong', () => {
  test('a reset and a cut body end the call with an error', async () => {
    const t = await startCaller();
    await expect(failing(t, 'reset')).rejects.toThrow();
    await expect(failing(t, 'cut')).rejects.toThrow(errors.SocketError);
  });

  test.each(['hang', 'slow-body', 'endless'] as const)('%s lasts until the client hangs up, and ends there', async (kind) => {
    const t = await startCaller();
    const { purchaseId } = t.control.add({ script: [{ state: 'Completed' }] });
    const { access_token } = JSON.parse((await t.token()).text);
    t.control.fail({ kind });
    const patience = new AbortController();
    const call = t.call('/CheckOut2Api/GetPaymentStatus', {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}` },
      body: JSON.stringify({ PurchaseId: purchaseId }),
      signal: patience.signal,
    });
    await expect.poll(() => t.control.counters().inFlight).toBe(1);
    patience.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => t.control.counters().inFlight).toBe(0);
    expect(await t.state(purchaseId)).toBe(2);
  });
});

describe('which calls fail', () => {
  test('the next one, or the next few, and then no more', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add();
    await t.status(purchaseId);
    t.control.fail({ kind: '500', times: 2 });
    const seen = [];
    for (let n = 0; n < 4; n++) seen.push((await t.status(purchaseId)).status);
    expect(seen).toEqual([500, 500, 200, 200]);
    expect(t.control.counters().faults).toBe(2);
    expect(t.control.settings().faults).toEqual([]);
  });

  test('all during a time, by the clock of the simulator', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add();
    await t.status(purchaseId);
    t.control.fail({ kind: '503', for: '30s' });
    t.pass(29);
    expect((await t.status(purchaseId)).status).toBe(503);
    expect((await t.status(purchaseId)).status).toBe(503);
    t.pass(1);
    expect((await t.status(purchaseId)).status).toBe(200);
  });

  test('only those about one purchase, or only token calls', async () => {
    const t = await startCaller();
    const one = t.control.add();
    const two = t.control.add();
    await t.token();
    t.control.fail({ kind: '404', for: '1h', purchaseId: one.purchaseId });
    t.control.fail({ kind: '401', for: '1h', only: 'token' });
    t.control.expireTokens();
    expect([(await t.token()).status, (await t.call('/control/settings')).status]).toEqual([401, 200]);
    t.control.clearFaults();
    t.control.fail({ kind: '404', for: '1h', purchaseId: one.purchaseId });
    expect([(await t.status(one.purchaseId)).status, (await t.status(two.purchaseId)).status]).toEqual([404, 200]);
  });

  test('a share of them', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add();
    await t.status(purchaseId);
    t.control.fail({ kind: '500', for: '1h', share: 0.25 });
    for (let n = 0; n < 200; n++) await t.status(purchaseId);
    expect(t.control.counters().faults).toBeGreaterThan(25);
    expect(t.control.counters().faults).toBeLessThan(80);
  });

  test('a spoiled answer waits for a good answer to spoil', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add({ script: [{ state: 'New' }] });
    t.control.fail({ kind: 'unknown-state', state: 99 });
    expect((await t.status('made-up')).status).toBe(404);
    expect(await t.state(purchaseId)).toBe(99);
    expect(await t.state(purchaseId)).toBe(0);
  });

  test('there is a test for every kind', () => {
    const tested =
      '400 401 403 404 409 410 422 429-seconds 429-date 500 502 503 redirect html empty null deep endless hang reset null-fields cut huge slow-body content-type html-type bom trailing-bytes gzip utf-16 invalid-json invalid-utf8 null-state string-state unknown-state string-amount error-list other-purchase';
    expect([...FAULT_KINDS].toSorted()).toEqual(tested.split(' ').toSorted());
  });
});
