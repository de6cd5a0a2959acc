import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fetchAsMachine } from '../../support/machine.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.stop());
beforeEach(async () => {
  await api.sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges cascade`;
  await api.call('POST', '/v1/purchases', { json: { purchaseId: 'p' } });
  await api.sql`update purchase_watch.purchases set next_poll_at = now() + interval '1 hour', polls = 3`;
  await api.sql`truncate purchase_watch_internal.nudges`;
});

const ask = (query = '', server = api) => server.call('POST', `/v1/purchases/p/poll${query}`);
const asked = async () => (await api.sql`select from purchase_watch_internal.nudges`).length === 1;

test('makes the purchase due at once and does not wait unless told to', async () => {
  const { status, body } = await ask();
  expect([status, body.note]).toEqual([202, expect.stringContaining('?wait=5s')]);
  expect(Date.parse(body.nextPollAt)).toBeLessThan(Date.now() + 1_000);
  expect(await asked()).toBe(true);
});

test('answers with the purchase as soon as a poll was recorded', async () => {
  // At the end of this wait the test would have run out of time.
  const answer = ask('?wait=30s');
  while (!(await asked())) await delay(10);
  await api.sql`update purchase_watch.purchases set polls = polls + 1, state = 2, state_since = now(), last_polled_at = now()`;
  const { status, body } = await answer;
  expect([status, body.state, body.polls]).toEqual([200, { value: 2, name: 'Completed' }, 4]);
  expect(body).not.toHaveProperty('note');
});

test('says that nothing was polled within the wait', async () => {
  const begun = performance.now();
  const { status, body } = await ask('?wait=200ms');
  expect(performance.now() - begun).toBeGreaterThan(190);
  expect([status, body.polls, body.note]).toEqual([202, 3, expect.stringContaining('within 200ms')]);
});

test('says so when the site does not answer, or is not configured any more', async () => {
  await api.sql`update purchase_watch_internal.sites set failing_since = '2026-11-20T09:00Z'`;
  expect((await ask()).body.note).toContain('no usable answer since 2026-11-20T09:00:00.000Z');
  await api.sql`update purchase_watch_internal.sites set failing_since = null, unnamed_since = now()`;
  const begun = performance.now();
  const { note } = (await ask('?wait=25s')).body;
  expect(note).toMatch(/^No running daemon has site \w+ in its settings, .*: name the site in the settings again; .*formerly/);
  expect(performance.now() - begun).toBeLessThan(20_000);
  await api.sql`update purchase_watch_internal.sites set unnamed_since = null`;
});

test.each(['31s', '1m', '5', '-1s', 'soon', ''])('a wait of "%s" is refused', async (wait) => {
  const { status, body } = await ask(`?wait=${wait}`);
  expect([status, body.errors]).toEqual([400, [{ field: 'wait', value: wait, detail: expect.stringContaining('30s at most') }]]);
});

test('nobody registered it: a problem', async () => {
  expect((await api.call('POST', '/v1/purchases/nobody/poll')).status).toBe(404);
});

test('closing the server ends waiting requests and kept connections at once', async () => {
  const server = await startTestApi({ sql: api.sql });
  await server.call('GET', '/healthz');
  const waiting = ask('?wait=30s', server);
  while (!(await asked())) await delay(10);
  await Promise.all([server.close(), server.close()]);
  // An answer, and no broken connection, which comes two seconds later.
  expect((await waiting).status).toBe(202);
  await expect(server.call('GET', '/healthz')).rejects.toThrow();
});

test('whoever hangs up is not waited for', async () => {
  const controller = new AbortController();
  const waiting = fetchAsMachine(`${api.url}/v1/purchases/p/poll?wait=30s`, { method: 'POST', signal: controller.signal });
  while (!(await asked())) await delay(10);
  controller.abort();
  await expect(waiting).rejects.toThrow();
  await expect
    .poll(() => api.lines.some((line) => line.includes('api.answered') && line.includes('/poll') && line.includes('202')))
    .toBe(true);
});
