import { once } from 'node:events';
import { constants, createBrotliCompress } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import type { OutgoingEvent, SendResult } from '../../../src/channels/outgoing/channel.ts';
import { pingSlack } from '../../../src/channels/slack/ping.ts';
import { createSlackChannel } from '../../../src/channels/slack/slack.ts';
import { NOT_HTTP, startTcp } from '../../support/not-http.ts';
import { SLACK_ANSWERS, type SlackStandIn, startSlackStandIn } from '../../support/slack-stand-in.ts';

const event: OutgoingEvent = {
  id: 'evt_1',
  type: 'incident.opened',
  body: JSON.stringify({
    id: 'evt_1',
    type: 'incident.opened',
    timestamp: '2026-11-20T09:17:00.000Z',
    data: {
      incidentId: 'inc_7',
      kind: 'stuck',
      site: 'se',
      state: { value: 4, name: 'WaitingForIdentityProvider' },
      count: 3,
      peak: 3,
      openedAt: '2026-11-20T09:16:00.000Z',
      endedAt: null,
      since: '2026-11-20T09:05:00.000Z',
      limitMs: 600_000,
      purchases: ['id1', 'id2', 'id3'],
      waiting: [],
    },
  }),
};

async function slack(): Promise<SlackStandIn> {
  const started = await startSlackStandIn();
  onTestFinished(() => started.stop());
  return started;
}

async function send(
  url: string,
  { timeout = 10_000, signal, body = event.body }: { timeout?: number; signal?: AbortSignal; body?: string } = {},
): Promise<SendResult> {
  const channel = createSlackChannel({ url, consoleUrl: 'https://watch.example', timeout, setting: 'SLACK_WEBHOOK_URL' });
  onTestFinished(() => channel.close());
  const result = await channel.send(
    { ...event, body },
    { attempt: 1, now: Date.UTC(2026, 10, 20, 9, 17), ...(signal && { signal }) },
  );
  expect(JSON.stringify(result), 'the address is a secret').not.toContain('a-secret-path');
  return result;
}

test('a message that Slack takes with ok is delivered', async () => {
  const to = await slack();
  expect(await send(to.url)).toMatchObject({ kind: 'delivered', httpStatus: 200, excerpt: 'ok' });
  const [got] = to.received;
  expect(got?.problem).toBeNull();
  expect(got?.text).toMatch(/^🔴 se: 3 /);
  expect(got?.blocks?.[0]?.text?.text).toMatch(/^\*<https:\/\/watch\.example\/incidents\/inc_7\|🔴 se: 3 .*>\*$/);
});

test('200 with anything but ok is not a delivery', async () => {
  const to = await slack();
  to.respond({ body: '<html>please log in</html>' });
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'unexpected_answer', httpStatus: 200, fault: 'receiver' });
});

test('a real 429 brings its Retry-After', async () => {
  const to = await slack();
  to.respond(SLACK_ANSWERS.rateLimited);
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'rate_limited', httpStatus: 429, retryAfter: 7_000 });
});

test.each([
  [SLACK_ANSWERS.noService, 'no_service'],
  [SLACK_ANSWERS.archived, 'channel_is_archived'],
  [SLACK_ANSWERS.prohibited, 'action_prohibited'],
  [{ status: 403, body: 'invalid_token' }, 'invalid_token'],
  [{ status: 400, body: 'no_active_hooks\n' }, 'no_active_hooks'],
  [{ status: 404, body: '<html>' }, 'http_404'],
  [{ status: 410, body: '' }, 'http_410'],
])('%j ends this webhook for good', async (answer, reason) => {
  const to = await slack();
  to.respond(answer);
  const result = await send(to.url);
  expect(result).toMatchObject({ kind: 'gone', reason, httpStatus: answer.status });
  expect(result.kind === 'gone' && result.detail).toContain('set SLACK_WEBHOOK_URL');
  expect(to.received).toHaveLength(1);
});

test('when the blocks are refused, the plain text is sent, once', async () => {
  const to = await slack();
  to.respond(SLACK_ANSWERS.invalidBlocks);
  expect(await send(to.url)).toMatchObject({ kind: 'delivered' });
  expect(to.received.map(({ blocks }) => blocks !== undefined)).toEqual([true, false]);
  expect(to.received[1]?.text).toContain('Possible cause');
  to.respond({ status: 400, body: 'invalid_payload' }, { status: 400, body: 'invalid_payload' });
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'invalid_payload', httpStatus: 400 });
  expect(to.received).toHaveLength(4);
});

test('what a customer wrote is no address, mention or emoji in the plain text', async () => {
  const to = await slack();
  to.respond(SLACK_ANSWERS.invalidBlocks);
  const body = event.body.replace('"id1"', '"http://evil.example/login :tada: @here <!channel>"');
  expect(await send(to.url, { body })).toMatchObject({ kind: 'delivered' });
  const text = to.received[1]!.text;
  expect(text).toContain('evil');
  expect(text).not.toMatch(/http:\/\/evil|evil\.example|:tada:|@here|<!channel/);
});

test('server errors and redirects are failures, tried once', async () => {
  const to = await slack();
  to.respond(SLACK_ANSWERS.broken, { status: 302, headers: { location: 'https://example.com/' }, body: '' });
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'rollup_error', httpStatus: 500 });
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'http_302', httpStatus: 302 });
  expect(to.received).toHaveLength(2);
});

test.each([
  ['never begins', { hang: 'answer' as const }],
  ['never ends', { hang: 'body' as const, body: 'o' }],
  ['trickles', { trickle: 20, body: 'o' }],
  ['never ends, as a refusal', { status: 503, hang: 'body' as const, body: 'o' }],
])('an answer that %s ends at the deadline', async (_how, answer) => {
  const to = await slack();
  to.respond(answer);
  const result = await send(to.url, { timeout: 150 });
  expect(result).toMatchObject({ kind: 'failed', reason: 'timeout', fault: 'receiver' });
  // Nothing else would end it for minutes.
  expect(result.tookMs).toBeLessThan(10_000);
});

test('an endless answer is not read to its end', async () => {
  const to = await slack();
  to.respond({ body: 'x'.repeat(50_000_000) });
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'unexpected_answer' });
});

test('a compressed answer is not asked for, and not unpacked', async () => {
  const to = await slack();
  const packing = createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
  const megabyte = Buffer.alloc(1024 * 1024, 'o');
  const chunks: Buffer[] = [];
  packing.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (let megabytes = 0; megabytes < 256; megabytes++) {
    if (!packing.write(megabyte)) await once(packing, 'drain');
  }
  packing.end();
  await once(packing, 'end');
  const body = Buffer.concat(chunks);
  expect(body.length).toBeLessThan(16 * 1024);
  to.respondAlways({ headers: { 'content-encoding': 'br' }, body });
  const before = process.resourceUsage().maxRSS;
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'unexpected_answer', fault: 'receiver' });
  expect(await pingSlack(to.url, 10_000)).toMatchObject({ kind: 'unclear' });
  expect(process.resourceUsage().maxRSS - before, 'in KiB').toBeLessThan(100 * 1024);
  expect(to.headers().map((each) => each['accept-encoding'])).toEqual(['identity', 'identity']);
});

test.each(NOT_HTTP)('%s is an answer of the receiver, not of our network', async (_what, bytes) => {
  const url = `${await startTcp((socket) => socket.once('data', () => socket.end(bytes)))}/services/a-secret-path`;
  expect(await send(url)).toMatchObject({ kind: 'failed', reason: 'bad_answer', fault: 'receiver', httpStatus: null });
  expect(await pingSlack(url, 10_000)).toMatchObject({ kind: 'silent', detail: expect.stringContaining('not valid HTTP') });
});

test('a broken or refused connection is a failure without the address in it', async () => {
  const to = await slack();
  to.respond({ reset: 'answer' });
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'connection_lost', httpStatus: null });
  await to.stop();
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'connection_refused', fault: 'receiver' });
});

test('a stop ends the attempt at once', async () => {
  const to = await slack();
  to.respond({ hang: 'answer' });
  const stop = new AbortController();
  const sending = send(to.url, { signal: stop.signal });
  await to.waitFor((all) => all.length === 1);
  stop.abort();
  expect(await sending).toMatchObject({ kind: 'failed', reason: 'stopped', fault: 'ours' });
});
