/** Which addresses a webhook reaches, on real connections: the rules count at the socket. */
import { expect, onTestFinished, test } from 'vitest';
import type { Resolve } from '../../../src/channels/http/public-address.ts';
import type { SendResult } from '../../../src/channels/outgoing/channel.ts';
import { createWebhookChannel } from '../../../src/channels/webhook/webhook.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

const KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

async function receiver(host?: string): Promise<Receiver> {
  const started = await startReceiver({ secret: KEY, ...(host && { host }) });
  onTestFinished(() => started.stop());
  return started;
}

async function sendTo(url: string, { allow = [], resolve }: { allow?: string[]; resolve?: Resolve } = {}): Promise<SendResult> {
  const channel = createWebhookChannel({
    url,
    keys: [{ key: KEY, until: null }],
    timeout: 10_000,
    allowAddresses: allow,
    concurrency: 2,
    userAgent: 'purchase-watch/test',
    ...(resolve && { resolve }),
  });
  onTestFinished(() => channel.close());
  return channel.send({ id: 'evt_1', type: 'subscriber.test', body: '{}' }, { attempt: 1, now: Date.now() });
}

/** A name server with prepared answers, one for each question; the last one stays. */
function nameServer(...answers: string[][]): Resolve & { asked: () => number } {
  let asked = 0;
  const resolve: Resolve = async () => {
    const addresses = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return Object.assign(resolve, { asked: () => asked });
}

const REFUSED = { kind: 'failed', reason: 'address_refused', httpStatus: null, fault: 'receiver' };

test('an address that is not public is refused, and the detail says what would allow it', async () => {
  const to = await receiver();
  expect(await sendTo(to.url)).toMatchObject({
    ...REFUSED,
    detail:
      '127.0.0.1 is not a public address (loopback). If it is meant, allow it with WEBHOOK_ALLOW_ADDRESSES or webhooks.allowAddresses.',
  });
  expect(to.connections()).toBe(0);
  expect(await sendTo(to.url, { allow: ['127.0.0.1'] })).toMatchObject({ kind: 'delivered' });
});

test('an address that is allowed at one port is refused at every other, by number and by name', async () => {
  const [to, other] = [await receiver(), await receiver()];
  const allow = [`127.0.0.1:${new URL(to.url).port}`];
  const resolve = nameServer(['127.0.0.1']);
  for (const url of [to.url, to.url.replace('127.0.0.1', 'shop.internal')])
    expect(await sendTo(url, { allow, resolve })).toMatchObject({ kind: 'delivered' });
  for (const url of [other.url, other.url.replace('127.0.0.1', 'shop.internal')])
    expect(await sendTo(url, { allow, resolve })).toMatchObject({
      ...REFUSED,
      detail: expect.stringMatching(/127\.0\.0\.1 may be called at port \d+, and not at \d+\./),
    });
  expect(other.connections()).toBe(0);
});

test.each([
  '127.1',
  '127.0.0.1.',
  '0x7f.1',
  '0x7f000001',
  '2130706433',
  '0177.0.0.1',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '0',
  '0.0.0.0',
  '[::]',
  '[::1]',
  '127.0.0.1',
  'localhost',
  'localhost.',
  'LOCALHOST',
])('%s does not reach this machine', async (host) => {
  const to = await receiver();
  const port = new URL(to.url).port;
  for (const scheme of ['http', 'https']) {
    const result = await sendTo(`${scheme}://${host}:${port}/hook`);
    // Some systems have no "localhost." to look up, which is as good.
    if (host === 'localhost.' && result.kind === 'failed' && result.reason !== 'address_refused') continue;
    expect(result).toMatchObject(REFUSED);
  }
  expect(to.connections()).toBe(0);
});

/** Addresses that carry another one, or that only this network knows. */
const IN_DISGUISE = [
  '100.64.0.1',
  '169.254.169.254',
  '192.0.0.8',
  '198.18.0.1',
  '::ffff:169.254.169.254',
  '::ffff:0:127.0.0.1',
  '::127.0.0.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b:1::7f00:1',
  '2002:7f00:1::',
  '2001:0:7f00:1::',
  'fc00::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
];

test.each(IN_DISGUISE)('%s is refused as an address and behind a name', async (address) => {
  const literal = address.includes(':') ? `[${address}]` : address;
  expect(await sendTo(`https://${literal}/hook`)).toMatchObject(REFUSED);
  expect(await sendTo('https://hooks.example/', { resolve: nameServer([address]) })).toMatchObject(REFUSED);
});

test('a name is refused when it leads to an address that is not public', async () => {
  const result = await sendTo('https://hooks.example/', { resolve: nameServer(['169.254.169.254']) });
  expect(result).toMatchObject(REFUSED);
  expect(result.kind === 'failed' && result.detail).toContain(
    'hooks.example: 169.254.169.254 is not a public address (link local)',
  );
});

test('of several addresses only those that passed are dialled', async () => {
  const [good, bad] = [await receiver('127.0.0.1'), await receiver('127.0.0.2')];
  const resolve = nameServer(['127.0.0.2', '10.9.8.7', '::1', '127.0.0.1']);
  const result = await sendTo(`http://hooks.example:${new URL(good.url).port}/hook`, { allow: ['127.0.0.1/32'], resolve });
  expect(result).toMatchObject({ kind: 'delivered' });
  await sendTo(`http://hooks.example:${new URL(bad.url).port}/hook`, { allow: ['127.0.0.1/32'], resolve });
  expect(bad.connections()).toBe(0);
});

test('a name server that changes its answer gains nothing: the judged address is the dialled one', async () => {
  const [judged, rebound] = [await receiver('127.0.0.1'), await receiver('127.0.0.2')];
  const resolve = nameServer(['127.0.0.1'], ['127.0.0.2']);
  expect(
    await sendTo(`http://hooks.example:${new URL(judged.url).port}/hook`, { allow: ['127.0.0.1/32'], resolve }),
  ).toMatchObject({
    kind: 'delivered',
  });
  expect(resolve.asked(), 'one question per connection').toBe(1);
  expect(
    await sendTo(`http://hooks.example:${new URL(rebound.url).port}/hook`, { allow: ['127.0.0.1/32'], resolve }),
  ).toMatchObject(REFUSED);
  expect(rebound.connections()).toBe(0);
});

test('without encryption only allowed addresses are called, public ones are not', async () => {
  for (const url of ['http://hooks.example/', 'http://1.1.1.1/']) {
    const result = await sendTo(url, { resolve: nameServer(['1.1.1.1']) });
    expect(result).toMatchObject(REFUSED);
    expect(result.kind === 'failed' && result.detail).toContain('1.1.1.1 may only be called with https');
  }
});

test('an IPv4 range also allows the address in its IPv6 form', async () => {
  const to = await receiver();
  const url = `http://[::ffff:127.0.0.1]:${new URL(to.url).port}/hook`;
  expect(await sendTo(url, { allow: ['127.0.0.0/8'] })).toMatchObject({ kind: 'delivered' });
});

test.each([[[]], [['not an address']]])('a name that leads to %j is refused', async (answer) => {
  expect(await sendTo('https://hooks.example/', { resolve: nameServer(answer) })).toMatchObject(REFUSED);
});
