import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newIdProblem } from '../../../src/domain/purchases/purchase-id.ts';
import { isDecimal, isJsonObject, type JsonValue, parseExact } from '../../../src/domain/values/exact-json.ts';
import { fetchAsMachine } from '../../support/machine.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ sites: ['default', 'se', 'norway'] });
});
afterAll(() => api.stop());
beforeEach(async () => {
  await api.sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges cascade`;
});

const post = (json: unknown) => api.call('POST', '/v1/purchases', { json });
/** A parsed value with each number as a double: PostgreSQL writes 1e21 out. */
const asDoubles = (value: JsonValue): unknown => {
  if (isDecimal(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) return value.map(asDoubles);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, under]) => [key, asDoubles(under)]));
};
const postText = (body: string, headers: Record<string, string> = {}) =>
  api.call('POST', '/v1/purchases', { body, headers: { 'content-type': 'application/json', ...headers } });

describe('one purchase', () => {
  test('is new at first, and known afterwards, with the same body', async () => {
    const json = { purchaseId: 'p-1', site: 'se', reference: 'ORD-1', metadata: { cart: 7 } };
    const first = await post(json);
    expect(first.status).toBe(201);
    expect(first.body).toEqual({
      purchaseId: 'p-1',
      site: 'se',
      status: 'watching',
      state: null,
      stateSince: null,
      stuckSince: null,
      reference: 'ORD-1',
      metadata: { cart: 7 },
      registeredAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      lastPolledAt: null,
      nextPollAt: first.body.registeredAt,
      polls: 0,
      failures: 0,
      lastError: null,
      price: null,
      currency: null,
      orderReference: null,
      outcome: 'waiting',
      details: {},
    });
    const second = await post({ ...json, reference: 'ORD-2' });
    expect(second.status).toBe(200);
    expect(second.text).toBe(first.text);
  });

  test('goes to the site named default when none is named, and is nudged', async () => {
    const { body } = await post({ purchaseId: 'p-1', site: null, reference: null, metadata: null });
    expect(body).toMatchObject({ site: 'default', reference: null, metadata: null });
    const nudges = await api.sql`
      select p.purchase_id, n.shard = p.shard as same from purchase_watch_internal.nudges n join purchase_watch.purchases p on p.id = n.purchase`;
    expect([...nudges]).toEqual([{ purchaseId: 'p-1', same: true }]);
  });

  const nested = (levels: number, open: string, close: string): string =>
    `{"a":${open.repeat(levels - 1)}7${close.repeat(levels - 1)}}`;
  test.each([
    ['levels of lists', nested(64, '[', ']'), nested(65, '[', ']'), /64 levels/],
    ['levels of objects', nested(64, '{"b":', '}'), nested(65, '{"b":', '}'), /64 levels/],
    ['very many levels', nested(60, '[', ']'), nested(4_000, '[', ']'), /64 levels|nested too deep|too many levels/],
    // As Postgres writes it, there is a space behind the colon.
    ['characters', `{"a":"${'🦊'.repeat(8_183)}"}`, `{"a":"${'🦊'.repeat(8_184)}"}`, /at most 8192/],
  ])('has as many %s in its metadata as SQL takes, and no more', async (_what, good, bad, problem) => {
    const insert = (id: string, metadata: string) =>
      api.sql`insert into purchase_watch.purchases (purchase_id, metadata) values (${id}, ${metadata}::text::jsonb)`;
    expect((await postText(`{"purchaseId":"api","metadata":${good}}`)).status).toBe(201);
    await insert('sql', good);
    const refused = await postText(`{"purchaseId":"api-2","metadata":${bad}}`);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(problem);
    await expect(insert('sql-2', bad)).rejects.toMatchObject({ code: '23514', message: expect.stringMatching(problem) });
  });

  test('at a site that was taken out of the configuration elsewhere is a clear problem', async () => {
    await api.sql`update purchase_watch_internal.sites set configured = false where name = 'norway'`;
    const one = await post({ purchaseId: 'p-1', site: 'norway' });
    const batch = await api.call('POST', '/v1/purchases/batch', { json: { purchases: [{ purchaseId: 'p-2', site: 'norway' }] } });
    await api.sql`update purchase_watch_internal.sites set configured = true where name = 'norway'`;
    for (const { status, body } of [one, batch]) {
      expect([status, body.code]).toEqual([400, 'unknown_site']);
      expect(body.detail).toBe("site 'norway' is not configured. Configured sites: default, se.");
    }
  });

  test('is watched again when it was stopped', async () => {
    await post({ purchaseId: 'p-1' });
    await api.call('DELETE', '/v1/purchases/p-1');
    const again = await post({ purchaseId: 'p-1' });
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ status: 'watching', nextPollAt: expect.any(String) });
  });

  test('keeps the digits of the numbers in its metadata', async () => {
    const metadata = '{"price":249.50,"big":123456789012345678901234567890,"small":0.1000,"__proto__":{"a":1}}';
    const { text, status } = await postText(`{"purchaseId":"p-1","metadata":${metadata}}`);
    expect(status).toBe(201);
    for (const digits of ['249.50', '123456789012345678901234567890', '0.1000', '"__proto__": {"a": 1}']) {
      expect(text).toContain(digits);
    }
    const [row] = await api.sql<[{ text: string }]>`select metadata::text as text from purchase_watch.purchases`;
    expect(row.text).toContain('249.50');
  });

  test('shows amounts as the service sent them, and only once', async () => {
    await post({ purchaseId: 'p-1' });
    const fields = '{"Price":249.50,"CurrencyCode":"SEK","OrderReference":"A-1","CountryCode":"SE","Fee":1.00}';
    await api.sql`
      insert into purchase_watch_internal.purchase_details (purchase, fields) select id, ${fields}::text::json from purchase_watch.purchases`;
    const { text, body } = await api.call('GET', '/v1/purchases/p-1');
    expect(text).toContain('"price":249.50,"currency":"SEK","orderReference":"A-1"');
    expect(text).toContain('"details":{"CountryCode":"SE","Fee":1.00}');
    expect(body.transitions).toEqual([]);
  });

  test('may have any id of one line that a service may give, and is found again by it', async () => {
    const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).filter((text) => newIdProblem(text) === null);
    await fc.assert(
      fc.asyncProperty(id, async (purchaseId) => {
        expect((await post({ purchaseId })).body.purchaseId).toBe(purchaseId);
        const found = await api.call('GET', `/v1/purchases/${encodeURIComponent(purchaseId)}`);
        expect([found.status, found.body.purchaseId]).toEqual([200, purchaseId]);
      }),
      { numRuns: 100, examples: [['a/b'], ['%2F'], ['a%41?x#y'], ['{null}'], ['\\'], ['NULL'], ['\u{1f6d2}'], ['batch']] },
    );
  });
});

describe('what is refused names the field, the value and what to do', () => {
  const surrogate = '\ud800';
  test.each<[string, unknown, Record<string, unknown>]>([
    ['no id', {}, { field: 'purchaseId', detail: 'is missing' }],
    ['an empty id', { purchaseId: '' }, { field: 'purchaseId', value: '', detail: expect.stringContaining('is empty') }],
    ['an id that is a number', { purchaseId: 5 }, { field: 'purchaseId', value: 5, detail: 'must be text' }],
    [
      'an over-long id',
      { purchaseId: 'x'.repeat(201) },
      { field: 'purchaseId', value: `${'x'.repeat(80)}…`, detail: 'is 201 characters long; at most 200 are accepted' },
    ],
    [
      'a space at the end',
      { purchaseId: 'p ' },
      { field: 'purchaseId', value: 'p ', detail: expect.stringMatching(/^begins or ends/) },
    ],
    ['a line break', { purchaseId: 'p\n' }, { field: 'purchaseId', detail: expect.stringContaining('control character') }],
    ['half a character', { purchaseId: surrogate }, { field: 'purchaseId', detail: expect.stringContaining('surrogate') }],
    [
      'an unknown field',
      { purchaseId: 'p', refrence: 'secret' },
      { field: 'refrence', detail: expect.stringContaining('did you mean reference?') },
    ],
    [
      'a long reference',
      { purchaseId: 'p', reference: 'x'.repeat(201) },
      { field: 'reference', detail: expect.stringContaining('at most 200') },
    ],
    [
      'a NUL in the reference',
      { purchaseId: 'p', reference: 'a\u0000' },
      { field: 'reference', detail: expect.stringContaining('control') },
    ],
    [
      'metadata in a string',
      { purchaseId: 'p', metadata: '{"a":1}' },
      { field: 'metadata', detail: expect.stringContaining('JSON object') },
    ],
    [
      'metadata in a list',
      { purchaseId: 'p', metadata: [] },
      { field: 'metadata', detail: expect.stringContaining('JSON object') },
    ],
    [
      'large metadata',
      { purchaseId: 'p', metadata: { a: 'x'.repeat(8192) } },
      { field: 'metadata', detail: expect.stringContaining('at most 8192') },
    ],
    [
      'NUL in metadata',
      { purchaseId: 'p', metadata: { a: ['\u0000'] } },
      { field: 'metadata', detail: expect.stringContaining('\\u0000') },
    ],
    [
      'NUL in a name of metadata',
      { purchaseId: 'p', metadata: { '\u0000': 1 } },
      { field: 'metadata', detail: expect.stringContaining('\\u0000') },
    ],
    [
      'half a character in metadata',
      { purchaseId: 'p', metadata: { a: surrogate } },
      { field: 'metadata', detail: expect.stringContaining('surrogate') },
    ],
  ])('%s', async (_name, json, error) => {
    const answer = await post(json);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.body).toMatchObject({
      type: 'urn:purchase-watch:problem:invalid_request',
      title: 'The request is not valid',
      status: 400,
      code: 'invalid_request',
      errors: [error],
    });
    expect(answer.text).not.toContain('secret');
  });

  test('all faults are told at once', async () => {
    const { body } = await post({ purchaseId: '', site: 'xx', reference: 1, extra: true });
    expect(body.code).toBe('invalid_request');
    expect(body.errors.map((error: { field: string }) => error.field).sort()).toEqual([
      'extra',
      'purchaseId',
      'reference',
      'site',
    ]);
  });

  test('an unknown site: the nearest one first', async () => {
    const { status, body } = await post({ purchaseId: 'p', site: 'norwya' });
    expect([status, body.code]).toEqual([400, 'unknown_site']);
    expect(body.errors).toEqual([
      {
        field: 'site',
        value: 'norwya',
        detail: 'is not a site of the configuration (did you mean norway?); there are norway, se, default',
      },
    ]);
  });

  test('no site, where there are several and none is the default', async () => {
    const other = await startTestApi({ sql: api.sql, sites: ['se', 'norway'] });
    const { status, body } = await other.call('POST', '/v1/purchases', { json: { purchaseId: 'p' } });
    expect([status, body.errors]).toEqual([
      400,
      [{ field: 'site', detail: 'is missing, and no site is named default; there are se, norway' }],
    ]);
    const single = await startTestApi({ sql: api.sql, sites: ['se'] });
    expect((await single.call('POST', '/v1/purchases', { json: { purchaseId: 'p' } })).body.site).toBe('se');
    await other.stop();
    await single.stop();
  });

  test('metadata that the database would write out longer than it came', async () => {
    const at = async (metadata: string) => (await postText(`{"purchaseId":"p","metadata":${metadata}}`)).status;
    const list = (count: number) => `{"a":[${Array.from({ length: count }, () => '1').join(',')}]}`;
    // Each entry is stored as "1, ": 8192 characters are reached by fewer of them than the text sent suggests.
    expect(await at(list(2_727))).toBe(201);
    expect(await at(list(2_730))).toBe(400);
    expect(await at('{"a":1e9000}')).toBe(400);
    expect(await at('{"a":1e-99999999999}')).toBe(400);
    expect(await at('{"a":-0.0,"b":0e5,"c":1E+21,"d":12e-7}')).toBe(200);
  });

  test('metadata of any kind is stored or refused, never a fault', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), async (metadata) => {
        count += 1;
        const { status, body, exact } = await post({ purchaseId: `m-${count}`, metadata });
        const text = JSON.stringify(metadata);
        // Stored, 1e279 has 280 digits: what fits as it is sent may not fit then.
        if (status === 400 && /e[+-]\d/.test(text) && /8192/.test(body.detail)) return;
        expect(status).toBe(text.includes('\\u0000') ? 400 : 201);
        const stored = (exact as { metadata?: JsonValue } | null)?.metadata ?? null;
        if (status === 201) expect(asDoubles(stored)).toEqual(asDoubles(parseExact(text)));
      }),
      { numRuns: 150 },
    );
  });
});

describe('the body', () => {
  test.each([
    ['nothing', '', 400, 'not_json', /empty/],
    ['text', 'purchaseId=5', 400, 'not_json', /is not JSON/],
    ['JSON with a fault', '{\n  "purchaseId": }', 400, 'not_json', /is not JSON/],
    ['a cut one', '{"purchaseId": "p', 400, 'not_json', /is not JSON/],
    ['a list', '[]', 400, 'invalid_request', /must be a JSON object/],
    ['a number', '1.50', 400, 'invalid_request', /must be a JSON object/],
    ['null', 'null', 400, 'invalid_request', /must be a JSON object/],
    ['a very deep one', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 400, 'too_deep', /levels/],
    [
      'deep metadata',
      `{"purchaseId":"p","metadata":${'{"a":'.repeat(70)}1${'}'.repeat(70)}}`,
      400,
      'invalid_request',
      /64 levels/,
    ],
    ['a large one', `{"purchaseId":"${'x'.repeat(70_000)}"}`, 413, 'too_large', /64 KiB/],
  ])('%s', async (_name, text, status, code, detail) => {
    const answer = await postText(text);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.body.detail).toMatch(detail);
  });

  test('the place of a fault is told where it is known', async () => {
    const { body } = await postText('{\n  "purchaseId": "p",\n}');
    expect(body.detail).toBe('The body is not JSON: wrong at position 23 (line 3, column 1).');
  });

  test('that is not UTF-8 is refused', async () => {
    const { status, body } = await api.call('POST', '/v1/purchases', {
      body: new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
      headers: { 'content-type': 'application/json' },
    });
    expect([status, body.code]).toEqual([400, 'not_json']);
  });

  test('is counted while it comes when it names no length', async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 1;
        controller.enqueue(new Uint8Array(16_384).fill(0x20));
        if (sent > 10_000) controller.close();
      },
    });
    const answered = await fetchAsMachine(`${api.url}/v1/purchases`, {
      method: 'POST',
      body: endless,
      duplex: 'half',
      headers: { 'content-type': 'application/json' },
    } as RequestInit).then(
      (response) => response.status,
      () => 'closed',
    );
    // The server may end the connection before the caller has read the answer.
    expect([413, 'closed']).toContain(answered);
    expect(sent).toBeLessThan(1_000);
  });

  test.each([
    ['text/plain', {}],
    ['application/x-www-form-urlencoded', {}],
    ['', {}],
    ['application/json', { 'content-encoding': 'gzip' }],
  ])('of type "%s" %o is refused', async (type, headers) => {
    const { status, body } = await postText('{"purchaseId":"p"}', { 'content-type': type, ...headers });
    expect([status, body.code]).toEqual([415, 'unsupported_media_type']);
  });

  test.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.shop+json'])(
    'of type %s is read',
    async (type) => {
      expect((await postText('{"purchaseId":"p"}', { 'content-type': type })).status).toBeLessThan(300);
    },
  );
});
