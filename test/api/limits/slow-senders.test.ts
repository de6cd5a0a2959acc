/** Clients that send slowly, or go on sending when their answer is out: they get it, and hold no connection for long. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { type ApiServer, type ServedApp, serveApi } from '../../../src/api/http/serve.ts';
import type { LingerLimits } from '../../../src/api/limits/linger.ts';

const HEAD = 'POST /refused HTTP/1.1\r\nHost: 127.0.0.1\r\n';
const NEVER = 1_000_000_000;

let server: ApiServer;
let socket: Socket;
let closed: Promise<unknown>;
afterEach(async () => {
  socket.destroy();
  await server.close();
});

async function sendTo(app: ServedApp, linger: LingerLimits, sent: string): Promise<void> {
  server = await serveApi(app, { host: '127.0.0.1', port: 0, connections: 2, linger });
  // The worst of clients: it does not end its side when the server ends its own.
  socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true });
  // A connection may be reset where it is closed.
  socket.on('error', () => undefined);
  closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(sent);
}
const refuse: ServedApp = { fetch: () => new Response('too large', { status: 413 }) };

test.each(['', 'Connection: close\r\n'])('a client that never ends its body is closed after a time (%j)', async (header) => {
  await sendTo(refuse, { within: 700, bytes: NEVER }, `${HEAD}${header}Content-Length: ${NEVER}\r\n\r\n`);
  const drip = setInterval(() => socket.write('x'), 20);
  socket.resume();
  await closed;
  clearInterval(drip);
});

test.each(['', 'Connection: close\r\n'])(
  'a client that never ends its body is closed after so many bytes (%j)',
  async (header) => {
    await sendTo(refuse, { within: NEVER, bytes: 1_000_000 }, `${HEAD}${header}Content-Length: ${NEVER}\r\n\r\n`);
    const flood = setInterval(() => socket.write('x'.repeat(10_000)), 1);
    socket.resume();
    await closed;
    clearInterval(flood);
  },
);

test('an answer before the end of its request says that the connection ends with it; any other leaves it open', async () => {
  await sendTo(refuse, { within: NEVER, bytes: NEVER }, `${HEAD}Content-Length: 2\r\n\r\n12`);
  const [whole] = (await once(socket, 'data')) as [Buffer];
  expect(`${whole}`).toMatch(/^HTTP\/1\.1 413 [\s\S]*\r\nconnection: keep-alive\r\n[\s\S]*too large$/i);
  socket.write(`${HEAD}Content-Length: 2\r\n\r\n1`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 413 [\s\S]*\r\nconnection: close\r\n[\s\S]*too large$/i);
});

test('a request behind the one whose answer ends the connection is not carried out', async () => {
  const called: string[] = [];
  const app: ServedApp = {
    fetch: ({ url }) => {
      called.push(new URL(url).pathname);
      return new Response('busy', { status: 503, headers: { connection: 'close' } });
    },
  };
  await sendTo(app, { within: 1_000, bytes: NEVER }, `${HEAD}Content-Length: 2\r\n\r\n1`);
  await once(socket, 'data');
  socket.end('2POST /changes HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n').resume();
  await closed;
  expect(called).toEqual(['/refused']);
});

test('a client that never ends its body is closed for others', async () => {
  await sendTo(refuse, { within: NEVER, bytes: NEVER }, `${HEAD}Content-Length: ${NEVER}\r\n\r\n`);
  await once(socket, 'data');
  const others: Socket[] = [];
  while (others.length < 2 + 64) {
    const other = connect(Number(new URL(server.url).port), '127.0.0.1');
    other.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await once(other, 'data');
    others.push(other);
  }
  const drip = setInterval(() => socket.write('x'), 20);
  await closed;
  clearInterval(drip);
  for (const other of others) other.destroy();
});

test.each([
  ['says nothing', ''],
  ['stops within a head', 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n'],
  ['stops within a body', `${HEAD}Content-Length: 10\r\n\r\n1`],
  ['rests after its answer', 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'],
])('a connection that %s is closed by itself', async (_name, sent) => {
  const times = { head: 300, request: 300, rest: 300, lookEvery: 50 };
  const app: ServedApp = { fetch: async (request) => new Response(await request.text()) };
  server = await serveApi(app, { host: '127.0.0.1', port: 0, times });
  socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.write(sent);
  socket.resume();
  await once(socket, 'close');
});

test.each([
  ['head', 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: '],
  ['body', `${HEAD}Content-Length: ${NEVER}\r\n\r\n`],
])('a connection whose %s comes byte by byte is closed by itself', async (_name, sent) => {
  const times = { head: 300, request: 300, rest: NEVER, lookEvery: 50 };
  const app: ServedApp = { fetch: async (request) => new Response(await request.text()) };
  server = await serveApi(app, { host: '127.0.0.1', port: 0, times });
  socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(sent);
  socket.resume();
  const drip = setInterval(() => socket.write('x'), 20);
  await closed;
  clearInterval(drip);
});
