/** Verification as a receiver uses it, against the reference library's signatures. */
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { type VerifyWebhookOptions, verifyWebhook, WebhookVerificationError } from '../../packages/client/src/index.ts';
import { toCloudEvent } from '../../src/channels/outgoing/cloudevent.ts';
import { createAttemptSigner } from '../../src/channels/outgoing/signature.ts';
import { newSigningKey, publicKeyOf } from '../../src/config/kinds/signing-key.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const NOW = new Date('2026-11-20T09:15:10.000Z');
const BODY = `{"id":"evt_1","type":"purchase.state_changed","timestamp":"2026-11-20T09:15:02.123Z","data":{"site":"se","purchaseId":"p","sequence":1,"from":null,"to":{"value":2,"name":"Completed"},"notBefore":null,"notAfter":"2026-11-20T09:15:02.123Z","final":true,"reference":"Öre","metadata":{"big":12345678901234567890},"price":249.50,"currency":"SEK","orderReference":null}}`;

function signed(body = BODY, secret = SECRET, at = NOW): Record<string, string> {
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', at, body),
  };
}

function reasonOf(options: Partial<VerifyWebhookOptions>): string {
  try {
    verifyWebhook({ payload: BODY, headers: signed(), secret: SECRET, now: NOW, ...options });
    return 'verified';
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason;
    throw error;
  }
}

test('what the reference library signs is an event, with its amounts as they were sent', () => {
  const event = verifyWebhook({ payload: BODY, headers: signed(), secret: SECRET, now: NOW });
  expect(event).toMatchObject({ id: 'evt_1', type: 'purchase.state_changed' });
  if (event.type !== 'purchase.state_changed') throw new Error('it is not told apart');
  expect([event.data.to.name, event.data.price, event.data.reference]).toEqual(['Completed', '249.50', 'Öre']);
  expect(JSON.stringify(event.data.metadata)).toBe('{"big":12345678901234567890}');
});

test("the standard's own example verifies", () => {
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  const now = new Date(1_614_265_330_000);
  // Its body is no event, which is found out only after the signature was good.
  expect(reasonOf({ payload: '{"test": 2432232314}', headers, now })).toBe('not_an_event');
});

test.each<[string, Partial<VerifyWebhookOptions>]>([
  ['bytes', { payload: Buffer.from(BODY) }],
  ['bytes of another kind', { payload: new TextEncoder().encode(BODY) }],
  ['a Headers object', { headers: new Headers(signed()) }],
  [
    'headers in capitals',
    {
      headers: {
        'Webhook-Id': 'evt_1',
        'WEBHOOK-TIMESTAMP': signed()['webhook-timestamp'],
        'Webhook-Signature': signed()['webhook-signature'],
      },
    },
  ],
  ['headers as lists', { headers: Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name, [value]])) }],
  ['the second of two secrets', { secret: undefined, secrets: [OTHER, SECRET] }],
  [
    'one signature of several',
    { headers: { ...signed(), 'webhook-signature': `v2,xx v1,AAAA ${signed()['webhook-signature']}` } },
  ],
  ['four minutes later', { now: new Date(NOW.getTime() + 240_000) }],
  ['much later, where that is wanted', { now: new Date(NOW.getTime() + 3_000_000), toleranceSeconds: 4_000 }],
])('%s are accepted', (_, options) => {
  expect(reasonOf(options)).toBe('verified');
});

describe('signed with a key pair', () => {
  const [KEY, OTHERS] = [newSigningKey(), newSigningKey()];
  const publicKeys = [publicKeyOf(OTHERS)!, publicKeyOf(KEY)!];
  const both = (body = BODY, keys = [SECRET, KEY]) => {
    const sign = createAttemptSigner(keys.map((key) => ({ key, until: null })));
    const { id, timestamp, signature } = sign('evt_1', NOW.getTime(), body);
    return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  };

  test.each<[string, string, Partial<VerifyWebhookOptions>]>([
    ['the public key is enough', 'verified', { secret: undefined, publicKeys, headers: both() }],
    ['so is the secret', 'verified', { headers: both() }],
    ['one of the two is enough', 'verified', { publicKeys: [publicKeyOf(OTHERS)!], headers: both() }],
    ['bytes', 'verified', { secret: undefined, publicKeys, headers: both(), payload: Buffer.from(BODY) }],
    ['another key', 'no_match', { secret: undefined, publicKeys: [publicKeyOf(OTHERS)!], headers: both() }],
    ['a changed body', 'no_match', { secret: undefined, publicKeys, headers: both(), payload: BODY.replace('249', '250') }],
    ['no v1a signature', 'no_match', { secret: undefined, publicKeys, headers: signed() }],
    [
      'a v1a signature that calls itself v1',
      'no_match',
      {
        secret: undefined,
        publicKeys,
        headers: { ...both(), 'webhook-signature': both(BODY, [KEY])['webhook-signature'].replace('v1a', 'v1') },
      },
    ],
  ])('%s: %s', (_, reason, options) => {
    expect(reasonOf(options)).toBe(reason);
  });

  test('what is no public key is a wrong call', () => {
    expect(() => reasonOf({ publicKeys: [SECRET] })).toThrow(/a public key is whpk_/);
    expect(() => reasonOf({ publicKeys: ['whpk_AAAA'] })).toThrow(TypeError);
    expect(() => reasonOf({ secret: undefined, publicKeys: [] })).toThrow(/needs a secret or a public key/);
  });
});

test('a CloudEvent is the same event, with its attributes', () => {
  const body = toCloudEvent(BODY);
  const event = verifyWebhook({ payload: body, headers: signed(body), secret: SECRET, now: NOW });
  const plain = verifyWebhook({ payload: BODY, headers: signed(), secret: SECRET, now: NOW });
  expect(event).toEqual({
    ...plain,
    specversion: '1.0',
    source: '/purchase-watch/sites/se',
    subject: 'p',
    time: plain.timestamp,
    datacontenttype: 'application/json',
    sequence: '0000000001',
  });
  if (event.type !== 'purchase.state_changed') throw new Error('it is not told apart');
  expect([event.data.price, event.timestamp, event.source]).toEqual(['249.50', plain.timestamp, '/purchase-watch/sites/se']);
});

describe('refused', () => {
  test.each<[string, string, Partial<VerifyWebhookOptions>]>([
    ['a changed body', 'no_match', { payload: BODY.replace('249.50', '249.5') }],
    ['another secret', 'no_match', { secret: OTHER }],
    ['another id', 'no_match', { headers: { ...signed(), 'webhook-id': 'evt_2' } }],
    ['another time', 'no_match', { headers: { ...signed(), 'webhook-timestamp': String(NOW.getTime() / 1000 - 1) } }],
    ['an empty signature', 'no_match', { headers: { ...signed(), 'webhook-signature': 'v1,' } }],
    [
      'a signature of another version',
      'no_match',
      { headers: { ...signed(), 'webhook-signature': signed()['webhook-signature']!.replace('v1', 'v1a') } },
    ],
    ['one sent long ago', 'too_old', { now: new Date(NOW.getTime() + 301_000) }],
    ['one sent from the future', 'too_new', { now: new Date(NOW.getTime() - 301_000) }],
    ['a time that is none', 'bad_timestamp', { headers: { ...signed(), 'webhook-timestamp': '1e9' } }],
    ['no headers', 'missing_header', { headers: {} }],
    ['no headers in a Headers object', 'missing_header', { headers: new Headers() }],
    ['a signed list', 'not_an_event', { payload: '[]', headers: signed('[]') }],
    ['a signed text', 'not_an_event', { payload: 'hello', headers: signed('hello') }],
  ])('%s: %s', (_, reason, options) => {
    expect(reasonOf(options)).toBe(reason);
  });

  test('a wrong call is not a wrong webhook', () => {
    expect(() => reasonOf({ secret: undefined })).toThrow(TypeError);
    expect(() => reasonOf({ secret: 'secret' })).toThrow(TypeError);
    expect(() => reasonOf({ payload: JSON.parse(BODY) })).toThrow(/raw body/);
  });

  test('no message tells the secret or the body', () => {
    for (const options of [{ payload: 'x' }, { secret: OTHER }, { now: new Date(0) }]) {
      let message = '';
      try {
        verifyWebhook({ payload: BODY, headers: signed(), secret: SECRET, now: NOW, ...options });
      } catch (error) {
        message = String(error);
      }
      expect(message).toMatch(/Error/);
      expect(message).not.toMatch(/MfKQ|purchaseId|BwcH/);
    }
  });
});
