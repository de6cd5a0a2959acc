import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCheckoutClient } from '../../src/checkout/client.ts';
import { DIGEST_LENGTH } from '../../src/domain/purchases/purchase.ts';
import { stringifyExact } from '../../src/domain/values/exact-json.ts';
import { startTcp } from '../support/not-http.ts';
import { clientOf, heldClock, ID, INVOICE, json, STATUS, startService, statusText } from './service.ts';

describe('a good answer', () => {
  test('is seen, with the named fields and nothing else of a person', async () => {
    const service = await startService({ [STATUS]: (response) => json(response, statusText()) });
    const answer = (await clientOf(service.baseUrl).pollStatus(ID)) as { digest: string; detailsDigest: string };
    const { digest, detailsDigest, ...seen } = answer;
    expect([digest, detailsDigest].map(({ length }) => length)).toEqual([28, DIGEST_LENGTH]);
    expect(JSON.stringify(seen)).toBe(
      '{"kind":"seen","state":6,"details":{"Price":249.50,"CurrencyCode":"SEK","OrderReference":"ORD-1"}}',
    );
  });

  test('is asked for as the specification says', async () => {
    const service = await startService({ [STATUS]: (response) => json(response, statusText()) });
    await clientOf(service.baseUrl, { auth: 'oauth2' }).pollStatus(ID);
    expect(service.received[0]).toMatchObject({ method: 'POST', path: '/oauth2/token' });
    expect(service.received[0]!.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(Object.fromEntries(new URLSearchParams(service.received[0]!.body))).toEqual({
      client_id: 'shop',
      client_secret: 'hush-hush',
      grant_type: 'client_credentials',
    });
    expect(service.received[1]).toMatchObject({ method: 'POST', path: STATUS, body: JSON.stringify({ PurchaseId: ID }) });
    expect(service.received[1]!.headers).toMatchObject({ authorization: 'Bearer t1', 'content-type': 'application/json' });
    expect(service.received.map(({ headers }) => headers['accept-encoding'])).toEqual(['identity', 'identity']);
  });

  test('is found below a base address with a path', async () => {
    const service = await startService({ [`/staging/v2${STATUS}`]: (response) => json(response, statusText()) });
    expect(await clientOf(`${service.baseUrl}/staging/v2/`).pollStatus(ID)).toMatchObject({ kind: 'seen' });
  });

  test('may begin with a byte order mark, come in pieces and claim to be a page', async () => {
    const service = await startService({
      [STATUS]: (response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        response.write(`\ufeff${statusText().slice(0, 40)}`);
        setImmediate(() => response.end(statusText().slice(40)));
      },
    });
    expect(await clientOf(service.baseUrl).pollStatus(ID)).toMatchObject({ kind: 'seen', state: 6 });
  });

  test('HTTP Basic sends site code and password in UTF-8', async () => {
    const service = await startService({ [STATUS]: (response) => json(response, statusText()) });
    await clientOf(service.baseUrl, { clientSecret: 'lösen' }).pollStatus(ID);
    expect(service.received[0]!.headers.authorization).toBe(`Basic ${Buffer.from('shop:lösen').toString('base64')}`);
  });
});

describe('every other status has its word', () => {
  test.each([
    [400, 'malformed', 'http_400'],
    [404, 'unknown', 'http_404'],
    [410, 'unknown', 'http_410'],
    [422, 'malformed', 'http_422'],
    [401, 'refused', 'http_401'],
    [403, 'refused', 'http_403'],
    [429, 'throttled', 'http_429'],
    [302, 'unreachable', 'redirected'],
    [304, 'unreachable', 'redirected'],
    [405, 'unreachable', 'http_405'],
    [418, 'unreachable', 'http_418'],
    [500, 'unreachable', 'http_500'],
    [503, 'unreachable', 'http_503'],
  ])('HTTP %i', async (status, kind, reason) => {
    const service = await startService({
      [STATUS]: (response) => response.writeHead(status, { location: '/elsewhere' }).end(),
    });
    const seen = await clientOf(service.baseUrl).pollStatus(ID);
    expect(seen).toMatchObject({ kind, reason, httpStatus: status });
    expect(service.received).toHaveLength(1); // no redirect followed, nothing retried
  });

  test.each([200, 400, 404, 418, 422])('a page with HTTP %i is never the fault of the purchase', async (status) => {
    const service = await startService({ [STATUS]: (response) => response.writeHead(status).end(' <!doctype html><p>Hello') });
    expect(await clientOf(service.baseUrl).pollStatus(ID)).toMatchObject({ kind: 'unreachable', reason: 'html' });
  });

  test('Retry-After is handed on with 429 and with 503', async () => {
    const service = await startService({
      [STATUS]: (response, { count }) =>
        count === 1
          ? response.writeHead(429, { 'retry-after': '7' }).end()
          : response
              .writeHead(503, { date: 'Fri, 20 Nov 2026 10:00:00 GMT', 'retry-after': 'Fri, 20 Nov 2026 10:02:00 GMT' })
              .end(),
    });
    const client = clientOf(service.baseUrl, {}, { clock: heldClock() });
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'throttled', retryAfter: 7_000 });
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'unreachable', retryAfter: 120_000 });
  });
});

describe('an answer that is no status of this purchase', () => {
  test.each([
    ['', 'malformed', 'empty'],
    [' \r\n', 'malformed', 'empty'],
    ['null', 'malformed', 'null'],
    ['[]', 'malformed', 'wrong_shape'],
    ['"text"', 'malformed', 'wrong_shape'],
    ['{}', 'malformed', 'wrong_shape'],
    [statusText().slice(0, 200), 'malformed', 'not_json'],
    [`${statusText()}x`, 'malformed', 'not_json'],
    [statusText({ State: 'WaitingForCardPayments' }), 'malformed', 'wrong_shape'],
    [statusText({ State: '6' }), 'malformed', 'wrong_shape'],
    [statusText({ State: 6.5 }), 'malformed', 'wrong_shape'],
    [statusText({ State: null }), 'malformed', 'wrong_shape'],
    [statusText({ State: 2 ** 31 }), 'malformed', 'wrong_shape'],
    [statusText({}, '"249.50"'), 'malformed', 'wrong_shape'],
    [statusText({}, '1e999'), 'malformed', 'wrong_shape'],
    [statusText({ Phone: 46 }), 'malformed', 'wrong_shape'],
    [statusText({ IsOrganization: 1 }), 'malformed', 'wrong_shape'],
    [statusText({ PurchaseId: ID.replace('8', '9') }), 'malformed', 'wrong_purchase'],
    [statusText({ PurchaseId: null }), 'malformed', 'wrong_shape'],
    [`${'['.repeat(120_000)}`, 'malformed', 'not_json'],
    [`${'['.repeat(120_000)}${']'.repeat(120_000)}`, 'malformed', 'wrong_shape'],
  ])('(case %#)', async (body, kind, reason) => {
    const service = await startService({ [STATUS]: (response) => json(response, body) });
    const seen = await clientOf(service.baseUrl).pollStatus(ID);
    expect(seen).toMatchObject({ kind, reason, httpStatus: 200 });
    expect(JSON.stringify(seen)).not.toMatch(/Astrid|remember-me|\+46|WaitingFor/);
  });

  test('invalid UTF-8 and an answer that was compressed and cut on the way', async () => {
    const service = await startService({
      [STATUS]: (response, { count }) =>
        count === 1
          ? response.end(Buffer.concat([Buffer.from('{"PurchaseId":"'), Buffer.of(0xff, 0xfe), Buffer.from('"}')]))
          : response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(statusText()).subarray(0, 60)),
    });
    const client = clientOf(service.baseUrl);
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'malformed', reason: 'not_utf8' });
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'unreachable', reason: 'compressed' });
  });
});

describe('the same purchase', () => {
  test.each([
    [ID, ID.toUpperCase(), 'seen'],
    ['Order-a', 'Order-A', 'malformed'],
  ])('%s answered as %s is %s', async (asked, answered, kind) => {
    const service = await startService({ [STATUS]: (response) => json(response, statusText({ PurchaseId: answered })) });
    expect(await clientOf(service.baseUrl).pollStatus(asked)).toMatchObject({ kind });
  });
});

test('an answer that repeats the last good one byte for byte is only said to be the same; any other is read', async () => {
  let answer = statusText({ State: 6 });
  const service = await startService({ [STATUS]: (response) => json(response, answer) });
  const client = clientOf(service.baseUrl);
  const first = (await client.pollStatus(ID)) as { digest: string };
  expect(await client.pollStatus(ID, first.digest)).toEqual({ kind: 'same' });
  answer = statusText({ State: 2 });
  expect(await client.pollStatus(ID, first.digest)).toMatchObject({ kind: 'seen', state: 2 });
});

test('a state nobody knows, absent fields and fields nobody knows are data', async () => {
  const service = await startService({
    [STATUS]: (response) => json(response, { PurchaseId: ID, State: 4711, Fresh: { Price: 1 }, Price: null }),
  });
  expect(await clientOf(service.baseUrl).pollStatus(ID)).toMatchObject({ kind: 'seen', state: 4711, details: {} });
});

describe('digits of amounts', () => {
  const read = async (text: string) => {
    const service = await startService({ [STATUS]: (response) => json(response, text) });
    const seen = await clientOf(service.baseUrl, {}, { fields: ['Price', 'CustomerBalance'] }).pollStatus(ID);
    return seen.kind === 'seen' ? stringifyExact(seen.details) : seen.kind;
  };
  test.each(['249.50', '0.00', '-0.10', '1e2', '12345678901234567890.1234567890'])('%s', async (price) => {
    expect(await read(statusText({}, price))).toBe(`{"Price":${price}}`);
  });
  test('are not taken from a text or a nested object that looks like the field', async () => {
    const decoy = statusText({ Attachment: '{"Price":0.1,"Price"', Fresh: { Price: 1, CustomerBalance: 2 } }, '249.500');
    expect(await read(decoy)).toBe('{"Price":249.500}');
    const escaped = statusText({ Fresh: { Price: 1 } }, '1.0').replace('"Price":1.0', '"\\u0050rice":7.10');
    expect(await read(escaped)).toBe('{"Price":7.10}');
    expect(await read(statusText({}, '1.0').replace('"Price":1.0', '"Price":1.0,"Price":1.00'))).toBe('{"Price":1.00}');
    expect(await read(statusText({}, '1.0').replace('"Price":1.0', '"\\u0050rice" : 7.10'))).toBe('{"Price":7.10}');
    expect(await read(statusText({}, '1.00').replace('"Price":1.00', '"Price":1.00,"Price" : 2.00'))).toBe('{"Price":2.00}');
  });
});

describe('what is larger than the service describes', () => {
  const FIELDS = ['Price', 'CustomerBalance', 'CurrencyCode', 'OrderReference', 'Description', 'CustomerToken'];
  const pollWith = async (text: string) => {
    const service = await startService({ [STATUS]: (response) => json(response, text) });
    return clientOf(service.baseUrl, {}, { fields: FIELDS }).pollStatus(ID);
  };

  test('of a text, as much is kept as the field may have, with a mark that it was cut', async () => {
    const seen = await pollWith(
      statusText({ OrderReference: 'R'.repeat(200_000), Description: '🦊'.repeat(5_000), CustomerToken: 't'.repeat(1_024) }),
    );
    if (seen.kind !== 'seen') throw new Error(seen.kind);
    const { OrderReference, Description, CustomerToken } = seen.details as Record<string, string>;
    expect(OrderReference).toBe(`${'R'.repeat(249)}… (cut)`);
    expect(Description!.length).toBeLessThanOrEqual(4_096);
    expect(Description).toMatch(/^(🦊)+… \(cut\)$/u);
    expect(Description!.isWellFormed()).toBe(true);
    expect(CustomerToken).toBe('t'.repeat(1_024));
  });

  test.each(['9'.repeat(30), `0.${'1'.repeat(30)}`, `-1${'0'.repeat(200)}`, '1e30', '1e-30', `1e${'0'.repeat(50)}1`, '99e28'])(
    'a price with too many digits (case %#) is none, and nothing of the answer is used',
    async (price) => {
      expect(await pollWith(statusText({}, price))).toMatchObject({ kind: 'malformed', reason: 'out_of_bounds' });
    },
  );
  test('of a purchase that nobody keeps the price of, it does not matter', async () => {
    const service = await startService({ [STATUS]: (response) => json(response, statusText({}, '9'.repeat(100))) });
    const seen = await clientOf(service.baseUrl, {}, { fields: ['OrderReference'] }).pollStatus(ID);
    expect(seen).toMatchObject({ kind: 'seen', details: { OrderReference: 'ORD-1' } });
  });
  test.each(['9'.repeat(29), `0.${'1'.repeat(29)}`, `-0.${'0'.repeat(29)}`, '1e28', '12E-3'])(
    'a price of %s is one',
    async (price) => {
      const seen = await pollWith(statusText({}, price));
      expect(JSON.stringify(seen)).toContain(`"Price":${price},`);
    },
  );
  test('a currency is not cut, for half of one may be another', async () => {
    expect(await pollWith(statusText({ CurrencyCode: 'SEK'.repeat(6) }))).toMatchObject({
      kind: 'malformed',
      reason: 'out_of_bounds',
    });
  });
  test('an answer of 256 KiB is read, and one byte more is not', async () => {
    const most = 256 * 1024;
    const room = most - Buffer.byteLength(statusText({ Attachment: '' }));
    expect(await pollWith(statusText({ Attachment: 'x'.repeat(room) }))).toMatchObject({ kind: 'seen' });
    expect(await pollWith(statusText({ Attachment: 'x'.repeat(room + 1) }))).toMatchObject({
      kind: 'malformed',
      reason: 'too_large',
    });
  });
});

test('what a database refuses in a text does not get through', async () => {
  const service = await startService({
    [STATUS]: (response) => json(response, statusText().replace('"ORD-1"', '"a\\u0000b\\ud800"')),
  });
  const seen = await clientOf(service.baseUrl).pollStatus(ID);
  expect(seen).toMatchObject({ details: { OrderReference: 'a\ufffdb\ufffd' } });
});

test('an observation of trouble never holds the secret, the token or the id', async () => {
  const service = await startService({ [STATUS]: (response) => json(response, { secret: 'hush-hush' }, 401) });
  const seen = await clientOf(service.baseUrl, { auth: 'oauth2' }).pollStatus(ID);
  expect(JSON.stringify(seen)).not.toMatch(/hush-hush|t1|t2|8f14e45f/);
});

test('whatever bytes come back, a poll ends in an observation', async () => {
  let bytes: Uint8Array = Buffer.alloc(0);
  const client = clientOf(await startTcp((socket) => socket.on('data', () => socket.end(bytes))));
  const kinds = /^(seen|unknown|malformed|throttled|refused|unreachable)$/;
  const head = (status: number, length: number) => `HTTP/1.1 ${status} Odd\r\ncontent-length: ${length}\r\n\r\n`;
  const withHead = fc
    .tuple(fc.integer({ min: 200, max: 599 }), fc.uint8Array({ maxLength: 400 }))
    .map(([status, body]) => Buffer.concat([Buffer.from(head(status, body.length)), body]));
  const nearly = fc
    .tuple(fc.constantFrom('State', 'PurchaseId', 'Price', 'Mail', '__proto__', 'kind', 'httpStatus'), fc.jsonValue())
    .map(([field, value]) => {
      const body = Buffer.from(JSON.stringify({ PurchaseId: ID, State: 1, [field]: value }));
      return Buffer.concat([Buffer.from(head(200, body.length)), body]);
    });
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 200 }), withHead, nearly), async (answer) => {
      bytes = answer;
      expect((await client.pollStatus(ID)).kind).toMatch(kinds);
    }),
    { numRuns: 300 },
  );
});

describe('other reads', () => {
  test('paymentStatus gives every field, digits and times kept', async () => {
    const service = await startService({ [STATUS]: (response) => json(response, statusText()) });
    const answer = await clientOf(service.baseUrl).paymentStatus(ID);
    if (answer.kind !== 'answer') throw new Error(answer.detail);
    expect(Object.keys(answer.status)).toHaveLength(50);
    expect(JSON.stringify(answer.status.Price)).toBe('249.50');
    expect(answer.status.Mail).toBe('astrid@example.test');
    expect(answer.status.Cancelled).toBeNull();
    expect(answer.times.Created).toMatchObject({ instant: Date.UTC(2026, 10, 20, 8, 15, 2, 123), ambiguous: false });
  });

  test('authorization gives status and JSON, or what went wrong', async () => {
    const service = await startService({ '/authorization/a%2Fb': (response) => json(response, '{"limit":10.00}', 201) });
    const client = clientOf(service.baseUrl);
    const answer = await client.authorization('a/b');
    expect(JSON.stringify(answer)).toBe('{"kind":"answer","httpStatus":201,"body":{"limit":10.00}}');
    expect(await client.authorization('other')).toMatchObject({ kind: 'unknown', reason: 'http_404' });
  });

  test('calls after close end as stopped', async () => {
    const service = await startService({ [INVOICE]: () => undefined });
    const client = clientOf(service.baseUrl);
    const pending = client.invoiceDetails(ID);
    await client.close();
    expect(await pending).toMatchObject({ kind: 'unreachable', reason: 'stopped' });
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'unreachable', reason: 'stopped' });
  });
});

test('settings that cannot be right are refused at once', () => {
  const site = { name: 'se', auth: 'basic', clientId: 'a', clientSecret: 'b', concurrency: 1, timeout: 1 } as const;
  const make = (baseUrl: string, timeZone: string, fields: string[]) => () =>
    createCheckoutClient({ ...site, baseUrl, timeZone }, { fields });
  expect(make('example.test', 'Europe/Stockholm', [])).toThrow(/base address/);
  expect(make('http://example.test', 'Europe/Stokholm', [])).toThrow(/no time zone "Europe\/Stokholm"/);
  expect(make('http://example.test', 'Europe/Stockholm', ['Prise'])).toThrow(/no field Prise/);
});
