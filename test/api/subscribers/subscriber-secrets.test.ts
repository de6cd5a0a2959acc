/** What a subscriber is trusted with: never repeated, whatever is wrong with it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

interface Schema {
  readonly $ref?: string;
  readonly format?: string;
  readonly example?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

describe('a subscriber that is moved by its address', () => {
  const change = (name: string, json: object) => api.call('PATCH', `/v1/subscribers/${name}`, { json });

  test('takes stored headers to another origin only when they are given again', async () => {
    const headers = { Authorization: 'Bearer geheim', 'X-Team': 'geheim' };
    await api.call('POST', '/v1/subscribers', { json: { name: 'moved', url: 'https://shop.example/a', headers } });
    for (const url of [
      'https://thief.example/a',

      'https://shop.example:8443/a',
      'https://shop.example.:443/a',
    ]) {
      const refused = await change('moved', { url, description: 'changed' });
      expect([refused.status, refused.body.code], url).toEqual([409, 'headers_not_given']);
      expect(refused.body.detail).toMatch(
        /headers of "moved" \(Authorization, X-Team\) were given for https:\/\/shop\.example,.* give all headers again .* \(headers: null, or --no-header\)/,
      );
      expect(refused.text).not.toContain('geheim');
    }
    expect((await api.call('GET', '/v1/subscribers/moved')).body).toMatchObject({
      url: 'https://shop.example/…',
      description: null,
    });
    expect((await change('moved', { url: 'https://SHOP.example:443/b' })).body.headers).toEqual(['Authorization', 'X-Team']);
    expect((await change('moved', { url: 'https://new.example', headers: { 'X-New': 'a' } })).body.headers).toEqual(['X-New']);
    expect((await change('moved', { url: 'https://newer.example', headers: null })).body.headers).toEqual([]);
    // Without headers nothing is kept back.
    expect((await change('moved', { url: 'https://newest.example' })).status).toBe(200);
  });

  test('gets no headers that are added while the address changes', async () => {
    const headers = { Authorization: 'Bearer geheim' };
    for (const round of Array.from({ length: 10 }, (_, index) => `race-${index}`)) {
      await api.call('POST', '/v1/subscribers', { json: { name: round, url: 'https://shop.example' } });
      const [moved, given] = await Promise.all([
        change(round, { url: 'https://thief.example' }),
        change(round, { url: 'https://shop.example', headers }),
      ]);
      const { body } = await api.call('GET', `/v1/subscribers/${round}`);
      expect(given.status).toBe(200);
      expect([moved.status, body.url, body.headers], round).toEqual([
        expect.any(Number),
        'https://shop.example',
        ['Authorization'],
      ]);
    }
  });

  test('is all of a request that names where something is sent', async () => {
    const { body: document } = await api.call('GET', '/openapi.json');
    const found = new Set<string>();
    const look = (schema: Schema | undefined, place: string): void => {
      if (schema === undefined) return;
      if (schema.$ref !== undefined) look(document.components.schemas[schema.$ref.split('/').at(-1)!], place);
      const isNamedSo = /\.(?:url|address|host|origin|endpoint)$/i.test(place);
      if (schema.format === 'uri' || isNamedSo || /^\w+:\/\//.test(String(schema.example))) found.add(place);
      for (const [name, each] of Object.entries(schema.properties ?? {})) look(each, `${place}.${name}`);
      for (const each of [schema.items, ...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
        look(each, place);
    };
    type Call = {
      requestBody?: { content: Record<string, { schema: Schema }> };
      parameters?: { name: string; schema: Schema }[];
    };
    for (const [path, methods] of Object.entries<Record<string, Call>>(document.paths)) {
      for (const [method, { requestBody, parameters = [] }] of Object.entries(methods)) {
        const call = `${method.toUpperCase()} ${path}`;
        for (const { schema } of Object.values(requestBody?.content ?? {})) look(schema, call);
        for (const { name, schema } of parameters) look(schema, `${call}.${name}`);
      }
    }
    // A new call that takes an address has to say what becomes of stored secrets there.
    expect([...found].sort()).toEqual(['PATCH /v1/subscribers/{id}.url', 'POST /v1/subscribers.url']);
  });
});
