import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { OutgoingEvent, SendResult } from '../../../src/channels/outgoing/channel.ts';
import { createWebhookChannel, type WebhookOptions } from '../../../src/channels/webhook/webhook.ts';
import { NOT_HTTP, startTcp } from '../../support/not-http.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

const KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const event: OutgoingEvent = {
  id: 'evt_1',
  type: 'purchase.state_changed',
  body: '{"id":"evt_1","type":"purchase.state_changed","data":{"price":249.50,"reference":"Åsa 🦊"}}',
};

async function receiver(): Promise<Receiver> {
  const started = await startReceiver({ secret: KEY });
  onTestFinished(() => started.stop());
  return started;
}

function channel(url: string, options: Partial<WebhookOptions> = {}) {
  const made = createWebhookChannel({
    url,
    keys: [{ key: KEY, until: null }],
    timeout: 10_000,
    allowAddresses: ['127.0.0.0/8'],
    concurrency: 4,
    userAgent: 'purchase-watch/test',
    ...options,
  });
  onTestFinished(() => made.close());
  return {
    ...made,
    sendOnce: (signal?: AbortSignal) => made.send(event, { attempt: 1, now: Date.now(), ...(signal && { signal }) }),
  };
}

function failed(result: SendResult) {
  if (result.kind !== 'failed') throw new Error(`expected a failure, not ${result.kind}`);
  return result;
}

test('an event arrives byte for byte, signed, and is delivered with any 2xx', async () => {
  const to = await receiver();
  const { sendOnce } = channel(`${to.url}?shop=7`);
  for (const status of [200, 201, 202, 204]) {
    to.respond({ status, body: status === 204 ? '' : 'thanks' });
    expect(await sendOnce()).toMatchObject({ kind: 'delivered', httpStatus: status, excerpt: status === 204 ? '' : 'thanks' });
  }
  const [first] = to.received;
  expect(first).toMatchObject({ id: 'evt_1', type: 'purchase.state_changed', body: event.body, verified: true });
  const agent = { 'user-agent': 'purchase-watch/test', 'accept-encoding': 'identity' };
  expect(first?.headers).toMatchObject({ 'content-type': 'application/json', ...agent });
  // Two: the second attempt may begin in the moment before the pool takes the first connection back.
  expect(to.connections(), 'connections are kept').toBeLessThanOrEqual(2);
});

test('every attempt carries the same id and its own time', async () => {
  const to = await receiver();
  const made = channel(to.url);
  const now = Date.now();
  await made.send(event, { attempt: 1, now: now - 60_000 });
  await made.send(event, { attempt: 2, now });
  const times = to.received.map(({ headers }) => Number(headers['webhook-timestamp']));
  expect(times).toEqual([Math.floor((now - 60_000) / 1_000), Math.floor(now / 1_000)]);
  expect(to.received.map(({ id, verified }) => [id, verified])).toEqual([
    ['evt_1', true],
    ['evt_1', true],
  ]);
});

test('a refusal says what was answered, and keeps the beginning of it without our secret', async () => {
  const to = await receiver();
  to.respond({ status: 400, body: `bad key ${KEY}\n\u0000end` });
  expect(failed(await channel(to.url).sendOnce())).toMatchObject({
    reason: 'http_400',
    detail: 'The receiver answered 400.',
    httpStatus: 400,
    fault: 'receiver',
    retryAfter: null,
    excerpt: 'bad key whsec_[hidden] end',
  });
});

test('Retry-After is read in both forms', async () => {
  const to = await receiver();
  const made = channel(to.url);
  const now = Date.UTC(2026, 10, 20, 9, 15);
  to.respond(
    { status: 429, headers: { 'retry-after': '120' } },
    { status: 503, headers: { date: 'Fri, 20 Nov 2026 09:15:00 GMT', 'retry-after': 'Fri, 20 Nov 2026 09:16:00 GMT' } },
  );
  expect(failed(await made.send(event, { attempt: 1, now })).retryAfter).toBe(120_000);
  expect(failed(await made.send(event, { attempt: 2, now })).retryAfter).toBe(60_000);
});

test.each([
  ['86400', 'The receiver answered 429 and asked to be left alone for 1 d.'],
  ['90', 'The receiver answered 429 and asked to be left alone for 1 min 30 s.'],
  ['9'.repeat(15), 'The receiver answered 429 and asked to be left alone for more than 1 d.'],
  ['0', 'The receiver answered 429.'],
  ['soon', 'The receiver answered 429.'],
])('a failure says how long a rest was asked for: %s', async (asked, detail) => {
  const to = await receiver();
  to.respond({ status: 429, headers: { 'retry-after': asked } });
  expect(failed(await channel(to.url).sendOnce()).detail).toBe(detail);
});

test('410 switches the receiver off', async () => {
  const to = await receiver();
  to.respond({ status: 410, body: 'moved out' });
  expect(await channel(to.url).sendOnce()).toMatchObject({
    kind: 'gone',
    reason: 'http_410',
    httpStatus: 410,
    excerpt: 'moved out',
  });
});

test.each([301, 302, 307, 308])('a redirect (%i) is a failure and is not followed', async (status) => {
  const [to, target] = [await receiver(), await receiver()];
  to.respond({ status, headers: { location: `${target.origin}/elsewhere?token=t` } });
  const result = failed(await channel(to.url).sendOnce());
  expect(result).toMatchObject({ reason: 'redirected', httpStatus: status, fault: 'receiver' });
  expect(result.detail).toContain(`points to ${target.origin}/…. Redirects are not followed`);
  expect(target.received).toHaveLength(0);
});

test('an answer that is never begun ends at the deadline', async () => {
  const to = await receiver();
  to.respond({ hang: 'answer' });
  const result = failed(await channel(to.url, { timeout: 150 }).sendOnce());
  expect(result).toMatchObject({ reason: 'timeout', httpStatus: null, fault: 'receiver' });
  expect(result.tookMs).toBeGreaterThanOrEqual(145);
  // Nothing else would end it for minutes.
  expect(result.tookMs).toBeLessThan(10_000);
});

test.each([
  ['hangs', { hang: 'body' as const, body: 'begun' }],
  ['trickles', { trickle: 20, body: '.' }],
])('a good answer whose body %s ends at the deadline and does not count', async (_how, answer) => {
  const to = await receiver();
  to.respond(answer);
  const result = failed(await channel(to.url, { timeout: 1_200 }).sendOnce());
  expect(result).toMatchObject({ reason: 'timeout', httpStatus: 200, fault: 'receiver' });
  expect(result.detail).toContain('begun to answer with 200');
  // Nothing else would end it for minutes.
  expect(result.tookMs).toBeLessThan(10_000);
});

test('an answer whose headers trickle ends at the deadline', async () => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
  const server = createServer((socket) => {
    let sent = 0;
    const timer = setInterval(() => socket.write(answer[sent++] ?? ''), 30);
    socket.on('close', () => clearInterval(timer)).on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const result = failed(
    await channel(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { timeout: 300 }).sendOnce(),
  );
  // A deadline that every byte put off would have let the answer come to its end, which is a delivery.
  expect(result).toMatchObject({ reason: 'timeout', httpStatus: null, fault: 'receiver' });
});

test('a refusal counts as such although its body never ends', async () => {
  const to = await receiver();
  to.respond({ status: 503, headers: { 'retry-after': '9' }, hang: 'body', body: 'busy' });
  expect(failed(await channel(to.url, { timeout: 1_200 }).sendOnce())).toMatchObject({
    reason: 'http_503',
    httpStatus: 503,
    retryAfter: 9_000,
    excerpt: 'busy',
  });
});

test('a huge answer is read to a limit and cut off; its status counts', async () => {
  const to = await receiver();
  const made = channel(to.url);
  to.respond({ body: 'x'.repeat(50_000_000) }, { status: 500, trickle: 0, body: 'y'.repeat(10_000) });
  const delivered = await made.sendOnce();
  expect(delivered).toMatchObject({ kind: 'delivered', httpStatus: 200 });
  expect(delivered.excerpt).toBe(`${'x'.repeat(499)}…`);
  expect(failed(await made.sendOnce()).reason).toBe('http_500');
  expect(await made.sendOnce(), 'the channel goes on').toMatchObject({ kind: 'delivered' });
});

test.each(['answer', 'body'] as const)('a connection that breaks in the %s is a failure of the receiver', async (reset) => {
  const to = await receiver();
  to.respond({ reset });
  const made = channel(to.url);
  expect(failed(await made.sendOnce())).toMatchObject({ reason: 'connection_lost', fault: 'receiver' });
  expect(await made.sendOnce()).toMatchObject({ kind: 'delivered' });
});

test('a receiver that is down, speaks no TLS or has no address is told apart', async () => {
  const to = await receiver();
  const https = to.url.replace('http:', 'https:');
  expect(failed(await channel(https).sendOnce())).toMatchObject({ reason: 'tls', fault: 'receiver' });
  const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
  const lost = channel('https://nowhere.example/hook', { resolve: () => Promise.reject(unknown) });
  expect(failed(await lost.sendOnce())).toMatchObject({ reason: 'unknown_host', fault: 'receiver' });
  // Nobody is given that port; one that was free a moment ago may be another test's by now.
  expect(failed(await channel('http://127.0.0.1:1/hook').sendOnce())).toMatchObject({
    reason: 'connection_refused',
    fault: 'receiver',
  });
});

test.each(NOT_HTTP)('%s is an answer of the receiver, not of our network', async (_what, bytes) => {
  const url = await startTcp((socket) => socket.once('data', () => socket.end(bytes)));
  expect(failed(await channel(url).sendOnce())).toMatchObject({ reason: 'bad_answer', fault: 'receiver', httpStatus: null });
});

test('whatever bytes come back, an attempt has an end, and it is never a fault of ours', async () => {
  let bytes: Uint8Array = Buffer.alloc(0);
  const { sendOnce } = channel(await startTcp((socket) => socket.on('data', () => socket.end(bytes))), { concurrency: 1 });
  const status = fc.oneof(fc.integer({ min: 0, max: 999 }), fc.constantFrom(100, 101, 103, 200, 204, 304, 410, 429));
  const name = fc.constantFrom(
    'content-length',
    'transfer-encoding',
    'connection',
    'upgrade',
    'retry-after',
    'location',
    'date',
    'x',
  );
  const value = fc.oneof(fc.constantFrom('0', '1', '-1', '9'.repeat(30), 'chunked', 'gzip', 'upgrade', 'close'), fc.string());
  const head = fc
    .tuple(
      fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/1.1 '),
      status,
      fc.array(fc.tuple(name, value), { maxLength: 4 }),
    )
    .map(
      ([version, code, headers]) =>
        `${version} ${code} Odd\r\n${headers.map(([key, text]) => `${key}: ${text}\r\n`).join('')}\r\n`,
    );
  const answers = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.tuple(head, fc.uint8Array({ maxLength: 100 })).map(([text, body]) => Buffer.concat([Buffer.from(text, 'latin1'), body])),
  );
  await fc.assert(
    fc.asyncProperty(answers, async (answer) => {
      bytes = answer;
      const result = await sendOnce();
      expect(result.kind).toMatch(/^(delivered|failed|gone)$/);
      if (result.kind === 'failed') expect(result).toMatchObject({ fault: 'receiver' });
      expect(result.excerpt.length).toBeLessThanOrEqual(500);
    }),
    { numRuns: Number(process.env.FUZZ_RUNS ?? 300) },
  );
});

test.each([
  ['EAI_AGAIN', 'dns_failed'],
  ['EMFILE', 'no_socket'],
  ['ENETUNREACH', 'no_route'],
])('%s is a fault of ours, and its detail does not quote the address', async (code, reason) => {
  const error = Object.assign(new Error(`${code} https://hooks.example/secret`), { code });
  const result = failed(await channel('https://hooks.example/secret', { resolve: () => Promise.reject(error) }).sendOnce());
  expect(result).toMatchObject({ reason, fault: 'ours' });
  expect(result.detail).toContain(code);
  expect(result.detail).not.toContain('secret');
});

test('a name server that never answers is a fault of ours, and does not keep the channel from closing', async () => {
  const made = channel('https://hooks.example/', { resolve: () => new Promise(() => undefined), timeout: 1_500 });
  expect(failed(await made.sendOnce())).toMatchObject({ reason: 'dns_failed', httpStatus: null, fault: 'ours' });
  await made.close();
});

test('a stop ends an attempt at once, and is a fault of ours', async () => {
  const to = await receiver();
  to.respondAlways({ hang: 'answer' });
  const made = channel(to.url);
  const stop = new AbortController();
  const sending = made.sendOnce(stop.signal);
  await to.waitFor((all) => all.length === 1);
  stop.abort(new Error('stopping'));
  expect(failed(await sending)).toMatchObject({ reason: 'stopped', fault: 'ours' });
  expect(failed(await made.sendOnce(stop.signal))).toMatchObject({ reason: 'stopped', fault: 'ours' });
  expect(to.received).toHaveLength(1);
});

test('an attempt that waits for a connection keeps its deadline', async () => {
  const to = await receiver();
  // The second leaves after the first was answered. With a deadline that began only then, its answer would be in time.
  to.respond({ delay: 400 }, { delay: 1_600 });
  const made = channel(to.url, { concurrency: 1, timeout: 1_800 });
  const results = await Promise.all([made.sendOnce(), made.sendOnce()]);
  expect(results.map(({ kind }) => kind)).toEqual(['delivered', 'failed']);
});

test('an attempt that is broken off while it waits for a connection is not sent later', async () => {
  const to = await receiver();
  to.respond({ hang: 'answer' });
  const made = channel(to.url, { concurrency: 1, timeout: 1_500 });
  const hanging = made.sendOnce();
  await to.waitFor((all) => all.length === 1);
  const stop = new AbortController();
  const waiting = made.sendOnce(stop.signal);
  stop.abort(new Error('stopping'));
  expect(failed(await waiting)).toMatchObject({ reason: 'stopped', fault: 'ours' });
  expect(failed(await hanging)).toMatchObject({ reason: 'timeout' });
  expect(await made.sendOnce()).toMatchObject({ kind: 'delivered' });
  expect(to.received, 'the one that waited never left').toHaveLength(2);
});

test('a channel lets running attempts finish when it closes, and refuses more', async () => {
  const to = await receiver();
  to.respond({ delay: 50 });
  const made = channel(to.url);
  const sending = made.sendOnce();
  await to.waitFor((all) => all.length === 1);
  await made.close();
  expect(await sending).toMatchObject({ kind: 'delivered' });
  expect(failed(await made.sendOnce())).toMatchObject({ reason: 'stopped', fault: 'ours' });
});

test.each([
  ['ftp://hooks.example/', 'http or https'],
  ['hooks.example', 'http or https'],
  ['https://user:pass@hooks.example/', 'must not contain a user name'],
])('%s is refused as an address', (url, sentence) => {
  expect(() => channel(url)).toThrow(sentence);
});

test('a replaced key signs until its end, and not after it, without anybody doing anything', async () => {
  const to = await receiver();
  const end = Date.now();
  const newest = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  const made = channel(to.url, {
    keys: [
      { key: newest, until: null },
      { key: KEY, until: end },
    ],
  });
  await made.send(event, { attempt: 1, now: end - 1 });
  await made.send(event, { attempt: 2, now: end });
  expect(to.received.map(({ verified, headers }) => [verified, String(headers['webhook-signature']).split(' ').length])).toEqual([
    [true, 2],
    [false, 1],
  ]);
});

test('an event that may not leave any more when its connection stands is not sent', async () => {
  const to = await receiver();
  const made = channel(to.url);
  const asked: number[] = [];
  const mayLeave = (): boolean => {
    asked.push(to.connections());
    return false;
  };
  expect(failed(await made.send(event, { attempt: 1, now: Date.now(), mayLeave }))).toMatchObject({
    reason: 'stopped',
    fault: 'ours',
  });
  expect(asked).toHaveLength(1);
  expect(await made.send(event, { attempt: 1, now: Date.now(), mayLeave: () => true })).toMatchObject({ kind: 'delivered' });
  expect(to.received).toHaveLength(1);
});
