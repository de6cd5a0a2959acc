/** What a subscriber is trusted with: never repeated, whatever is wrong with it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSecrets } from '../../../src/runtime/secrets/secrets.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.stop());

const SHOP = { name: 'shop', url: 'https://shop.example' };

test.each<[string, object, string]>([
  ['a value in place of headers', { headers: 'Bearer geheim' }, 'headers'],
  ['a number in place of headers', { headers: 8_675_309 }, 'headers'],
  ['a number as a value', { headers: { 'X-A': 8_675_309 } }, 'headers.X-A'],
  ['a number with digits to keep', { headers: { 'X-A': { $: '8675309.50' } } }, 'headers.X-A'],
  ['a switch as a value', { headers: { 'X-A': true, 'X-B': 'geheim' } }, 'headers.X-A'],
  ['a value as a name', { headers: { 'Bearer geheim': 'x' } }, 'headers'],
  ['a value as a name, with a number', { headers: { 'Bearer geheim': 8_675_309 } }, 'headers'],
  ['a number in place of a secret', { secret: 8_675_309 }, 'secret'],
  ['a short secret', { secret: 'whsec_geheim' }, 'secret'],
])('%s is refused without a word of it', async (_what, wrong, field) => {
  const body = JSON.stringify({ ...SHOP, ...wrong }).replace(/\{"\$":"([^"]*)"\}/, '$1');
  for (const [method, path] of [
    ['POST', '/v1/subscribers'],
    ['PATCH', '/v1/subscribers/shop'],
  ] as const) {
    if (method === 'PATCH' && field === 'secret') continue;
    const answer = await api.call(method, path, { body, headers: { 'content-type': 'application/json' } });
    expect([answer.status, answer.body.errors.map((each: { field: string }) => each.field)]).toEqual([
      400,
      method === 'PATCH' ? [field, 'name'] : [field],
    ]);
    expect(answer.text).not.toMatch(/geheim|8675309|"value"/);
  }
});

test('a secret in the place of a change is not repeated either', async () => {
  const answer = await api.call('PATCH', '/v1/subscribers/shop', { json: { secret: 'whsec_geheim' } });
  expect(answer.status).toBe(400);
  expect(answer.text).not.toContain('geheim');
});

test('names that objects have by birth are names of headers as well', async () => {
  const headers = '{"__proto__":"one of them","constructor":"another","toString":"a third"}';
  const body = `{"name":"born","url":"https://shop.example","headers":${headers}}`;
  const added = await api.call('POST', '/v1/subscribers', { body, headers: { 'content-type': 'application/json' } });
  expect([added.status, added.body.headers]).toEqual([201, ['__proto__', 'constructor', 'toString']]);
  expect((await api.call('GET', '/v1/subscribers/born')).body.headers).toEqual(['__proto__', 'constructor', 'toString']);
});

test('until when old secrets sign is told as long as they do', async () => {
  await api.call('POST', '/v1/subscribers', { json: { ...SHOP, name: 'rotating' } });
  const rotated = await api.call('POST', '/v1/subscribers/rotating/rotate-secret', { json: { overlap: '1h' } });
  const until = async () => (await api.call('GET', '/v1/subscribers/rotating')).body.oldSecretsUntil;
  expect([typeof rotated.body.oldSecretsUntil, await until()]).toEqual(['string', rotated.body.oldSecretsUntil]);
  await api.sql`update purchase_watch_internal.subscribers set old_keys_until = now() - interval '1 second' where name = 'rotating'`;
  expect(await until()).toBeNull();
});

test('an overlap of more than 30 days is refused', async () => {
  await api.call('POST', '/v1/subscribers', { json: { ...SHOP, name: 'long' } });
  const rotate = (overlap: string) => api.call('POST', '/v1/subscribers/long/rotate-secret', { json: { overlap } });
  const refused = await rotate('31d');
  expect([refused.status, refused.body.errors]).toEqual([
    400,
    [{ field: 'overlap', value: '31d', detail: 'must be a duration such as 500ms or 5s, 30d at most' }],
  ]);
  expect((await rotate('30d')).status).toBe(200);
});

test('what tells requests with an Idempotency-Key apart is worth nothing without the key of the installation', async () => {
  const other = await startTestApi({ secrets: createSecrets('another key of many characters') });
  const json = { name: 'keyed', url: 'https://shop.example', headers: { 'X-Pin': '7353' } };
  const hashOf = async ({ call, sql }: TestApi) => {
    expect((await call('POST', '/v1/subscribers', { json, headers: { 'idempotency-key': 'k' } })).status).toBe(201);
    const [row] = await sql`select encode(request_hash, 'hex') as hash from purchase_watch_internal.idempotency_keys`;
    return row!.hash;
  };
  const [first, second] = [await hashOf(api), await hashOf(other)];
  await other.stop();
  expect(first).not.toBe(second);
});
