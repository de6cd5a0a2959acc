import { expect, test } from 'vitest';
import { configuredSubscribers, longestAttempt } from '../../src/channels/recipients.ts';
import { newSigningKey } from '../../src/config/kinds/signing-key.ts';
import { createSecrets, type Secrets } from '../../src/runtime/secrets/secrets.ts';
import { loadFile, SIGNING_SECRET } from '../config/files.ts';
import { startReceiver } from '../support/receiver.ts';

const WEBHOOK = { url: 'https://shop.example/hooks', secret: SIGNING_SECRET };
const RABBIT = { url: 'amqp://mq.example', exchange: 'purchases' };
const NATS = { url: 'nats://nats.example' };
const OLD = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const configured = (shop: object, webhooks: object = {}) =>
  configuredSubscribers(loadFile(JSON.stringify({ subscribers: { shop }, webhooks })))[0]!;
const hashOf = (shop: object) => configured(shop).definition.addressHash;

test('each kind of subscriber is defined by its scheme and opened without a connection', async () => {
  for (const [shop, kind] of [
    [WEBHOOK, 'webhook'],
    [{ ...WEBHOOK, url: 'http://shop.example' }, 'webhook'],
    [NATS, 'nats'],
    [{ url: 'tls://me:hush@nats.example', format: 'cloudevents' }, 'nats'],
    [RABBIT, 'rabbitmq'],
    [{ ...RABBIT, url: 'amqps://me:hush@mq.example/shop', secret: SIGNING_SECRET }, 'rabbitmq'],
  ] as const) {
    const { definition, open } = configured(shop, { timeout: '3s', concurrency: 7 });
    expect(definition).toMatchObject({ name: 'shop', kind });
    const { channel, ...opened } = open();
    expect(opened).toMatchObject({ concurrency: 7, spacing: 0, timeout: 3_000 });
    await channel.close();
  }
});

test('what is the same has the same hash, and whatever may have made it fail changes it', () => {
  const key = newSigningKey();
  expect(hashOf(WEBHOOK)).toBe(hashOf({ ...WEBHOOK, format: 'standard', headers: {}, types: ['purchase.stuck'] }));
  const versions = [
    WEBHOOK,
    { ...WEBHOOK, url: 'https://shop.example/other' },
    { ...WEBHOOK, secret: `whsec_${Buffer.alloc(32, 8).toString('base64')}` },
    { ...WEBHOOK, oldSecrets: [OLD] },
    { ...WEBHOOK, format: 'cloudevents' },
    { ...WEBHOOK, headers: { 'X-A': '1' } },
    { ...WEBHOOK, headers: { 'X-A': '2' } },
    { ...WEBHOOK, signingKey: key },
    NATS,
    { ...NATS, subject: 'a.{type}' },
    { ...NATS, secret: SIGNING_SECRET },
    RABBIT,
    { ...RABBIT, exchange: 'others' },
    { ...RABBIT, routingKey: 'a' },
  ];
  expect(new Set(versions.map(hashOf)).size).toBe(versions.length);
});

test('no guess of the password of a broker is confirmed by its hash without the key', () => {
  const hashes = (secrets: Secrets | null, shop: object): Set<string> =>
    new Set(
      ['hunter2', 'letmein'].map((password) => {
        const file = JSON.stringify({ subscribers: { shop } }).replaceAll('PASSWORD', password);
        return configuredSubscribers(loadFile(file), secrets)[0]!.definition.addressHash;
      }),
    );
  const [key, other] = ['one', 'another'].map((name) => createSecrets(`${name} key of many characters`));
  for (const broker of [
    { ...RABBIT, url: 'amqp://me:PASSWORD@mq.example' },
    { ...NATS, url: 'nats://me:PASSWORD@a.example,b.example' },
  ]) {
    expect(hashes(null, broker).size).toBe(1);
    expect(hashes(key!, broker).size).toBe(2);
    expect(hashes(key!, broker).union(hashes(other!, broker)).union(hashes(null, broker)).size).toBe(5);
    // A signing secret in the text cannot be guessed.
    expect(hashes(null, { ...broker, secret: SIGNING_SECRET }).size).toBe(2);
  }
});

test('an old secret signs beside the new one', async () => {
  const receivers = await Promise.all([SIGNING_SECRET, OLD].map((secret) => startReceiver({ secret })));
  for (const { url, received, stop } of receivers) {
    const { channel } = configured(
      { url, secret: SIGNING_SECRET, oldSecrets: [OLD] },
      { allowAddresses: ['127.0.0.0/8'] },
    ).open();
    const result = await channel.send({ id: 'evt_1', type: 'purchase.stuck', body: '{}' }, { attempt: 1, now: Date.now() });
    expect(result).toMatchObject({ kind: 'delivered' });
    expect(received).toMatchObject([{ verified: true }]);
    await channel.close();
    await stop();
  }
});

test('the longest attempt is that of webhooks and brokers, or of Slack', () => {
  const longest = (timeout: string, env: NodeJS.ProcessEnv = {}) =>
    longestAttempt(loadFile(JSON.stringify({ subscribers: { bus: NATS }, webhooks: { timeout } }), env));
  expect(longest('45s')).toBe(45_000);
  expect(longest('1s', { SLACK_WEBHOOK_URL: 'https://hooks.slack.example/x' })).toBe(20_000);
});
