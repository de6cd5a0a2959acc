import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { AS_MACHINE, fetchAsMachine } from '../support/machine.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';

/** Files and sockets that the daemon may have open; of these it gives so many to requests. */
const OPEN_FILES = 400;
const CONNECTIONS = OPEN_FILES - 150 - 32 - 64 - 64 - 64;
const STREAMS = Math.floor((CONNECTIONS * 2) / 3);
const PATIENCE = { interval: 50 };

let t: TestApp;
let daemon: Daemon;
let url: URL;
let sockets: Socket[] = [];
beforeAll(async () => {
  t = await startTestApp({ realClock: true });
  const env = {
    DATABASE_URL: t.database.url,
    CHECKOUT_BASE_URL: t.simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    WEBHOOK_URL: t.receiver.url,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    PORT: '0',
  };
  daemon = startDaemon(['start'], env, { openFiles: OPEN_FILES });
  await daemon.says('"event":"started"');
  url = new URL(/"url":"(http:[^"]+)"/.exec(daemon.output())![1]!);
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
});
afterAll(async () => {
  await daemon.end('SIGKILL');
  await t.stop();
});

/** Their request was answered with 503, after which the daemon closes them. */
const refused = new Set<Socket>();

/** Connections that send this and nothing else. */
async function dial(count: number, text = ''): Promise<Socket[]> {
  const opened = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ host: url.hostname, port: Number(url.port) });
      // Those that the daemon closes are reset here.
      socket.on('error', () => undefined);
      socket.on('data', (answer) => {
        if (answer.toString('latin1').startsWith('HTTP/1.1 503')) refused.add(socket);
      });
      await once(socket, 'connect').catch(() => undefined);
      if (text !== '') socket.write(text);
      return socket;
    }),
  );
  sockets.push(...opened);
  return opened;
}
const open = (): number => sockets.filter((socket) => !socket.closed).length;
const statusOf = async (path: string): Promise<number> => (await fetchAsMachine(new URL(path, url))).status;

test('600 connections that say nothing leave health, polls and deliveries as they are, also with few open files', async () => {
  await dial(300);
  await dial(300, 'GET /v1/purchases HTTP/1.1\r\nHost: 127.0.0.1\r\n');
  expect(await statusOf('/healthz')).toBe(200);
  const { purchaseId } = t.simulator.control.add({ script: [{ state: 'Completed' }] });
  const body = JSON.stringify({ purchaseId });
  const headers = { 'content-type': 'application/json' };
  expect((await fetchAsMachine(new URL('/v1/purchases', url), { method: 'POST', body, headers })).status).toBe(201);
  await expect.poll(() => t.changesOf(purchaseId), PATIENCE).toEqual(['Completed']);
  expect([await statusOf('/readyz'), await statusOf('/v1/overview')]).toEqual([200, 200]);
  // The older ones had to make room.
  await expect.poll(open, PATIENCE).toBeLessThanOrEqual(CONNECTIONS + 64 + 64);
  expect(sockets[0]!.closed).toBe(true);
  expect(daemon.output().match(/"api.crowded"/g)?.length).toBe(1);
  expect(daemon.output()).not.toContain('EMFILE');
});

test('connections that send no whole request are closed within half a minute, although nobody needs their place', async () => {
  const begun = performance.now();
  const head = 'GET /v1/purchases HTTP/1.1\r\nHost: 127.0.0.1\r\n';
  await dial(10);
  const dripping = [...(await dial(10, head)), ...(await dial(10, `${head}X-Slow: `))].slice(10);
  const drip = setInterval(() => dripping.map((socket) => socket.write('x')), 1_000);
  expect(open()).toBe(30);
  await expect.poll(open, { interval: 500 }).toBe(0);
  clearInterval(drip);
  // Clients of a slow line have their time.
  expect(performance.now() - begun).toBeGreaterThan(15_000);
});

test('with all connections at work, health is answered and other requests are refused until one ends', async () => {
  const head = `HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${AS_MACHINE.authorization}\r\n\r\n`;
  await dial(STREAMS, `GET /v1/events/stream ${head}`);
  const waits = `GET /v1/events?after=latest&wait=30s ${head}`;
  const waiting = await dial(CONNECTIONS - STREAMS, waits);
  await dial(300);
  const list = async () => {
    const answer = await fetchAsMachine(new URL('/v1/purchases', url));
    return { status: answer.status, code: ((await answer.json()) as { code?: string }).code };
  };
  // A busy machine may refuse a request that was to wait, and its place is free again.
  const listOrFill = async () => {
    const answer = await list();
    if (answer.status === 200) waiting.push(...(await dial(1, waits)));
    return answer;
  };
  await expect.poll(listOrFill, PATIENCE).toEqual({ status: 503, code: 'busy' });
  expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 200]);
  // None of those at work was closed for the others.
  expect(sockets.slice(0, CONNECTIONS).filter((socket) => socket.closed && !refused.has(socket))).toEqual([]);
  for (const socket of waiting) socket.destroy();
  await expect.poll(list, PATIENCE).toEqual({ status: 200 });
});
