import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashOfKey } from '../../../src/config/api-keys.ts';
import { SCOPES } from '../../../src/config/kinds/key-kinds.ts';
import { AS_MACHINE } from '../../support/machine.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.stop());

const add = (name: string, key: string, more: object = {}) =>
  api.call('POST', '/v1/subscribers', {
    json: { name, url: 'https://a.example', ...more },
    headers: { 'idempotency-key': key },
  });

test('the same key and request get the same answer, with its secret, and the work is done once', async () => {
  const first = await add('once', 'key-1');
  const again = await add('once', 'key-1');
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(again.text).toBe(first.text);
  expect(again.headers.get('location')).toBe('/v1/subscribers/once');
  expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([null, 'true']);
  expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
});

test('what is kept of an answer and of a key cannot be read in the database', async () => {
  const { body } = await add('hidden', 'a-key-that-is-mine');
  const [row] = await api.sql`
    select k::text as text, encode(answer, 'escape') as raw from purchase_watch_internal.idempotency_keys k order by created_at desc limit 1`;
  for (const secret of [body.secret, 'a-key-that-is-mine']) {
    expect(row!.text + row!.raw).not.toContain(secret);
    expect(row!.text).not.toContain(Buffer.from(secret).toString('hex'));
  }
});

test('the same key for another request is refused; for another address it is another key', async () => {
  await add('other', 'key-2');
  for (const answer of [await add('other', 'key-2', { types: ['purchase.stuck'] }), await add('another', 'key-2')]) {
    expect([answer.status, answer.body.code]).toEqual([422, 'idempotency_key_reused']);
  }
  expect((await api.call('GET', '/v1/subscribers/another')).status).toBe(404);
  const rotated = await api.call('POST', '/v1/subscribers/other/rotate-secret', { headers: { 'idempotency-key': 'key-2' } });
  expect(rotated.status).toBe(200);
  const again = await api.call('POST', '/v1/subscribers/other/rotate-secret', { headers: { 'idempotency-key': 'key-2' } });
  expect(again.text).toBe(rotated.text);
});

test('a key counts for its caller: another key of the API neither gets the answer nor is refused', async () => {
  const other = { name: 'other', scopes: SCOPES, hash: hashOfKey('o'.repeat(20)), expires: null };
  const keyed = await startTestApi({ sql: api.sql, apiKey: 'w'.repeat(20), apiKeys: [other] });
  const rotate = (key: string, scheme = 'Bearer ') =>
    keyed.call('POST', '/v1/subscribers/shared/rotate-secret', {
      headers: { authorization: scheme + key.repeat(20), 'idempotency-key': 'key-shared' },
    });
  await add('shared', 'key-1st');
  const [first, second] = [await rotate('w'), await rotate('o')];
  expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([200, 200, null]);
  expect(second.body.secret).not.toBe(first.body.secret);
  expect([(await rotate('w')).text, (await rotate('o')).text]).toEqual([first.text, second.text]);
  // However the header is written, it is one caller.
  expect((await rotate('w', 'bearer  ')).text).toBe(first.text);
  await keyed.close();
});

test('of many at once one does the work, and the others are told to come back', async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => add('race', 'key-3')));
  const busy = answers.filter(({ status }) => status === 409);
  for (const { body, headers } of busy) {
    expect([body.code, headers.get('retry-after')]).toEqual(['idempotency_key_in_use', '1']);
  }
  const good = answers.filter(({ status }) => status === 201);
  expect(good.length + busy.length).toBe(8);
  expect(new Set(good.map(({ text }) => text)).size).toBe(1);
});

test('a request that was refused may be made again with its key', async () => {
  const bad = await add('refused', 'key-4', { sites: ['nowhere'] });
  expect(bad.status).toBe(400);
  const exists = await add('once', 'key-4');
  expect(exists.body.code).toBe('subscriber_exists');
  expect((await add('refused', 'key-4')).status).toBe(201);
});

test('a key is forgotten after a day, and one whose request was lost after a while', async () => {
  await add('daily', 'key-5');
  await api.sql`update purchase_watch_internal.idempotency_keys set created_at = now() - interval '25 hours'`;
  expect((await add('daily', 'key-5')).body.code).toBe('subscriber_exists');
  await add('lost', 'key-6');
  await api.sql`delete from purchase_watch_internal.subscribers where name = 'lost'`;
  await api.sql`update purchase_watch_internal.idempotency_keys set status = null, answer = null, busy_until = now() + interval '1 minute' where status is not null`;
  expect((await add('lost', 'key-6')).body.code).toBe('idempotency_key_in_use');
  await api.sql`update purchase_watch_internal.idempotency_keys set busy_until = now() - interval '1 second' where status is null`;
  expect((await add('lost', 'key-6')).status).toBe(201);
});

test('a key is not forgotten by time that the clock of the database skipped', async () => {
  const first = await add('skipping', 'key-skip');
  await api.sql`update purchase_watch_internal.idempotency_keys set created_at = now() - interval '30 hours'`;
  await api.sql`update purchase_watch_internal.database_clock set skipped = '{[2000-01-01, 2000-02-01)}'::tstzmultirange + tstzmultirange(tstzrange(now() - interval '10 hours', now()))`;
  expect((await add('skipping', 'key-skip')).text).toBe(first.text);
  await api.sql`update purchase_watch_internal.database_clock set skipped = '{}'`;
  expect((await add('skipping', 'key-skip')).body.code).toBe('subscriber_exists');
});

test.each(['', 'k'.repeat(256), 'å'])('a key of %j is refused', async (key) => {
  const headers = { 'idempotency-key': key };
  const { status, body } = await api.call('POST', '/v1/subscribers', { json: { name: 'x', url: 'https://a.example' }, headers });
  expect([status, body.errors[0].field]).toEqual([400, 'idempotency-key']);
});

test('an answer kept under another encryption key is not made up', async () => {
  await add('rekeyed', 'key-7');
  const { createSecrets } = await import('../../../src/runtime/secrets/secrets.ts');
  const other = await startTestApi({ sql: api.sql, secrets: createSecrets('another key of many many characters') });
  const answer = await other.call('POST', '/v1/subscribers', {
    json: { name: 'rekeyed', url: 'https://a.example' },
    headers: { 'idempotency-key': 'key-7' },
  });
  expect([answer.status, answer.body.code]).toEqual([422, 'idempotency_key_reused']);
  expect(answer.body.detail).toMatch(/SECRETS_KEY/);
  await other.close();
});

test('an address of any length is answered as it would be without a key', async () => {
  const path = `/v1/subscribers/${randomBytes(4_000).toString('hex')}/rotate-secret`;
  const [plain, keyed] = [
    await api.call('POST', path),
    await api.call('POST', path, { headers: { 'idempotency-key': 'key-long' } }),
  ];
  expect([plain.status, keyed.status]).toEqual([400, 400]);
});

test('a body that nobody reads is not read for the key either', async () => {
  const headers = { ...AS_MACHINE, 'idempotency-key': 'key-body', 'transfer-encoding': 'chunked' };
  const call = http.request(`${api.url}/v1/subscribers/nobody/test`, { method: 'POST', headers });
  call.on('error', () => undefined);
  // It never ends.
  call.write('{"a": ');
  const [answer] = (await once(call, 'response')) as [http.IncomingMessage];
  expect(answer.statusCode).toBe(404);
  call.destroy();
});
