/** TLS with the receiver and tunnels through a proxy, on real sockets. */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { SendResult } from '../../../src/channels/outgoing/channel.ts';
import { createWebhookChannel, type WebhookOptions } from '../../../src/channels/webhook/webhook.ts';
import type { Way } from '../../../src/domain/values/way.ts';
import { type Authority, makeAuthority, makeWeakPair, type Pair } from '../../support/certificates.ts';
import { type ConnectProxy, startConnectProxy } from '../../support/connect-proxy.ts';
import { type HttpsReceiver, startHttpsReceiver } from '../../support/https-receiver.ts';
import { startReceiver } from '../../support/receiver.ts';

const KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"id":"evt_1","type":"subscriber.test","timestamp":"2026-11-20T09:15:02.123Z","data":{"price":249.50}}';

let authority: Authority;
let shop: Pair;
let caller: Pair;
beforeAll(() => {
  authority = makeAuthority();
  shop = authority.issue('shop.example');
  caller = authority.issue('purchase-watch of a test');
  setDefaultCACertificates([...getCACertificates('default'), authority.certificate]);
});

async function receiver(options: { clients?: string; pair?: Pair } = {}): Promise<HttpsReceiver> {
  const started = await startHttpsReceiver(options.pair ?? shop, options);
  onTestFinished(() => started.stop());
  return started;
}

async function proxy(pair?: Pair): Promise<ConnectProxy> {
  const started = await startConnectProxy(pair);
  onTestFinished(() => started.stop());
  return started;
}

async function send(url: string, options: Partial<WebhookOptions> = {}, times = 1): Promise<SendResult> {
  const channel = createWebhookChannel({
    url,
    keys: [{ key: KEY, until: null }],
    timeout: 10_000,
    allowAddresses: [],
    concurrency: 2,
    userAgent: 'purchase-watch/test',
    resolve: () => Promise.reject(new Error('nobody asks for names here')),
    ...options,
  });
  const event = { id: 'evt_1', type: 'subscriber.test', body: BODY };
  let result: SendResult | undefined;
  for (let attempt = 1; attempt <= times; attempt++) result = await channel.send(event, { attempt, now: Date.now() });
  await channel.close();
  return result!;
}

/** The way through a proxy. */
const by = (address: string): Way => ({ proxy: address, by: 'WEBHOOK_PROXY' });

const here = { allowAddresses: ['127.0.0.0/8'], resolve: async () => [{ address: '127.0.0.1', family: 4 }] };

describe('a client certificate', () => {
  test('is shown to a receiver who asks for one', async () => {
    const to = await receiver({ clients: authority.certificate });
    const result = await send(`https://shop.example:${to.port}/hook`, { ...here, clientCertificate: caller });
    expect(result).toMatchObject({ kind: 'delivered', httpStatus: 200 });
    expect(to.received).toMatchObject([{ body: BODY, caller: 'purchase-watch of a test' }]);
  });

  test('that TLS refuses fails the attempt, directly and through a proxy, and nothing else', async () => {
    const to = await receiver({ clients: authority.certificate });
    const url = `https://shop.example:${to.port}/hook`;
    const clientCertificate = makeWeakPair();
    expect(await send(url, { ...here, clientCertificate })).toMatchObject({ kind: 'failed', reason: 'tls' });
    const between = await proxy();
    expect(await send(url, { way: by(`http://127.0.0.1:${between.port}`), clientCertificate })).toMatchObject({
      kind: 'failed',
      reason: 'tls',
    });
    expect(to.received).toEqual([]);
  });

  test('is missed by a receiver who asks for one, which is a failure of the receiver', async () => {
    const to = await receiver({ clients: authority.certificate });
    const result = await send(`https://shop.example:${to.port}/hook`, here);
    expect(result).toMatchObject({ kind: 'failed', fault: 'receiver', httpStatus: null });
    expect(to.received).toEqual([]);
  });

  test('goes through a proxy, too', async () => {
    const [to, between] = [await receiver({ clients: authority.certificate }), await proxy()];
    const options = { clientCertificate: caller, way: by(`http://127.0.0.1:${between.port}`) };
    expect(await send(`https://shop.example:${to.port}/hook`, options)).toMatchObject({ kind: 'delivered' });
    expect(to.received).toMatchObject([{ caller: 'purchase-watch of a test' }]);
  });
});

test('a receiver whose certificate is for another name is not sent anything', async () => {
  const to = await receiver({ pair: authority.issue('other.example') });
  expect(await send(`https://shop.example:${to.port}/hook`, here)).toMatchObject({
    kind: 'failed',
    reason: 'tls',
    fault: 'receiver',
  });
  expect(to.received).toEqual([]);
});

describe('a proxy', () => {
  test('is asked for a tunnel with its own credentials, and sees nothing of the event', async () => {
    const [to, between] = [await receiver(), await proxy()];
    const options = { way: by(`http://me:pass%40word@127.0.0.1:${between.port}`) };
    expect(await send(`https://shop.example:${to.port}/hook`, options, 3)).toMatchObject({ kind: 'delivered', httpStatus: 200 });
    expect(to.received).toHaveLength(3);
    const [{ body, headers } = { body: '', headers: {} }] = to.received;
    expect(new Webhook(KEY).verify(body, headers as Record<string, string>)).toMatchObject({ id: 'evt_1' });
    expect(headers).not.toHaveProperty('proxy-authorization');
    expect(between.asked.length, 'tunnels are kept').toBeLessThanOrEqual(2);
    const basic = `Basic ${Buffer.from('me:pass@word').toString('base64')}`;
    expect(between.asked[0]).toMatchObject({
      target: `shop.example:${to.port}`,
      headers: { 'proxy-authorization': basic, host: `shop.example:${to.port}` },
    });
    expect(JSON.stringify(between.asked)).not.toContain('webhook-id');
  });

  test('may be reached with TLS itself', async () => {
    const [to, between] = [await receiver(), await proxy(authority.issue('localhost'))];
    expect(await send(`https://shop.example:${to.port}/hook`, { way: by(`https://localhost:${between.port}`) })).toMatchObject({
      kind: 'delivered',
    });
  });

  test.each([407, 500, 502, 503, 504])('that answers %i is a fault of ours', async (status) => {
    const [to, between] = [await receiver(), await proxy()];
    between.answer(status);
    const result = await send(`https://shop.example:${to.port}/hook`, { way: by(`http://me:hush@127.0.0.1:${between.port}`) });
    expect(result).toMatchObject({
      kind: 'failed',
      reason: 'proxy_failed',
      fault: 'ours',
      httpStatus: null,
      detail: expect.stringContaining(`The proxy made no connection: it answered ${status}`),
    });
  });

  test('that forbids the address says so, and the receiver is to blame', async () => {
    const [to, between] = [await receiver(), await proxy()];
    between.answer(403);
    expect(await send(`https://shop.example:${to.port}/hook`, { way: by(`http://127.0.0.1:${between.port}`) })).toMatchObject({
      reason: 'proxy_refused',
      fault: 'receiver',
      detail: 'The proxy refuses this address: it answered 403.',
    });
  });

  test('that breaks off is a fault of ours', async () => {
    const [to, between] = [await receiver(), await proxy()];
    between.answer('reset');
    expect(await send(`https://shop.example:${to.port}/hook`, { way: by(`http://127.0.0.1:${between.port}`) })).toMatchObject({
      reason: 'proxy_failed',
      fault: 'ours',
    });
  });

  test('that is not there is a fault of ours, and its address is not told', async () => {
    // Nobody is given that port; one that was free a moment ago may be another test's by now.
    const options = { way: by('http://me:hush@127.0.0.1:1') };
    const result = await send('https://shop.example/hook', options);
    expect(result).toMatchObject({
      reason: 'proxy_failed',
      fault: 'ours',
      detail: 'The proxy made no connection: it cannot be reached (ECONNREFUSED).',
    });
  });

  test('that never answers is a fault of ours before the deadline passes, and the channel closes', async () => {
    const between = await proxy();
    between.answer('silence');
    const options = { way: by(`http://127.0.0.1:${between.port}`), timeout: 2_000 };
    const result = await send('https://shop.example/hook', options);
    // At the deadline it would be a `timeout`, and the receiver to blame.
    expect(result).toMatchObject({ kind: 'failed', httpStatus: null, reason: 'proxy_failed', fault: 'ours' });
  });

  test('is followed by TLS with the receiver itself, whose certificate has to be good', async () => {
    const [to, between] = [await receiver({ pair: authority.issue('other.example') }), await proxy()];
    expect(await send(`https://shop.example:${to.port}/hook`, { way: by(`http://127.0.0.1:${between.port}`) })).toMatchObject({
      reason: 'tls',
      fault: 'receiver',
    });
    expect(to.received).toEqual([]);
  });

  test.each([
    ['https://10.1.2.3/hook', '10.1.2.3 is not a public address'],
    ['https://[::ffff:7f00:1]/hook', 'is not a public address'],
    ['https://0x7f.1/hook', '127.0.0.1 is not a public address'],
    ['https://localhost/hook', 'is not a public address'],
    ['http://1.1.1.1/hook', 'may only be called with https'],
    ['http://shop.example/hook', 'shop.example: 127.0.0.1 is not a public address'],
  ])('is not asked for %s', async (url, detail) => {
    const between = await proxy();
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const result = await send(url, { way: by(`http://127.0.0.1:${between.port}`), resolve });
    expect(result).toMatchObject({ reason: 'address_refused', fault: 'receiver', detail: expect.stringContaining(detail) });
    expect(between.asked).toEqual([]);
  });

  test('is not between us and an address that is allowed', async () => {
    const between = await proxy();
    const to = await startReceiver({ secret: KEY });
    onTestFinished(() => to.stop());
    const options = { way: by(`http://127.0.0.1:${between.port}`), allowAddresses: ['127.0.0.1'] };
    expect(await send(to.url, options)).toMatchObject({ kind: 'delivered' });
    expect(between.asked).toEqual([]);
  });
});

test('failures of ours are ours for all that wait for a first connection at once', async () => {
  const silent = await proxy();
  silent.answer('silence');
  const hanging = { resolve: () => new Promise<never>(() => {}) };
  for (const way of [hanging, { way: by(`http://127.0.0.1:${silent.port}`) }]) {
    const channel = createWebhookChannel({
      url: 'https://shop.example/hook',
      keys: [{ key: KEY, until: null }],
      timeout: 2_400,
      allowAddresses: [],
      concurrency: 8,
      userAgent: 'purchase-watch/test',
      ...way,
    });
    const sent = Array.from({ length: 5 }, (_, number) =>
      channel.send({ id: `evt_${number}`, type: 'subscriber.test', body: BODY }, { attempt: 1, now: Date.now() }),
    );
    expect((await Promise.all(sent)).map((each) => each.kind === 'failed' && each.fault)).toEqual(Array(5).fill('ours'));
    await channel.close();
  }
});
