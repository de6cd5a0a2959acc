/** The OpenAPI document: valid, complete, and true of its own examples. */

import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApi } from '../../../src/api/routes.ts';
import { type ApiKey, hashOfKey } from '../../../src/config/api-keys.ts';
import { SCOPES, type Scope } from '../../../src/config/kinds/key-kinds.ts';
import { EVENT_TYPES } from '../../../src/domain/events/system-event-types.ts';
import { exampleOf, type OpenApiDocument, type Operation, type Schema } from '../../../tools/book/api/model.ts';
import { announce } from '../../support/announce.ts';
import { PLANS, startTestApi, type TestApi } from '../api.ts';
import { schemaChecker } from '../schema-checker.ts';

const FULL = 'a-key-with-all-scopes';
const READING = 'a-key-that-may-only-read';
/** The key of a name; the name says its scopes. */
const keyNamed = (name: string): string => `the key named ${name}`.replaceAll(' ', '-').padEnd(20, '-');
const keyOf = (name: string, scopes: readonly Scope[]): ApiKey => ({
  name,
  scopes,
  hash: hashOfKey(keyNamed(name)),
  expires: null,
});

let api: TestApi;
let document: OpenApiDocument;
beforeAll(async () => {
  const apiKeys = SCOPES.flatMap((scope) => [
    keyOf(`only-${scope}`, [scope]),
    keyOf(
      `without-${scope}`,
      SCOPES.filter((each) => each !== scope),
    ),
  ]);
  api = await startTestApi({ apiKey: FULL, apiReadKey: READING, apiKeys });
  document = (await api.call('GET', '/openapi.json')).body;
});
afterAll(() => api.stop());

function operations(): { name: string; method: string; path: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ name: `${method} ${path}`, method, path, operation })),
  );
}

/** What the framework really serves, without middleware. */
function mounted(): string[] {
  const app = createApi({
    sql: api.sql,
    settings: { apiKeys: [], sites: [], ...PLANS },
    health: api.health,
    log: { debug: () => undefined } as never,
  });
  const names = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}')}`);
  return [...new Set(names)].sort();
}

test('each type of event is a webhook, with the schema that its events fit', async () => {
  expect(Object.keys(document.webhooks ?? {})).toEqual(EVENT_TYPES);
  const id = await announce(api.sql, { data: { since: '2026-11-20T09:15:02.123Z', until: null, reason: null } });
  const { data } = (await api.call('GET', '/v1/events', { headers: { authorization: `Bearer ${FULL}` } })).body;
  const event = data.find((each: { id: string }) => each.id === id);
  const check = schemaChecker(document);
  const bodyOf = (type: string) => document.webhooks![type]!.post.requestBody!.content['application/json']!.schema!;
  expect(check(bodyOf('site.reachable'), event)).toBeNull();
  expect(check({ $ref: '#/components/schemas/Event' }, event)).toBeNull();
  expect(check(bodyOf('site.unreachable'), event)).not.toBeNull();
  expect(check({ $ref: '#/components/schemas/Event' }, { ...event, data: {} })).not.toBeNull();
});

test('the document passes a public validator as OpenAPI 3.1', async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document) as unknown as Record<string, unknown>);
  expect(errors ?? []).toEqual([]);
  expect([valid, validator.version]).toEqual([true, '3.1']);
});

test('every route that is mounted is in the document, and the other way round', () => {
  expect(mounted().length).toBeGreaterThan(8);
  expect(
    operations()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(mounted());
});

test('every operation has a summary, a tag and a name of its own', () => {
  const incomplete = operations().filter(
    ({ operation }) =>
      !operation.summary || operation.tags?.length !== 1 || !/^[a-z][A-Za-z]+$/.test(operation.operationId ?? ''),
  );
  expect(incomplete.map(({ name }) => name)).toEqual([]);
  const ids = operations().map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test('operations that exist keep their names', () => {
  const ids = Object.fromEntries(operations().map(({ name, operation }) => [name, operation.operationId]));
  expect(ids).toMatchObject({
    'get /healthz': 'getHealthz',
    'get /openapi.json': 'getOpenapiJson',
    'get /v1/purchases': 'listPurchases',
    'post /v1/purchases': 'createPurchase',
    'post /v1/purchases/batch': 'createPurchasesBatch',
    'get /v1/purchases/{id}': 'getPurchase',
    'delete /v1/purchases/{id}': 'deletePurchase',
    'post /v1/purchases/{id}/poll': 'pollPurchase',
  });
});

/** What the document says of keys: the scope that is asked for, and whether there is an answer without a key, too. */
function accessOf({ security, 'x-scope': scope }: Operation): { readonly scope: string | undefined; readonly open: boolean } {
  return {
    scope,
    open: security!.length === 0 || security!.some((each) => Object.keys(each).length === 0),
  };
}

test('what needs a key says so, and answers 401 without one', async () => {
  for (const { name, method, path, operation } of operations()) {
    const { scope, open } = accessOf(operation);
    if (path.startsWith('/v1/')) expect([open, SCOPES.includes(scope as Scope)], name).toEqual([false, true]);
    expect('401' in operation.responses, name).toBe(scope !== undefined);
    const { status } = await api.call(method.toUpperCase(), path.replace(/\{\w+\}/g, 'x'));
    expect(status === 401, `${name} answered ${status}`).toBe(!open);
  }
});

test('every answer forbids browsers and caches what they might do with it', async () => {
  for (const { name, method, path } of operations()) {
    // Headers are enough of a stream.
    const as = method === 'get' ? 'HEAD' : method.toUpperCase();
    for (const access of [{}, { authorization: `Bearer ${FULL}` }]) {
      const headers = { ...access, origin: 'https://evil.example' };
      const answer = await api.call(as, path.replace(/\{\w+\}/g, 'x'), { headers });
      const { 'content-security-policy': policy = '', ...others } = Object.fromEntries(answer.headers);
      expect(others, name).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
      expect(Object.keys(others).filter((each) => each.startsWith('access-control-') || each === 'set-cookie')).toEqual([]);
      for (const part of ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"])
        expect(policy, name).toContain(part);
    }
  }
});

test('a parameter that is given twice is refused by its name, never read as one of the two', async () => {
  const asked = operations().flatMap(({ method, path, operation }) =>
    (operation.parameters ?? []).flatMap((each) =>
      each.in === 'query' ? [{ method, path, parameter: each.name, body: operation.requestBody }] : [],
    ),
  );
  expect(asked.length).toBeGreaterThan(30);
  for (const { method, path, parameter, body: asksBody } of asked) {
    const target = `${path.replace(/\{\w+\}/g, 'x')}?${parameter}=1&${parameter}=1`;
    const headers = { authorization: `Bearer ${FULL}` };
    const { status, body } = await api.call(method.toUpperCase(), target, {
      headers,
      ...(asksBody !== undefined && { json: {} }),
    });
    expect([status, body.errors], `${method} ${target}`).toEqual([
      400,
      [{ field: parameter, detail: 'is given more than once; give it once' }],
    ]);
  }
});

test('each call is refused to a key that has every scope but its own, and to no key that has it', async () => {
  const asked = async ({ method, path }: ReturnType<typeof operations>[number], key: string) => {
    // Headers are enough of a stream.
    const as = method === 'get' ? 'HEAD' : method.toUpperCase();
    const { status } = await api.call(as, path.replace(/\{\w+\}/g, 'x'), { headers: { authorization: `Bearer ${key}` } });
    return status === 401 || status === 403;
  };
  const used = new Set<string>();
  for (const each of operations()) {
    const { scope, open } = accessOf(each.operation);
    if (scope === undefined) continue;
    used.add(scope);
    expect(await asked(each, keyNamed(`without-${scope}`)), each.name).toBe(!open);
    expect(await asked(each, keyNamed(`only-${scope}`)), each.name).toBe(false);
    if (!open) expect(each.operation.responses['403']?.description, each.name).toContain('missing_scope');
  }
  expect([...used].sort()).toEqual([...SCOPES].sort());
});

/** Calls with a body that ask, and change nothing. */
const QUESTIONS = ['post /v1/rehearsals'];

test('scopes mean what they are called: what changes something is never for reading, and nothing else is', () => {
  for (const { name, method, path, operation } of operations().filter(
    ({ operation: each }) => accessOf(each).scope !== undefined,
  )) {
    const expected =
      path === '/metrics' ? ['metrics'] : method === 'get' || QUESTIONS.includes(name) ? ['read'] : ['register', 'operate'];
    expect(expected, name).toContain(accessOf(operation).scope);
  }
  const registering = operations().filter(({ operation }) => accessOf(operation).scope === 'register');
  expect(registering.map(({ name }) => name).sort()).toEqual(['post /v1/purchases', 'post /v1/purchases/batch']);
});

test('what changes something is refused to the reading key, as documented', async () => {
  for (const { name, method, path, operation } of operations().filter(
    (each) => each.method !== 'get' && !QUESTIONS.includes(each.name),
  )) {
    const headers = { authorization: `Bearer ${READING}` };
    const { status, body } = await api.call(method.toUpperCase(), path.replace(/\{\w+\}/g, 'x'), { headers });
    expect([status, body.code], name).toEqual([403, 'read_only_key']);
    expect(operation.responses['403']?.description, name).toContain('read_only_key');
  }
});

describe('examples', () => {
  test('every example is valid by its schema', () => {
    const check = schemaChecker(document);
    const wrong: string[] = [];
    let seen = 0;
    const walk = (value: unknown, where: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const schema = value as Schema;
      for (const example of [schema.example, ...(Array.isArray(schema.examples) ? schema.examples : [])]) {
        // A field may be called `example`; a schema has a type, a name or alternatives.
        if (example === undefined || !('type' in schema || '$ref' in schema || 'anyOf' in schema)) continue;
        seen += 1;
        const fault = check(schema, example);
        if (fault !== null) wrong.push(`${where}: ${JSON.stringify(example)} ${fault}`);
      }
      for (const [key, inside] of Object.entries(value)) if (key !== 'example') walk(inside, `${where}/${key}`);
    };
    walk(document, '');
    expect(wrong).toEqual([]);
    expect(seen).toBeGreaterThan(10);
  });

  test('the bodies and parameters that the page shows are valid', () => {
    const check = schemaChecker(document);
    const faults = operations().flatMap(({ name, operation }) =>
      [
        ...(operation.parameters ?? []).filter((each) => each.required).map((each) => each.schema),
        ...Object.values(operation.requestBody?.content ?? {}).map((content) => content.schema ?? {}),
      ].flatMap((schema) => {
        const fault = check(schema, exampleOf(document, schema));
        return fault === null ? [] : [`${name}: ${JSON.stringify(exampleOf(document, schema))} ${fault}`];
      }),
    );
    expect(faults).toEqual([]);
  });

  test("a call made of them is accepted: nobody's curl line is refused for its form", async () => {
    for (const { name, method, path, operation } of operations()) {
      const schema = operation.requestBody?.content['application/json']?.schema;
      if (schema === undefined) continue;
      const parameters = operation.parameters ?? [];
      const filled = path.replace(/\{(\w+)\}/g, (_, at: string) =>
        encodeURIComponent(String(exampleOf(document, parameters.find((each) => each.name === at)?.schema ?? {}))),
      );
      const headers = { authorization: `Bearer ${FULL}` };
      const { status, body } = await api.call(method.toUpperCase(), filled, { headers, json: exampleOf(document, schema) });
      expect([400, 413, 415].includes(status), `${name}: ${JSON.stringify(body)}`).toBe(false);
    }
  });
});
