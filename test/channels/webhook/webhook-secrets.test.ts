/** What a webhook's receiver is trusted with is sent, and repeated nowhere. */
import { expect, onTestFinished, test } from 'vitest';
import { createWebhookChannel, type WebhookOptions } from '../../../src/channels/webhook/webhook.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

async function receiver(): Promise<Receiver> {
  const started = await startReceiver();
  onTestFinished(() => started.stop());
  return started;
}

function channel(url: string, options: Partial<WebhookOptions> = {}) {
  const made = createWebhookChannel({
    url,
    keys: [{ key: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', until: null }],
    timeout: 10_000,
    allowAddresses: ['127.0.0.0/8'],
    concurrency: 4,
    userAgent: 'purchase-watch/test',
    ...options,
  });
  onTestFinished(() => made.close());
  const event = { id: 'evt_1', type: 'purchase.stuck', body: '{"id":"evt_1","type":"purchase.stuck","data":{}}' };
  return { sendOnce: () => made.send(event, { attempt: 1, now: Date.now() }) };
}

test('headers of its own are sent beside ours, and their values are not repeated', async () => {
  const to = await receiver();
  const headers = { Authorization: 'Bearer abc.def-ghi', 'X-Short': 'abcd', 'X-Name': 'Åsa & company' };
  const { sendOnce } = channel(to.url, { headers });
  to.respond({ status: 401, body: 'abcd: abc.def-ghi is not known' }, { status: 401, body: 'Bearer abc.def-ghi?' });
  expect([(await sendOnce()).excerpt, (await sendOnce()).excerpt]).toEqual(['[hidden]: [hidden] is not known', '[hidden]?']);
  const sent = { authorization: 'Bearer abc.def-ghi', 'x-short': 'abcd', 'x-name': 'Åsa & company', 'webhook-id': 'evt_1' };
  expect(to.received[0]?.headers).toMatchObject(sent);
});

test('beside a header too short to be found in an answer, nothing of the answer is kept', async () => {
  const to = await receiver();
  to.respond({ status: 302, body: 'bad key 7', headers: { location: `${to.origin}/7` } });
  const result = await channel(to.url, { headers: { 'X-Key': '7' } }).sendOnce();
  expect(result).toMatchObject({ excerpt: '', detail: expect.stringContaining('points to somewhere else.') });
});

test('what an address holds is not repeated, whatever the receiver answers', async () => {
  const to = await receiver();
  const { sendOnce } = channel(`${to.origin}/secret-path?token=secret-token`);
  to.respond(
    { status: 500, body: 'no secret-path for secret-token' },
    { status: 301, headers: { location: `${to.origin}/secret-path/?token=secret-token` } },
  );
  for (const result of [await sendOnce(), await sendOnce()]) expect(JSON.stringify(result)).not.toMatch(/secret-(path|token)/);
});
