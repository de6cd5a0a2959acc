/** What holds for every route: health, addresses, faults, and that nothing a caller sends is a fault of ours. */
import { createServer, connect as dial } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ANSWER_HEADERS } from '../../../src/api/http/answer-headers.ts';
import { serveApi } from '../../../src/api/http/serve.ts';
import { connect } from '../../../src/postgres/connection/database.ts';
import { testDatabase } from '../../support/database.ts';
import { refuseAll } from '../../support/refused-writes.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.stop());

describe('health', () => {
  test('the process lives', async () => {
    const { status, body } = await api.call('GET', '/healthz');
    expect([status, body]).toEqual([200, { status: 'alive' }]);
  });

  test('it is ready while no loop fails, and says which does', async () => {
    api.health.good('poller');
    api.health.good('judge');
    // On a machine at its limit the database may take longer than the second that it is given.
    const ready = { status: 'ready', database: 'answers', loops: [{ name: 'poller', ok: true }, {}] };
    await expect.poll(async () => (await api.call('GET', '/readyz')).body).toMatchObject(ready);
    api.health.bad('judge', new Error('the judge is ill'));
    const { status, body } = await api.call('GET', '/readyz');
    expect([status, body.status]).toEqual([503, 'not ready']);
    expect(body.loops[1]).toEqual({ name: 'judge', ok: false, error: 'the judge is ill', lastGoodAt: expect.any(String) });
    api.health.good('judge');
    await expect.poll(async () => (await api.call('GET', '/readyz')).status).toBe(200);
  });
});

describe('without its database', () => {
  test('it lives, is not ready, and answers 503 with when to come back', async () => {
    const away = connect('postgres://nobody@127.0.0.1:1/none?connect_timeout=1');
    const server = await startTestApi({ sql: away });
    expect((await server.call('GET', '/healthz')).status).toBe(200);
    expect((await server.call('GET', '/readyz')).body).toMatchObject({ status: 'not ready', database: 'does not answer' });
    const { status, body, headers } = await server.call('GET', '/v1/purchases');
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '5']);
    await server.stop();
    await away.end();
  });

  test('one that takes no writes is told from one that is away, with what to do', async () => {
    const database = await testDatabase();
    const admin = connect(database.url, { max: 1 });
    const server = await startTestApi({ sql: database.sql });
    const write = () => server.call('POST', '/v1/purchases', { json: { purchaseId: 'p-1', site: 'default' } });
    const said = ({ status, body, headers }: Awaited<ReturnType<typeof write>>) => [
      ...[status, body.code, headers.get('retry-after')],
      body.detail,
    ];
    const allow = await refuseAll(admin);
    const full = 'The database refuses writes: its disk is full (53100). Who runs it must free space there; try again then.';
    expect(said(await write())).toEqual([503, 'database_full', '5', full]);
    await allow();
    const name = decodeURIComponent(new URL(database.url).pathname.slice(1));
    await admin`alter database ${admin(name)} set default_transaction_read_only = on`;
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name} and pid <> pg_backend_pid()`;
    const readOnly =
      'The database takes no writes now: it is read-only. Who runs it must point DATABASE_URL at the primary server, or end its read-only mode; try again then.';
    await expect.poll(async () => said(await write())).toEqual([503, 'database_read_only', '5', readOnly]);
    // Refused statements have the other connections broken: whoever waits there is never told of a fault here.
    const answers = await Promise.all(Array.from({ length: 20 }, write));
    expect(answers.filter(({ body }) => !['database_read_only', 'unavailable'].includes(body.code))).toEqual([]);
    expect(server.lines.filter((line) => line.includes('"api.writes_refused"')).length).toBe(1);
    await server.stop();
    await admin.end();
    await database.drop();
  });

  test('a silent one is given up after a second', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const away = connect(`postgres://nobody@127.0.0.1:${port}/none?sslmode=disable&connect_timeout=20`);
    const server = await startTestApi({ sql: away });
    const begun = performance.now();
    const answers = await Promise.all([1, 2, 3].map(() => server.call('GET', '/readyz')));
    expect(answers.map((answer) => answer.status)).toEqual([503, 503, 503]);
    // Left to the driver, it would be twenty.
    expect(performance.now() - begun).toBeLessThan(15_000);
    await server.stop();
    await away.end({ timeout: 0 });
    silent.close();
  });
});

test('a fault of ours is told without its inside, and logged once with it', async () => {
  await api.sql`alter table purchase_watch_internal.purchase_transitions rename to hidden`;
  await api.call('POST', '/v1/purchases', { json: { purchaseId: 'p' } });
  const { status, body, text } = await api.call('GET', '/v1/purchases/p');
  await api.sql`alter table purchase_watch_internal.hidden rename to purchase_transitions`;
  expect([status, body.code]).toEqual([500, 'internal']);
  expect(text).not.toContain('transitions');
  const logged = api.lines.filter((line) => line.includes('"level":"error"'));
  expect(logged).toEqual([expect.stringContaining('does not exist')]);
});

describe('addresses', () => {
  test.each([
    ['PUT', '/v1/purchases', 'GET, HEAD, POST'],
    ['PATCH', '/v1/purchases/p', 'DELETE, GET, HEAD'],
    ['GET', '/v1/purchases/p/poll', 'POST'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['DELETE', '/openapi.json', 'GET, HEAD'],
  ])('%s %s is not allowed: %s are', async (method, path, allow) => {
    const { status, body, headers } = await api.call(method, path);
    expect([status, body.code, headers.get('allow')]).toEqual([405, 'method_not_allowed', allow]);
  });

  test.each(['/', '/v1', '/v1/purchase', '/v1/purchases/', '/v1/purchases/p/q', '/v2/purchases', '/openapi-json'])(
    'there is nothing at %s',
    async (path) => {
      const { status, body, headers } = await api.call('GET', path);
      expect([status, body.code]).toEqual([404, 'not_found']);
      expect(headers.get('content-type')).toBe('application/problem+json');
      expect(Object.fromEntries(headers)).toMatchObject(ANSWER_HEADERS);
    },
  );

  test('HEAD answers as GET does, without a body', async () => {
    const { status, text } = await api.call('HEAD', '/v1/purchases');
    expect([status, text]).toEqual([200, '']);
  });

  test('the description says what is accepted and what is always answered', async () => {
    const { body } = await api.call('GET', '/openapi.json');
    expect(body.components.schemas.Registration).toMatchObject({ required: ['purchaseId'], additionalProperties: false });
    const { State, Purchase } = body.components.schemas;
    expect([State.type, Purchase.required]).toEqual(['object', Object.keys(Purchase.properties)]);
    expect(Object.keys(body.paths['/v1/purchases'].post.responses).sort()).toEqual([
      '200',
      '201',
      '400',
      '401',
      '403',
      '413',
      '415',
      '429',
      '500',
      '503',
    ]);
  });
});

describe('listening', () => {
  test('on a port in use is refused with what to do', async () => {
    const port = Number(new URL(api.url).port);
    const app = { fetch: () => new Response() };
    await expect(serveApi(app, { host: '127.0.0.1', port })).rejects.toThrow(
      expect.objectContaining({ code: 'conflict', message: expect.stringMatching(`port ${port} of 127.0.0.1 is in use.*PORT`) }),
    );
  });

  test('on an address of another machine, too', async () => {
    const app = { fetch: () => new Response() };
    await expect(serveApi(app, { host: '192.0.2.1', port: 0 })).rejects.toThrow(
      expect.objectContaining({ code: 'configuration', message: expect.stringContaining('HOST') }),
    );
  });
});

test('an app that throws is answered as a fault, not as a mistake of the caller', async () => {
  const thrown: unknown[] = [];
  const app = {
    fetch: (): Response => {
      throw new TypeError('a fault');
    },
  };
  const plain = await serveApi(app, { host: '127.0.0.1', port: 0 });
  expect((await fetch(plain.url)).status).toBe(500);
  await plain.close();
  const onFailure = async (error: unknown) => {
    thrown.push(error);
    return new Response(null, { status: 500 });
  };
  const server = await serveApi(app, { host: '127.0.0.1', port: 0, onFailure });
  expect((await fetch(server.url)).status).toBe(500);
  expect(thrown).toEqual([expect.objectContaining({ message: 'a fault' })]);
  await server.close();
});

test('a connection whose other end takes nothing of its answer is closed; one that waits for an answer is not', async () => {
  const isClosed = Promise.withResolvers<void>();
  const mayAnswer = Promise.withResolvers<void>();
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
      cancel: () => isClosed.resolve(),
    });
  const app = {
    fetch: async ({ url }: Request) => {
      if (url.endsWith('/endless')) return new Response(endless());
      await mayAnswer.promise;
      return new Response('patience');
    },
  };
  const server = await serveApi(app, { host: '127.0.0.1', port: 0, times: { stall: 200 } });
  const patient = fetch(`${server.url}/patient`);
  const reader = dial(Number(new URL(server.url).port), '127.0.0.1');
  reader.pause().write('GET /endless HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await isClosed.promise;
  mayAnswer.resolve();
  expect(await (await patient).text()).toBe('patience');
  reader.destroy();
  await server.close();
});

describe('whatever is sent, it is not a fault of ours', () => {
  const path = fc.oneof(
    fc.constantFrom('/v1/purchases', '/v1/purchases/batch', '/v1/purchases/p', '/v1/purchases/p/poll', '/readyz'),
    fc.webPath().map((text) => `/v1${text}`),
    fc.string({ unit: 'binary' }).map((text) => `/v1/purchases/${encodeURIComponent(text.toWellFormed())}`),
    fc.stringMatching(/^\/v1\/purchases\/(%[0-9a-f]{2}|[!-~])*$/).filter((text) => !/[#\\]/.test(text)),
  );
  const query = fc.oneof(
    fc.constant(''),
    fc.webQueryParameters().map((text) => `?${text}`),
    fc
      .tuple(
        fc.constantFrom('state', 'status', 'stuck', 'site', 'reference', 'cursor', 'limit', '__proto__'),
        fc.string({ unit: 'binary' }),
      )
      .map(([name, value]) => `?${name}=${encodeURIComponent(value.toWellFormed())}`),
  );
  const registration = fc.record(
    {
      purchaseId: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
      site: fc.oneof(fc.constant('default'), fc.jsonValue()),
      reference: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
      metadata: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    registration.map((value) => Buffer.from(JSON.stringify(value))),
    fc.array(fc.oneof(registration, fc.jsonValue())).map((purchases) => Buffer.from(JSON.stringify({ purchases }))),
  );

  test('random methods, addresses and bodies', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
        path,
        query,
        body,
        fc.constantFrom('application/json', 'application/json', 'text/plain'),
        async (method, where, what, bytes, type) => {
          const withBody = method === 'GET' ? {} : { body: new Uint8Array(bytes), headers: { 'content-type': type } };
          const { status, headers, body: answer } = await api.call(method, where + what, withBody);
          expect(status).toBeLessThan(500);
          if (status < 400) return;
          expect(headers.get('content-type')).toBe('application/problem+json');
          expect(answer).toMatchObject({ status, code: expect.any(String), detail: expect.any(String) });
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
