import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.stop());
beforeEach(async () => {
  await api.sql`truncate purchase_watch.purchases, purchase_watch_internal.actions cascade`;
  await api.call('POST', '/v1/purchases', { json: { purchaseId: 'gone', reference: 'ORD-gone' } });
});

const forget = (json: unknown, id = 'gone') => api.call('POST', `/v1/purchases/${id}/forget`, { json });
const isThere = async () => (await api.sql`select from purchase_watch.purchases where purchase_id = 'gone'`).length === 1;
const recorded = () => api.sql`select subject from purchase_watch_internal.actions`;

test('a dry run says what would be erased, erases nothing and is not recorded', async () => {
  const by = { by: 'Kim', reason: 'ORD-gone asked', endsAt: '2h', everything: true };
  await api.call('POST', '/v1/silences', { json: by });
  await api.sql`truncate purchase_watch_internal.actions`;
  const { status, body } = await forget({ dryRun: true });
  expect(status).toBe(200);
  expect(body).toMatchObject({ purchaseId: 'gone', erased: false, at: null, counts: { transitions: 0, events: 0, pending: 0 } });
  expect(body.remarks).toMatchObject([{ place: 'silence', by: 'Kim', text: 'ORD-gone asked' }]);
  expect(body.outOfReach.length).toBeGreaterThan(2);
  expect([await isThere(), await recorded()]).toEqual([true, []]);
});

test('erases the purchase, and what is recorded does not name it', async () => {
  const { status, body } = await forget({ dryRun: false });
  expect([status, body.erased, Number.isNaN(Date.parse(body.at))]).toEqual([200, true, false]);
  expect(await isThere()).toBe(false);
  const rows = await recorded();
  expect(rows.length).toBe(1);
  expect(JSON.stringify(rows)).not.toContain('gone');
  const [line] = await api.sql<{ text: string }[]>`
    select f::text as text from purchase_watch_internal.forgotten f order by at desc limit 1`;
  expect(line!.text).toMatch(/api, role /);
  expect((await forget({ dryRun: false })).body.code).toBe('purchase_not_found');
});

test('wants to be told whether it is a dry run', async () => {
  for (const json of [{}, { dryRun: 'no' }, { dryRun: false, force: true }]) {
    const { status, body } = await forget(json);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
  }
  expect(await isThere()).toBe(true);
});

test('erases nothing while another transaction holds the purchase', async () => {
  await api.sql.begin(async (sql) => {
    await sql`select from purchase_watch.purchases where purchase_id = 'gone' for update`;
    expect((await forget({ dryRun: false })).body.code).toBe('locked');
  });
  expect(await isThere()).toBe(true);
});
