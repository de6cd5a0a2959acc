/** The description of the controls: valid, complete, and true of the answers. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, expect, test } from 'vitest';
import { createSimulator } from '../../../packages/simulator/src/simulator.ts';
import { type OpenApiDocument, type Operation, resolved } from '../../../tools/book/api/model.ts';
import { schemaChecker } from '../../api/schema-checker.ts';
import { startCaller } from '../caller.ts';

let document: OpenApiDocument;
beforeAll(async () => {
  const simulator = createSimulator();
  await simulator.start();
  document = (await (await fetch(`${simulator.url}/control/openapi.json`)).json()) as OpenApiDocument;
  await simulator.stop();
});

const operations = (): { name: string; operation: Operation }[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
  );

test('the document passes a public validator as OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as unknown as Record<string, unknown>);
  expect([errors ?? [], valid]).toEqual([[], true]);
});

test('its servers are complete addresses, at the origin that was asked', async () => {
  const { servers } = document as unknown as { servers: { url: string }[] };
  const origin = new URL(servers[0]!.url).origin;
  expect(servers.map(({ url }) => url)).toEqual([origin, `${origin}/ns/{namespace}`]);
});

test('every operation has a summary, a description, a problem, a tag that is described, and a name of its own', () => {
  const tags = (document as unknown as { tags: { name: string }[] }).tags.map(({ name }) => name);
  const incomplete = operations().filter(
    ({ operation }) =>
      !(operation.summary && operation.description && Object.keys(operation.responses).some((code) => /^4/.test(code))) ||
      operation.tags?.length !== 1 ||
      !tags.includes(operation.tags[0]!),
  );
  expect(incomplete.map(({ name }) => name)).toEqual([]);
  const ids = operations().map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id ?? ''))).toEqual([]);
});

/** Calls that are good and calls that are refused, of every operation. */
const CALLS: readonly (readonly [operation: string, path: string, body?: object])[] = [
  ['post /control/negotiate', '/control/negotiate', { purchaseId: 'p', returnUrl: 'https://shop.example/' }],
  ['post /control/negotiate', '/control/negotiate', { purchaseId: 'p' }],
  ['post /control/negotiate', '/control/negotiate', { site: 'nowhere' }],
  ['post /control/purchases', '/control/purchases', { count: 2, script: [{ state: 'New' }, { state: 2, after: '1s' }] }],
  ['post /control/purchases', '/control/purchases', { count: 0 }],
  ['get /control/purchases', '/control/purchases?limit=1&finished=false'],
  ['get /control/purchases', '/control/purchases?limit=none'],
  ['get /control/recent', '/control/recent?after=0'],
  ['get /control/purchases/{id}', '/control/purchases/p'],
  ['get /control/purchases/{id}', '/control/purchases/none'],
  ['post /control/purchases/{id}/customer', '/control/purchases/p/customer', { does: 'pays' }],
  ['post /control/purchases/{id}/customer', '/control/purchases/p/customer', { does: 'pays' }],
  ['post /control/purchases/{id}/customer', '/control/purchases/p/customer', { does: 'sleeps' }],
  ['post /control/purchases/{id}/state', '/control/purchases/p/state', { state: 17 }],
  ['post /control/purchases/{id}/state', '/control/purchases/p/state', { state: 'Nowhere' }],
  ['post /control/faults', '/control/faults', { kind: '503', for: '20s', share: 0.5 }],
  ['post /control/page/break', '/control/page/break', {}],
  ['get /control/settings', '/control/settings'],
  ['delete /control/faults', '/control/faults'],
  ['post /control/page/fix', '/control/page/fix', { states: ['WaitingForCardPayments'] }],
  ['post /control/load', '/control/load', { perMinute: 1 }],
  ['post /control/latency', '/control/latency', { ms: 1 }],
  ['post /control/tokens/expire', '/control/tokens/expire', {}],
  ['post /control/clock/advance', '/control/clock/advance', { by: '30m' }],
  ['post /control/reset', '/control/reset', {}],
  ['post /control/down', '/ns/a/control/down', {}],
  ['get /control/namespaces', '/control/namespaces'],
  ['get /control/counters', '/control/counters'],
  ['get /control/counters/purchases', '/control/counters/purchases'],
  ['get /control/counters/purchases/{id}', '/control/counters/purchases/p'],
  ['post /control/counters/reset', '/control/counters/reset'],
  ['get /control/sensitive-values', '/control/sensitive-values'],
  ['get /control/openapi.json', '/control/openapi.json'],
];

test('every answer, good or not, is as the document says', async () => {
  const t = await startCaller();
  const check = schemaChecker(document);
  for (const [name, path, body] of CALLS) {
    const [method, template] = name.split(' ') as [string, string];
    const { requestBody, responses } = document.paths[template]![method]!;
    const headers = { 'content-type': 'application/json' };
    const answer = await t.call(path, {
      method: method.toUpperCase() as 'GET',
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers }),
    });
    const said = responses[String(answer.status)];
    expect(said, `${name} answered ${answer.status} ${answer.text}`).toBeDefined();
    const type = String(answer.headers['content-type']).split(';')[0]!;
    expect(check(said!.content![type]!.schema!, JSON.parse(answer.text)), `${name} ${answer.text}`).toBeNull();
    // What the server accepts, the description accepts.
    if (answer.status < 300 && body !== undefined)
      expect(check(resolved(document, requestBody!.content['application/json']!.schema!), body), name).toBeNull();
  }
  expect(operations().map(({ name }) => name)).toEqual(expect.arrayContaining(CALLS.map(([name]) => name)));
  expect(new Set(CALLS.map(([name]) => name)).size).toBe(operations().length);
});
