import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ sites: ['default', 'se'] });
});
afterAll(() => api.stop());
beforeEach(async () => {
  await api.sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges cascade`;
});

const post = (purchases: unknown) => api.call('POST', '/v1/purchases/batch', { json: { purchases } });

test('registers the good ones and says what is wrong with each of the others', async () => {
  await post([{ purchaseId: 'known' }]);
  const { status, body } = await post([
    { purchaseId: 'a', metadata: { cart: 1 } },
    { purchaseId: '' },
    { purchaseId: 'known' },
    { purchaseId: 'b', site: 'es' },
    'c',
    { purchaseId: 'd', site: 'se', referense: 'x' },
    { purchaseId: 'a' },
    { purchaseId: 'a', site: 'se' },
    1.5,
  ]);
  expect(status).toBe(200);
  expect(body).toEqual({
    created: 2,
    existing: 2,
    rejected: [
      { index: 1, code: 'invalid_request', detail: 'purchaseId: is empty; give the Purchase ID that the checkout service gave' },
      { index: 3, code: 'unknown_site', detail: expect.stringMatching(/^site: is not a site .*se, default$/) },
      { index: 4, code: 'invalid_request', detail: 'must be an object: {"purchaseId": "…"}' },
      { index: 5, code: 'invalid_request', detail: expect.stringContaining('did you mean reference?') },
      { index: 8, code: 'invalid_request', detail: 'must be an object: {"purchaseId": "…"}' },
    ],
  });
  const rows = await api.sql`select site, purchase_id, metadata::text from purchase_watch.purchases order by site, purchase_id`;
  // Of two entries with one id, the first counts.
  expect([...rows]).toEqual([
    { site: 'default', purchaseId: 'a', metadata: '{"cart": 1}' },
    { site: 'default', purchaseId: 'known', metadata: null },
    { site: 'se', purchaseId: 'a', metadata: null },
  ]);
});

test('keeps the digits, and wakes the daemon once', async () => {
  await api.call('POST', '/v1/purchases/batch', {
    body: '{"purchases":[{"purchaseId":"a","metadata":{"n":249.50}},{"purchaseId":"b"}]}',
    headers: { 'content-type': 'application/json' },
  });
  expect((await api.call('GET', '/v1/purchases/a')).text).toContain('249.50');
  const [row] = await api.sql<[{ count: number }]>`select count(*)::int as count from purchase_watch_internal.nudges`;
  expect(row.count).toBe(2);
});

test('nothing to register is fine; something else than a list, or too long a list, is not', async () => {
  expect((await post([])).body).toEqual({ created: 0, existing: 0, rejected: [] });
  expect((await post({})).body).toMatchObject({ code: 'invalid_request', errors: [{ field: 'purchases' }] });
  expect((await api.call('POST', '/v1/purchases/batch', { json: [] })).body.code).toBe('invalid_request');
});

test('more than 1 000 entries or 1 MiB are refused whole, with the limit and what to do', async () => {
  const many = await post(Array.from({ length: 1_001 }, (_, index) => ({ purchaseId: `p-${index}` })));
  expect([many.status, many.body.code]).toEqual([413, 'too_large']);
  expect(many.body.detail).toBe('The batch has 1001 entries, and 1000 are accepted at once at most; send it in several calls.');
  const large = await post(
    Array.from({ length: 900 }, (_, index) => ({ purchaseId: `p-${index}`, metadata: { a: 'x'.repeat(1_200) } })),
  );
  expect([large.status, large.body.code]).toEqual([413, 'too_large']);
  expect(large.body.detail).toBe('The body is larger than 1024 KiB, the most accepted here; send less at once.');
  expect((await api.sql`select from purchase_watch.purchases`).length).toBe(0);
});

test('a thousand take as many statements as one, new or not', async () => {
  let statements = 0;
  const counting = new Proxy(api.sql, {
    apply: (target, self, given) => {
      statements += 1;
      return Reflect.apply(target, self, given);
    },
  });
  const counted = await startTestApi({ sites: ['default', 'se'], sql: counting });
  const registered = async (purchases: readonly object[]) => {
    statements = 0;
    const { body } = await counted.call('POST', '/v1/purchases/batch', { json: { purchases } });
    return { body, statements };
  };
  const one = [{ purchaseId: 'one', reference: 'ORD-1', metadata: { cart: 1 } }];
  const [first, again] = [await registered(one), await registered(one)];
  expect([first.body, again.body]).toMatchObject([{ created: 1 }, { existing: 1 }]);
  expect(Math.min(first.statements, again.statements)).toBeGreaterThan(0);
  const purchases = Array.from({ length: 1_000 }, (_, index) => ({
    purchaseId: `3f6b8a52-6c7e-4a53-9d43-${index}`,
    reference: `ORD-${index}`,
    metadata: { cart: index, shop: 'a shop with a name', lines: [{ sku: 'A-1', count: 2 }] },
  }));
  expect(await registered(purchases)).toEqual({
    body: { created: 1_000, existing: 0, rejected: [] },
    statements: first.statements,
  });
  expect(await registered(purchases)).toEqual({
    body: { created: 0, existing: 1_000, rejected: [] },
    statements: again.statements,
  });
  await counted.close();
});

test('lists with the same ids in different orders never wait for each other', async () => {
  const purchases = Array.from({ length: 500 }, (_, index) => ({ purchaseId: `p-${index}` }));
  const answers = await Promise.all([purchases, purchases.toReversed(), purchases, purchases.toReversed()].map(post));
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200]);
  expect(answers.reduce((sum, answer) => sum + answer.body.created, 0)).toBe(500);
});
