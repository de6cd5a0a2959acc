import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './api.ts';

let api: TestApi;
let names: string[];
beforeAll(async () => {
  api = await startTestApi();
  const rows = await api.sql<{ name: string }[]>`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) select 'shop-' || n, 'webhook', 'systems', 'x' from generate_series(1, 60) n
    returning name`;
  names = rows.map(({ name }) => name);
});
afterAll(() => api.stop());

async function page(query: string): Promise<{ names: string[]; nextCursor: string | null }> {
  const { status, body } = await api.call('GET', `/v1/subscribers${query}`);
  expect(status).toBe(200);
  return { names: body.data.map(({ name }: { name: string }) => name), nextCursor: body.nextCursor };
}

test('subscribers come in pages of 50 unless told otherwise, the oldest first', async () => {
  const first = await page('');
  expect(first.names).toEqual(names.slice(0, 50));
  expect(await page(`?cursor=${first.nextCursor}`)).toEqual({ names: names.slice(50), nextCursor: null });
  expect(await page('?limit=60')).toEqual({ names, nextCursor: null });
});

test('pages follow one another without a gap, also when subscribers are removed and added meanwhile', async () => {
  const first = await page('?limit=20');
  await api.sql`delete from purchase_watch_internal.subscribers where name = 'shop-20'`;
  const second = await page(`?limit=20&cursor=${first.nextCursor}`);
  await api.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('late', 'webhook', 'systems', 'x')`;
  const third = await page(`?limit=500&cursor=${second.nextCursor}`);
  expect([first.names, second.names, third.names]).toEqual([
    names.slice(0, 20),
    names.slice(20, 40),
    [...names.slice(40), 'late'],
  ]);
});

test('behind the last one there is an empty page, however far behind', async () => {
  const far = Buffer.from(`id:${Number.MAX_SAFE_INTEGER}`).toString('base64url');
  expect(await page(`?cursor=${far}`)).toEqual({ names: [], nextCursor: null });
});

test.each(['limit=0', 'limit=501', 'limit=x', 'cursor=x', 'after=3'])('%s is refused', async (query) => {
  const { status, body } = await api.call('GET', `/v1/subscribers?${query}`);
  expect([status, body.code]).toEqual([400, 'invalid_request']);
});
