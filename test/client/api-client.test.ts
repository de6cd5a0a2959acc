/** The API client against the real API. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  ApiProblem,
  createPurchaseWatchClient,
  decimalText,
  type JsonObject,
  type WatchEvent,
} from '../../packages/client/src/index.ts';
import { parseExact } from '../../src/domain/values/exact-json.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const KEY = 'the-key-of-twenty-characters';
/** For calls with thousands of purchases, which the daemon polls at the same time. */
const SLOW = 90_000;
let daemon: TestApp;
let client: ReturnType<typeof createPurchaseWatchClient>;
beforeAll(async () => {
  daemon = await startTestApp({ realClock: true, env: { API_KEY: KEY, CHECKOUT_TIMEOUT: '10s' } });
  await daemon.app.start();
  client = createPurchaseWatchClient({ baseUrl: `${daemon.app.url()}/`, apiKey: KEY, timeout: SLOW });
});
afterAll(() => daemon.stop());

const problemOf = (call: Promise<unknown>): Promise<ApiProblem> =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ApiProblem);
      return error as ApiProblem;
    },
  );

/** A server whose answers the test writes. */
async function standIn(
  answer: (count: number) => { status: number; body: string; headers?: Record<string, string> },
): Promise<string> {
  let count = 0;
  const server = createServer((_, response) => {
    count += 1;
    const { status, body, headers = {} } = answer(count);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a purchase', () => {
  test('is watched, polled, read with the digits of its price, and stopped', async () => {
    const { purchaseId } = daemon.simulator.control.add({ script: [{ state: 'Completed' }], price: '249.50' });
    const registration = { purchaseId, reference: 'ORD-1', metadata: { cart: 7 } };
    expect(await client.watch(registration)).toMatchObject({ created: true, purchase: { purchaseId, metadata: { cart: 7 } } });
    expect(await client.watch(purchaseId)).toMatchObject({ created: false, purchase: { reference: 'ORD-1' } });
    const polled = await client.poll(purchaseId, { wait: 10_000 });
    expect(polled).toMatchObject({ polled: true, purchase: { state: { value: 2, name: 'Completed' }, price: '249.50' } });
    const { transitions, status } = await client.get(purchaseId, { site: 'default' });
    expect([status, transitions.map(({ to }) => to.name)]).toEqual(['settled', ['Completed']]);
    await client.stop(purchaseId);
    expect(await client.get(purchaseId)).toMatchObject({ status: 'stopped' });
  });

  test('keeps numbers of its metadata that a double would round', async () => {
    const metadata = parseExact('{"big":0.10}') as JsonObject;
    const { purchase } = await client.watch({ purchaseId: 'exact', metadata });
    expect(JSON.stringify(purchase.metadata)).toBe('{"big":0.10}');
    expect(decimalText(purchase.metadata?.big)).toBe('0.10');
  });

  test('may have any id that the API takes', async () => {
    for (const id of ['a/b?c#d', 'ö ü', '%2F', '...']) {
      await client.watch(id);
      expect((await client.get(id)).purchaseId).toBe(id);
    }
    await expect(client.get('..')).rejects.toThrow(TypeError);
  });
});

describe('an invoice', () => {
  test('has its amounts as text, and without one the problem says why', async () => {
    const paid = await daemon.watch({ script: [{ state: 'Completed' }], paymentMethod: 'invoice', price: '100.10' });
    await client.poll(paid, { wait: 10_000 });
    const invoice = await client.invoice(paid);
    expect(invoice.totalAmount).toMatch(/^100\.10$/);
    expect(invoice.debitItems.every(({ amount }) => amount === null || typeof amount === 'string')).toBe(true);
    expect(await client.announceInvoice(paid)).toMatch(/^(wanted|ready)$/);
    const open = await daemon.watch({ script: [{ state: 'New' }] });
    expect(await problemOf(client.invoice(open))).toMatchObject({ code: 'not_completed', status: 409 });
  });
});

describe('the feed', () => {
  test('is read to its end, followed beyond it, and gone on with after a page', async () => {
    const first = await daemon.watch({ script: [{ state: 'New' }, { state: 'Completed', after: '1h' }] });
    await client.poll(first, { wait: 10_000 });
    let cursor: string | null = null;
    const told = async (): Promise<WatchEvent | undefined> => {
      const seen: WatchEvent[] = [];
      for await (const page of client.events({ follow: false, limit: 2 })) {
        expect(page.events.length).toBeLessThanOrEqual(2);
        seen.push(...page.events);
        ({ cursor } = page);
      }
      return seen.find(({ type, data }) => type === 'purchase.state_changed' && data.purchaseId === first);
    };
    // For a moment, the feed may wait for a transaction elsewhere in the cluster.
    await expect
      .poll(async () => Object.keys((await told())?.data ?? {}))
      .toEqual(
        'site purchaseId sequence from to notBefore notAfter final reference metadata price currency orderReference'.split(' '),
      );
    // What is told meanwhile of the purchases above comes once, and nothing comes again.
    const goOn = async () => {
      const { value, done } = await client.events({ follow: false, after: cursor }).next();
      cursor = value?.cursor ?? cursor;
      return done;
    };
    await expect.poll(goOn).toBe(true);

    const ending = new AbortController();
    const coming = (async () => {
      for await (const { events } of client.events({ after: cursor, types: ['purchase.state_changed'], signal: ending.signal })) {
        const found = events.filter(({ type, data }) => type === 'purchase.state_changed' && data.price === '5.00');
        if (found.length > 0) return found;
      }
      return [];
    })();
    const second = await daemon.watch({ script: [{ state: 'Completed' }], price: '5.00' });
    await client.poll(second, { wait: 10_000 });
    expect(await coming).toMatchObject([{ type: 'purchase.state_changed', data: { purchaseId: second, price: '5.00' } }]);
    ending.abort();
  });

  test('ends without an error when it is told to, while it waits', async () => {
    const ending = new AbortController();
    const ended = (async () => {
      for await (const _ of client.events({ after: 'latest', signal: ending.signal }));
      return 'ended';
    })();
    ending.abort();
    expect(await ended).toBe('ended');
  });

  test('waits out what is temporary, and gives up on what is not', async () => {
    const event = { id: 'evt_1', type: 'site.reachable', timestamp: '', data: { site: 'se', since: '', until: null } };
    const baseUrl = await standIn((count) =>
      count === 1
        ? { status: 503, body: JSON.stringify({ code: 'unavailable', detail: 'away' }) }
        : count === 2
          ? { status: 200, body: JSON.stringify({ data: [event], nextCursor: 'c2' }) }
          : { status: 401, body: JSON.stringify({ code: 'unauthorized', detail: 'no' }) },
    );
    const troubles: string[] = [];
    const pages: string[] = [];
    const following = (async () => {
      const feed = createPurchaseWatchClient({ baseUrl }).events({ onTrouble: ({ code }) => troubles.push(code) });
      for await (const { cursor } of feed) pages.push(cursor);
    })();
    expect(await problemOf(following)).toMatchObject({ code: 'unauthorized', status: 401, isTemporary: false });
    expect([troubles, pages]).toEqual([['unavailable'], ['c2']]);
  });
});

describe('many', () => {
  test('are registered in calls of 1 000; each that is wrong is told by its place among all', { timeout: SLOW }, async () => {
    function* ids() {
      for (let i = 0; i < 2_050; i += 1) yield i === 3 || i === 2_020 ? '' : `many-${i}`;
    }
    const { created, existing, rejected } = await client.watchMany(ids());
    expect([created, existing, rejected.map(({ index, code }) => [index, code])]).toEqual([
      2_048,
      0,
      [
        [3, 'invalid_request'],
        [2_020, 'invalid_request'],
      ],
    ]);
    expect(await client.watchMany(['many-1', { purchaseId: 'many-2' }])).toEqual({ created: 0, existing: 2, rejected: [] });
  });

  test('are split by their size too', { timeout: SLOW }, async () => {
    const metadata = { text: 'x'.repeat(8_000) };
    const large = Array.from({ length: 500 }, (_, i) => ({ purchaseId: `large-${i}`, metadata }));
    expect(await client.watchMany(large)).toMatchObject({ created: 500, rejected: [] });
  });

  test('a call that fails in the middle says what is registered', async () => {
    const taken = { created: 998, existing: 1, rejected: [{ index: 7, code: 'invalid_request', detail: 'no' }] };
    const away = JSON.stringify({ code: 'unavailable', detail: 'The database cannot be reached.' });
    const baseUrl = await standIn((count) =>
      count === 1 ? { status: 200, body: JSON.stringify(taken) } : { status: 503, body: away, headers: { 'retry-after': '5' } },
    );
    const { watchMany } = createPurchaseWatchClient({ baseUrl });
    const ids = Array.from({ length: 1_001 }, (_, i) => `p-${i}`);
    const problem = await problemOf(watchMany(ids));
    expect(problem).toMatchObject({ code: 'unavailable', status: 503, retryAfter: 5, isTemporary: true, done: taken });
    expect(problem.detail).toMatch(/^the first 1000 were taken, .*: The database cannot be reached\.$/);
    expect(await problemOf(watchMany(ids))).toMatchObject({ detail: 'The database cannot be reached.', done: null });
  });

  test('none at all is no call', async () => {
    const nowhere = createPurchaseWatchClient({ baseUrl: 'http://127.0.0.1:1' });
    expect(await nowhere.watchMany([])).toEqual({ created: 0, existing: 0, rejected: [] });
  });

  test('are listed over all pages, with the filters', async () => {
    await client.watchMany(Array.from({ length: 7 }, (_, i) => ({ purchaseId: `list-${i}`, reference: 'LIST' })));
    const found: string[] = [];
    for await (const purchase of client.list({ reference: 'LIST', pageSize: 3 })) found.push(purchase.purchaseId);
    expect(found.toSorted()).toEqual(Array.from({ length: 7 }, (_, i) => `list-${i}`));
    expect((await client.list({ stuck: true, state: 'Completed' }).next()).done).toBe(true);
  });
});

describe('problems', () => {
  test('carry code, status, detail and the fields at fault', async () => {
    const problem = await problemOf(client.watch({ purchaseId: ' x', site: 'se' }));
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request', isTemporary: false });
    expect(problem.errors.map(({ field }) => field)).toEqual(['purchaseId', 'site']);
    expect(problem.message).toContain(problem.detail);
    expect(await problemOf(client.get('nobody'))).toMatchObject({ status: 404, code: 'purchase_not_found' });
    const keyless = createPurchaseWatchClient({ baseUrl: daemon.app.url()! });
    expect(await problemOf(keyless.get('nobody'))).toMatchObject({ status: 401, code: 'unauthorized' });
  });

  test('tell no answer, a late one and a strange one apart', async () => {
    const away = createPurchaseWatchClient({ baseUrl: 'http://127.0.0.1:1' });
    expect(await problemOf(away.get('p'))).toMatchObject({ code: 'unreachable', status: null, isTemporary: true });
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const baseUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    expect(await problemOf(createPurchaseWatchClient({ baseUrl, timeout: 50 }).get('p'))).toMatchObject({
      code: 'timeout',
      isTemporary: true,
    });
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(createPurchaseWatchClient({ baseUrl }).get('p', { signal })).rejects.toThrow('enough');
    silent.closeAllConnections();
    silent.close();
    const proxy = await standIn(() => ({ status: 502, body: '<html>', headers: { 'retry-after': '7' } }));
    expect(await problemOf(createPurchaseWatchClient({ baseUrl: proxy }).get('p'))).toMatchObject({
      code: 'unexpected_answer',
      status: 502,
      retryAfter: 7,
    });
    const redirect = await standIn(() => ({ status: 302, body: '', headers: { location: 'http://127.0.0.1:1/' } }));
    expect(await problemOf(createPurchaseWatchClient({ baseUrl: redirect }).get('p'))).toMatchObject({
      code: 'unexpected_answer',
    });
  });

  test('an address that cannot be right is refused at once', () => {
    expect(() => createPurchaseWatchClient({ baseUrl: 'localhost:8080' })).toThrow(TypeError);
  });
});
