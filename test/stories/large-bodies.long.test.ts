/** A daemon with a small heap is sent the worst of what a batch can hold, and more. It refuses it, and answers others meanwhile. */
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { AS_MACHINE } from '../support/machine.ts';

const SIZE = 1024 * 1024;
const AT_ONCE = 30;
const BATCH = '/v1/purchases/batch';
/** Only a process that stands still for seconds answers as late as this. */
const PROMPT = 8_000;

let database: TestDatabase;
let daemon: Daemon;
let origin: string;
beforeAll(async () => {
  database = await testDatabase();
  daemon = startDaemon(['start'], {
    NODE_OPTIONS: '--max-old-space-size=256',
    DATABASE_URL: database.url,
    CHECKOUT_BASE_URL: 'http://127.0.0.1:9',
    CHECKOUT_CLIENT_ID: 'shop',
    CHECKOUT_CLIENT_SECRET: 'a-secret',
    PORT: '0',
    LOG_LEVEL: 'info',
  });
  await daemon.says('"event":"started"');
  [, origin = ''] = /"url":"(http:[^"]+)"/.exec(daemon.output()) ?? [];
});
afterAll(async () => {
  await daemon.end('SIGTERM');
  await database.drop();
});

interface Answer {
  readonly status: number;
  readonly body: { readonly code?: string; readonly [key: string]: unknown };
}

/** An answer may come before the whole body was sent. */
function post(path: string, body: Buffer, chunked = false): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { ...AS_MACHINE, 'content-type': 'application/json', ...(chunked ? {} : { 'content-length': body.length }) };
    const sent = request(origin + path, { method: 'POST', headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () =>
        resolve({ status: answer.statusCode!, body: JSON.parse(Buffer.concat(chunks).toString()) as Answer['body'] }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Asks whether the process lives, again and again, until the work is done; answers how often it did, and its longest silence. */
async function livesDuring<T>(work: Promise<T>): Promise<{ result: T; answers: number; longest: number }> {
  let isOver = false;
  const end = work.finally(() => {
    isOver = true;
  });
  let answers = 0;
  let longest = 0;
  while (!isOver) {
    const asked = performance.now();
    expect((await fetch(`${origin}/healthz`)).status).toBe(200);
    longest = Math.max(longest, performance.now() - asked);
    answers += 1;
    // More than a thousand a second are no probes, and are refused.
    await delay(2);
  }
  return { result: await end, answers, longest };
}

/** A body of 1 MiB: one piece again and again between a beginning and an end. */
function filled(begin: string, piece: string, end: string): Buffer {
  const count = Math.floor((SIZE - begin.length - end.length) / piece.length);
  return Buffer.concat([Buffer.from(begin), Buffer.alloc(count * piece.length, piece), Buffer.from(end)]);
}

const inBatch = (piece: string): Buffer => filled('{"purchases":[', piece, '1]}');
const inMetadata = (piece: string): Buffer => filled('{"purchases":[{"purchaseId":"p","metadata":{"a":[', piece, '1]}}]}');
const entries = (count: number, entry: (index: number) => string): Buffer =>
  Buffer.from(`{"purchases":[${Array.from({ length: count }, (_, index) => entry(index)).join(',')}]}`);
const names = (count: number): string => Array.from({ length: count }, (_, index) => `"purchaseIb${index}":1`).join(',');

const BAD: [string, Buffer, string][] = [
  ['objects', inBatch('{},'), 'too_large'],
  ['lists', inBatch('[],'), 'too_large'],
  ['numbers that keep their digits', inBatch('1e1,'), 'too_large'],
  ['lists in a list of lists', filled('[', '[],', '1]'), 'invalid_request'],
  ['lists in lists', filled('{"purchases":', '[', ''), 'not_json'],
  ['lists in lists that end', Buffer.from(`${'['.repeat(SIZE / 2)}${']'.repeat(SIZE / 2)}`), 'too_deep'],
  ['one name', filled('{"', 'x', '":1}'), 'invalid_request'],
  ['one name again and again', filled('{', '"purchases":[],', '"purchase":[]}'), 'invalid_request'],
  ['line breaks before a fault', filled('{"purchases":[{', '\n', 'x}]}'), 'not_json'],
  ['a byte more than 1 MiB', Buffer.alloc(SIZE + 1, ' '), 'too_large'],
];

test.each(BAD)('%s are refused', async (_name, body, code) => {
  const { status, body: problem } = await post(BATCH, body, true);
  expect([status, problem.code]).toEqual([code === 'too_large' ? 413 : 400, code]);
  expect(await post('/v1/purchases', body)).toMatchObject({ status: 413, body: { code: 'too_large' } });
});

test.each<[string, Buffer]>([
  ['lists in metadata', inMetadata('[],')],
  ['one text', filled('{"purchases":[{"purchaseId":"', '\\u0041', '"}]}')],
  ['one number', filled('{"purchases":[{"purchaseId":', '9', '}]}')],
  ['names of one object', Buffer.from(`{"purchases":[{${names(50_000)}}]}`)],
])('%s: the entry is rejected', async (_name, body) => {
  const answer = await post(BATCH, body);
  expect(answer).toMatchObject({ status: 200, body: { created: 0, rejected: [{ index: 0, code: 'invalid_request' }] } });
});

/** Sends a body for two seconds, and reads what was answered only after its last byte. */
async function postSlowly(head: string, piece: string, last = ''): Promise<string> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname).pause();
  const failed = once(socket, 'close').then(() =>
    Promise.reject(new Error('the connection was reset before the answer was read')),
  );
  const sent = (async () => {
    socket.write(
      `POST ${BATCH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${AS_MACHINE.authorization}\r\nContent-Type: application/json\r\n${head}\r\n\r\n`,
    );
    for (let count = 0; count < 40; count += 1) {
      socket.write(piece);
      await delay(50);
    }
    socket.end(last);
    return text(socket);
  })();
  return Promise.race([sent, failed]);
}

test.each([
  ['with its length', 'Content-Length: 20000000', false],
  ['with its length, on a connection that ends with it', 'Content-Length: 20000000\r\nConnection: close', false],
  ['in chunks', 'Transfer-Encoding: chunked', true],
  ['in chunks, on a connection that ends with it', 'Transfer-Encoding: chunked\r\nConnection: close', true],
])('who sends too large a body %s reads the answer, also after the last byte', async (_name, head, isChunked) => {
  const piece = '9'.repeat(50_000);
  const answer = isChunked
    ? await postSlowly(head, `c350\r\n${piece}\r\n`, '0\r\n\r\n')
    : await postSlowly(head, '9'.repeat(500_000));
  expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  expect(answer).toContain('"code":"too_large"');
});

test('a large body is refused by every call that changes something, also by those that read none', async () => {
  const body = inBatch('{},');
  for (const path of [
    'purchases/p/poll',
    'purchases/p/invoice',
    'subscribers/s/resume',
    'deliveries/dlv_1/retry',
    'silences',
    'none',
  ]) {
    expect([path, (await post(`/v1/${path}`, body)).status]).toEqual([path, 413]);
  }
});

test('a thousand bad entries are rejected one by one, each with its faults', async () => {
  const body = entries(1_000, (index) => (index === 0 ? '{"purchaseId":"good"}' : `{${names(60)}}`));
  const { status, body: answer } = await post(BATCH, body);
  const rejected = answer.rejected as { index: number; code: string; detail: string }[];
  expect([status, answer.created, rejected.length]).toEqual([200, 1, 999]);
  expect(rejected.at(-1)).toMatchObject({ index: 999, code: 'invalid_request' });
  expect(rejected.at(-1)!.detail).toMatch(
    /^purchaseId: is missing; purchaseIb0: .* \(did you mean purchaseId\?\).*; purchaseIb18: /,
  );
});

test('sixty of the worst bodies at once are refused or rejected while others are answered', async () => {
  const worst = [...BAD.map(([, body]) => body), inMetadata('[],'), entries(1_000, () => `{${names(60)}}`)];
  const sent = Array.from({ length: AT_ONCE * 2 }, (_, index) => post(BATCH, worst[index % worst.length]!));
  const { result, answers, longest } = await livesDuring(Promise.all(sent));
  const statuses = new Set(result.map(({ status }) => status));
  expect([...statuses].filter((status) => ![200, 400, 413, 503].includes(status))).toEqual([]);
  expect(statuses).toContain(400);
  expect(answers).toBeGreaterThan(5);
  expect(longest).toBeLessThan(PROMPT);
});

test('good batches of 1 MiB at once are registered, or refused until there is room', async () => {
  const good = (name: number) =>
    entries(1_000, (index) => `{"purchaseId":"${name}-${index}","metadata":{"text":"${'x'.repeat(960)}","n":${index}.50}}`);
  const untilTaken = async (body: Buffer): Promise<Answer['body']> => {
    for (;;) {
      const { status, body: answer } = await post(BATCH, body);
      if (status === 200) return answer;
      expect([status, answer.code]).toEqual([503, 'busy']);
      await delay(100);
    }
  };
  const sent = Array.from({ length: AT_ONCE }, (_, name) => untilTaken(good(name)));
  const { result, answers, longest } = await livesDuring(Promise.all(sent));
  for (const answer of result) expect(answer).toEqual({ created: 1_000, existing: 0, rejected: [] });
  expect(answers).toBeGreaterThan(5);
  expect(longest).toBeLessThan(PROMPT);
});
