import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createEmailChannel, pingEmail } from '../../../src/channels/email/email.ts';
import { emailMessage } from '../../../src/channels/email/message.ts';
import type { SendOptions, SendResult } from '../../../src/channels/outgoing/channel.ts';
import { exampleEvents } from '../../../src/channels/people/examples.ts';
import { startSmtpServer } from '../../support/smtp-stand-in.ts';

const NOW = Date.UTC(2026, 10, 20, 9, 17);
const [event, , last] = exampleEvents(NOW, 'longest');
const TO = ['ops@example.com', 'lead@example.com'];

async function smtp(options: Parameters<typeof startSmtpServer>[0] = {}) {
  const started = await startSmtpServer(options);
  onTestFinished(() => started.stop());
  return started;
}

async function send(
  url: string,
  { timeout = 10_000, sent = event!, ...more }: { timeout?: number; sent?: typeof event } & Partial<SendOptions> = {},
): Promise<SendResult> {
  const options = {
    url,
    from: 'watch@example.com',
    to: TO,
    consoleUrl: 'https://watch.example/ops',
    timeout,
    setting: 'email.channels.ops.smtpUrl',
  };
  const channel = createEmailChannel(options);
  onTestFinished(() => channel.close());
  const result = await channel.send(sent!, { attempt: 1, now: NOW, ...more });
  expect(JSON.stringify(result), 'the password is a secret').not.toMatch(/secret-of-mail|c2VjcmV0LW9mLW1haW/);
  return result;
}

test('a message that the server takes is delivered to every recipient, as text and as HTML, under the id of its event', async () => {
  const to = await smtp();
  expect(await send(to.url)).toMatchObject({ kind: 'delivered', httpStatus: null, excerpt: expect.stringMatching(/^250 /) });
  const [got] = to.received;
  expect(got).toMatchObject({ from: 'watch@example.com', to: TO });
  expect(got!.headers).toContain(`Message-ID: <${event!.id}@purchase-watch>`);
  expect(got!.headers).toContain('Date: Fri, 20 Nov 2026 09:17:00 +0000');
  expect(got!.text).toContain('TEST: 200 sites at once');
  expect(got!.text).toMatch(/https:\/\/watch\.example\/ops\/incidents\/inc_/);
  expect(got!.html).toMatch(/<h1[^>]*><a href="https:\/\/watch\.example\/ops\/incidents\/inc_/);
});

test('events that waited come as one message', async () => {
  const to = await smtp();
  const options = { url: to.url, from: 'watch@example.com', to: TO, consoleUrl: null, timeout: 10_000, setting: 's' };
  const channel = createEmailChannel(options);
  const together = { attempt: 1, now: NOW, since: NOW - 60_000, until: NOW, reason: 'waited', incidents: new Map() } as const;
  expect(await channel.sendAll!([event!, last!], together as never)).toMatchObject({ kind: 'delivered' });
  expect(to.received).toHaveLength(1);
});

test('what strangers wrote into an event is text of the message, and adds no header', async () => {
  const to = await smtp();
  const body = event!.body.replaceAll(/test-purchase-(\d)-x*/g, '<img src=x>Kim$1\\r\\nBcc: a@evil.example https://evil.example');
  expect(body).not.toBe(event!.body);
  expect(await send(to.url, { sent: { ...event!, body } })).toMatchObject({ kind: 'delivered' });
  const { html, headers } = to.received[0]!;
  expect(html).toContain('&lt;img src=x&gt;Kim1');
  expect(html).not.toMatch(/<img|href="https:\/\/evil|https:\/\/evil/);
  expect(headers).not.toMatch(/^Bcc/m);
});

test.each([
  [
    'a wrong password',
    'shop%40example.com:wrong',
    { reason: 'smtp_535', fault: 'receiver', detail: expect.stringContaining('email.channels.ops.smtpUrl') },
  ],
])('%s is refused with what to do, and tried again', async (_, credentials, expected) => {
  const to = await smtp();
  expect(await send(`smtp://${credentials}@${to.at}`)).toMatchObject({ kind: 'failed', retryAfter: null, ...expected });
});

test('a server that repeats the password in its answer does not have it kept', async () => {
  const to = await smtp({
    onMailFrom: (_address, _session, done) => done(Object.assign(new Error('no mail for secret-of-mail'), { responseCode: 451 })),
  });
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'smtp_451', excerpt: expect.stringContaining('[hidden]') });
});

test('a recipient that is refused does not hold the message back from the others, and the delivery says so', async () => {
  const to = await smtp({
    onRcptTo: ({ address }, _session, done) =>
      address === TO[1] ? done(Object.assign(new Error('no such mailbox'), { responseCode: 550 })) : done(),
  });
  expect(await send(to.url)).toMatchObject({
    kind: 'delivered',
    excerpt: expect.stringMatching(/^1 of 2 recipients were refused\. 250/),
  });
  expect(to.received[0]!.to).toEqual([TO[0]]);
});

test('where every recipient is refused the message failed', async () => {
  const to = await smtp({ onRcptTo: (_address, _session, done) => done(Object.assign(new Error('no'), { responseCode: 550 })) });
  expect(await send(to.url)).toMatchObject({ kind: 'failed', reason: 'smtp_550', detail: expect.stringContaining('`to`') });
});

test('a server whose certificate nobody trusts gets nothing, not even the password', async () => {
  const to = await smtp({ secure: true, disabledCommands: [] });
  expect(await send(to.url)).toMatchObject({ kind: 'failed', fault: 'receiver', reason: 'tls' });
  expect(to.received).toEqual([]);
});

test('a server that is silent, and none at all, fail within the time limit', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as { port: number };
  expect(await send(`smtp://127.0.0.1:${port}`, { timeout: 300 })).toMatchObject({ kind: 'failed', reason: 'timeout' });
  expect(await send('smtp://127.0.0.1:1')).toMatchObject({ kind: 'failed', reason: 'connection_refused', fault: 'receiver' });
});

test('after the lease has ended nothing leaves', async () => {
  const to = await smtp();
  expect(await send(to.url, { mayLeave: () => false })).toMatchObject({ kind: 'failed', reason: 'stopped', fault: 'ours' });
  expect(await send(to.url, { signal: AbortSignal.abort() })).toMatchObject({ kind: 'failed', reason: 'stopped', fault: 'ours' });
  expect(to.received).toEqual([]);
});

test('the doctor signs in and sends nothing', async () => {
  const to = await smtp();
  expect(await pingEmail(to.url, 5_000)).toMatchObject({ kind: 'alive' });
  expect(await pingEmail(`smtp://shop%40example.com:wrong@${to.at}`, 5_000)).toMatchObject({ kind: 'dead' });
  expect(await pingEmail('smtp://127.0.0.1:1', 5_000)).toMatchObject({ kind: 'silent' });
  expect(to.received).toEqual([]);
});

test('every example is a message that says everything: no markup is left in the text', () => {
  for (const size of ['typical', 'longest'] as const) {
    for (const { body } of exampleEvents(NOW, size)) {
      const { subject, text, html } = emailMessage(body, { consoleUrl: 'https://watch.example' });
      expect(subject).toMatch(/TEST/);
      expect(text).not.toMatch(/<!date|&amp;|<https/);
      expect(html).not.toMatch(/<script|<!date|undefined/);
    }
  }
});
