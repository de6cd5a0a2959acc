import { expect, onTestFinished, test } from 'vitest';
import type { SendResult } from '../../../src/channels/outgoing/channel.ts';
import { exampleEvents } from '../../../src/channels/people/examples.ts';
import { createTeamsChannel } from '../../../src/channels/teams/teams.ts';
import type { Answer } from '../../support/stand-in.ts';
import { startTeamsStandIn, type TeamsStandIn } from '../../support/teams-stand-in.ts';

const NOW = Date.UTC(2026, 10, 20, 9, 17);
const [event] = exampleEvents(NOW, 'longest');

async function teams(): Promise<TeamsStandIn> {
  const started = await startTeamsStandIn();
  onTestFinished(() => started.stop());
  return started;
}

async function send(url: string, timeout = 10_000, sent = event!): Promise<SendResult> {
  const channel = createTeamsChannel({
    url,
    consoleUrl: 'https://watch.example/ops',
    timeout,
    setting: 'teams.channels.ops.webhookUrl',
  });
  onTestFinished(() => channel.close());
  const result = await channel.send(sent, { attempt: 1, now: NOW });
  expect(JSON.stringify(result), 'the address is a secret').not.toMatch(/a-secret-signature|0123456789abcdef/);
  return result;
}

test('a card that the workflow takes with 202 is delivered', async () => {
  const to = await teams();
  expect(await send(to.url)).toMatchObject({ kind: 'delivered', httpStatus: 202, excerpt: '' });
  const [got] = to.received;
  expect(got).toMatchObject({ problem: null, summary: expect.stringMatching(/^🔴 TEST: 200 sites at once/) });
  expect(got?.texts[0]).toMatch(/^\[🔴 TEST: .*\]\(https:\/\/watch\.example\/ops\/incidents\/inc_/);
});

test('what strangers wrote into an event is text of the card', async () => {
  const to = await teams();
  const body = event!.body.replaceAll(/test-purchase-(\d)-x*/g, '<at>Kim$1</at> https://evil.example `$(x)` &lt;');
  expect(body).not.toBe(event!.body);
  expect(await send(to.url, 10_000, { ...event!, body })).toMatchObject({ kind: 'delivered' });
  const shown = to.received[0]!.texts.join('\n');
  expect(shown).toContain('&lt;at&gt;Kim1&lt;/at&gt; https:\u200b//evil.example');
  expect(shown).toContain('&amp;lt;');
  expect(shown).not.toMatch(/<|https:\/\/evil|`/);
});

test.each<[string, Answer, object]>([
  [
    '429 asks for a rest',
    { status: 429, headers: { 'retry-after': '7' } },
    { retryAfter: 7_000, isLimit: true, reason: 'http_429' },
  ],
  [
    '400 says that the workflow may be off',
    { status: 400, body: '{"error":{"code":"WorkflowTriggerIsNotEnabled"}}' },
    { reason: 'http_400', detail: expect.stringContaining('switched off') },
  ],
  [
    '401 says that the address is not right',
    { status: 401 },
    { reason: 'http_401', detail: expect.stringContaining('teams.channels.ops.webhookUrl') },
  ],
  ['500 is tried again', { status: 500 }, { reason: 'http_500' }],
  ["a portal's page is no delivery", { status: 200, body: '<!doctype html>' }, { reason: 'unexpected_answer' }],
  [
    'nor is a refusal in an answer of 200',
    { status: 200, body: 'Webhook message delivery failed with error: HTTP error 413' },
    { reason: 'unexpected_answer' },
  ],
  ['an answer that repeats the address hides it', { status: 500, body: 'sig=a-secret-signature' }, { excerpt: 'sig=[hidden]' }],
])('%s', async (_, answer, expected) => {
  const to = await teams();
  to.respond(answer);
  expect(await send(to.url)).toMatchObject({ kind: 'failed', fault: 'receiver', ...expected });
});

test.each([404, 410])('a workflow that is gone (%d) switches the channel off, and says what to do', async (status) => {
  const to = await teams();
  to.respond({ status });
  const detail = expect.stringContaining('set teams.channels.ops.webhookUrl to its address');
  expect(await send(to.url)).toMatchObject({ kind: 'gone', reason: `http_${status}`, detail });
});

test('a workflow that does not answer, and one that cannot be reached, fail with a reason', async () => {
  const to = await teams();
  to.respond({ hang: 'answer' });
  expect(await send(to.url, 50)).toMatchObject({ kind: 'failed', reason: 'timeout', fault: 'receiver' });
  const { url } = to;
  await to.stop();
  expect(await send(url)).toMatchObject({ kind: 'failed', httpStatus: null });
});
