/** Callers without a key have few places, and none that a caller with a key could need. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type ApiServer, type ServedApp, serveApi } from '../../../src/api/http/serve.ts';
import { STRANGERS } from '../../../src/api/limits/connections.ts';
import { createBudget } from '../../../src/api/limits/strangers.ts';

const ENDLESS = 'POST /form HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\nx';
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`;
const KNOWN = 'Authorization: right\r\n';

let server: ApiServer;
let sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await server.close();
});

async function open(app: ServedApp, times: { stranger?: number } = {}): Promise<void> {
  const isKnown = ({ authorization }: { authorization?: string | undefined }): boolean => authorization === 'right';
  server = await serveApi(app, { host: '127.0.0.1', port: 0, connections: 20, room: 1_000, isKnown, times });
}
function send(text: string): Socket {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(text);
  sockets.push(socket);
  return socket;
}
async function statusOf(text: string): Promise<number> {
  const [answer] = (await once(send(text), 'data')) as [Buffer];
  return Number(`${answer}`.slice(9, 12));
}

test('forms that never end take no place of callers with a key; the oldest gives way to the next stranger', async () => {
  let underWay = 0;
  await open({
    fetch: async (request) => {
      underWay += 1;
      await request.text().catch(() => undefined);
      underWay -= 1;
      return new Response('read');
    },
  });
  const first = send(ENDLESS);
  await expect.poll(() => underWay).toBe(1);
  for (let count = 1; count < STRANGERS; count += 1) send(ENDLESS);
  await expect.poll(() => underWay).toBe(STRANGERS);
  expect(await statusOf(get('/', KNOWN))).toBe(200);
  expect(first.closed).toBe(false);
  expect(await statusOf(get('/'))).toBe(200);
  await expect.poll(() => first.closed).toBe(true);
  expect(underWay).toBe(STRANGERS - 1);
});

test("a stranger's request must have come in within its time, one with a key has longer", async () => {
  await open({ fetch: async (request) => new Response(await request.text()) }, { stranger: 200 });
  const known = send(ENDLESS.replace('\r\n', `\r\n${KNOWN}`));
  await once(send(ENDLESS), 'close');
  expect(known.closed).toBe(false);
});

test('while strangers flood, callers with a key and health are answered at once', async () => {
  await open({ fetch: () => new Response('ok') });
  const answers: number[] = [];
  for (let count = 0; count < 300; count += 1) void statusOf(get('/')).then((status) => answers.push(status));
  await expect.poll(() => answers.length).toBeGreaterThanOrEqual(STRANGERS);
  expect(await statusOf(get('/', KNOWN))).toBe(200);
  expect(await statusOf(get('/healthz'))).toBe(200);
  // The others are held, and then refused.
  expect(answers).not.toContain(503);
  await expect.poll(() => answers.filter((status) => status === 503).length).toBeGreaterThan(0);
});

test('requests that come before the answer to the one before them are not carried out', async () => {
  const asked: string[] = [];
  const answer = Promise.withResolvers<void>();
  await open({
    fetch: async ({ url }) => {
      asked.push(new URL(url).pathname);
      await answer.promise;
      return new Response('ok');
    },
  });
  send(get('/1') + get('/2') + get('/3').repeat(500));
  await expect.poll(() => asked).toEqual(['/1']);
  answer.resolve();
  expect(await statusOf(get('/4', KNOWN))).toBe(200);
  expect(asked).toEqual(['/1', '/4']);
});

/** Requests of strangers, and what would be answered without limits. */
const FLOODS = [
  ['an expectation', get('/', 'Expect: x\r\n'), 200],
  ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['a tunnel asked for', 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n', 405],
  ['nonsense', 'nonsense\r\n\r\n', 400],
] as const;

test.each(FLOODS)('a flood of requests with %s is answered within the budget', async (_what, request, status) => {
  await open({ fetch: () => new Response('ok') });
  const answers: number[] = [];
  for (let count = 0; count < 400; count += 1) void statusOf(request).then((each) => answers.push(each));
  await expect.poll(() => answers.length).toBeGreaterThanOrEqual(STRANGERS);
  expect(new Set(answers)).toEqual(new Set([status]));
  expect(answers.length).toBeLessThan(300);
  expect(await statusOf(get('/', KNOWN))).toBe(200);
});

test.each(['Expect: x\r\n', ''])('of 500 requests in one packet one is answered (%j)', async (header) => {
  await open({ fetch: () => new Response('ok') });
  const socket = send(get('/', header).repeat(500));
  let received = '';
  socket.on('data', (bytes) => (received += `${bytes}`));
  await once(socket, 'data');
  expect(await statusOf(get('/', KNOWN))).toBe(200);
  expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

test('probers of every kind are answered beside strangers who give up', async () => {
  await open({ fetch: () => new Response('ok') });
  for (let count = 0; count < 1_500; count += 1) send(get('/healthz')).on('data', () => undefined);
  for (const probe of [
    get('/healthz'),
    get('/healthz?x'),
    'HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /healthz HTTP/1.0\r\n\r\n',
  ])
    expect([probe, await statusOf(probe)]).toEqual([probe, 200]);
});

test('a budget fills again with time, up to what one second has', () => {
  let now = 0;
  const mayBegin = createBudget(10, { now: () => now });
  const begun = () => Array.from({ length: 50 }, mayBegin).filter(Boolean).length;
  expect(begun()).toBe(10);
  now = 300;
  expect(begun()).toBe(3);
  now = 60_000;
  expect(begun()).toBe(10);
  const mayThree = createBudget(10, { atOnce: 3, now: () => now });
  expect(Array.from({ length: 50 }, mayThree).filter(Boolean)).toHaveLength(3);
});
