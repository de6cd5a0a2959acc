import { createPublicKey, generateKeyPairSync, verify as isSignedBy } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { createAttemptSigner, createSigner, verify } from '../../../src/channels/outgoing/signature.ts';
import { newSigningKey, publicKeyOf } from '../../../src/config/kinds/signing-key.ts';

const KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = `whsec_${Buffer.alloc(32, 'other').toString('base64')}`;
const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const BODY = '{"test": 2432232314}';
const TIME = 1614265330;
const EXPECTED = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const now = TIME * 1_000;

test('the published example gets its published signature', () => {
  expect(createSigner([KEY])(ID, TIME, BODY)).toBe(EXPECTED);
});

test.each(['', '{}', '{"name":"Åsa 🦊","amount":249.50}', 'x'.repeat(100_000)])(
  'the official library signs the same and accepts ours',
  (body) => {
    const seconds = Math.floor(Date.now() / 1_000);
    const signature = createSigner([OTHER])('evt_1', seconds, body);
    expect(signature).toBe(new Webhook(OTHER).sign('evt_1', new Date(seconds * 1_000), body));
    const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': String(seconds), 'webhook-signature': signature };
    expect(() => new Webhook(OTHER).verify(body, headers, { jsonParse: false })).not.toThrow();
  },
);

test('while a secret is being replaced, holders of either key can check', () => {
  const signature = createSigner([OTHER, KEY])(ID, TIME, BODY);
  expect(signature.split(' ')).toHaveLength(2);
  expect(signature.split(' ')[1]).toBe(EXPECTED);
  const headers = { id: ID, timestamp: String(TIME), signature };
  expect(verify(BODY, headers, { keys: [KEY], now })).toBeNull();
  expect(verify(BODY, headers, { keys: [OTHER], now })).toBeNull();
});

test('a receiver may hold several keys itself', () => {
  expect(verify(BODY, { id: ID, timestamp: String(TIME), signature: EXPECTED }, { keys: [OTHER, KEY], now })).toBeNull();
});

test.each([
  ['another body', '{"test": 1}', {}, 'no_match'],
  ['another id', BODY, { id: 'msg_x' }, 'no_match'],
  ['another moment', BODY, { timestamp: String(TIME + 1) }, 'no_match'],
  ['another version', BODY, { signature: EXPECTED.replace('v1,', 'v2,') }, 'no_match'],
  ['a shortened signature', BODY, { signature: 'v1,g0hM' }, 'no_match'],
  ['an empty signature', BODY, { signature: '' }, 'no_match'],
  ['a timestamp that is none', BODY, { timestamp: 'soon' }, 'bad_timestamp'],
  ['an old timestamp', BODY, { timestamp: String(TIME - 301) }, 'too_old'],
  ['a future timestamp', BODY, { timestamp: String(TIME + 301) }, 'too_new'],
] as const)('%s is not accepted', (_what, body, change, reason) => {
  const headers = { id: ID, timestamp: String(TIME), signature: EXPECTED, ...change };
  expect(verify(body, headers, { keys: [KEY], now })).toBe(reason);
});

test.each(['', 'whsec_', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_not base64'])(
  '%j is refused as a key without being quoted',
  (key) => {
    expect(() => createSigner([key])).toThrow('a webhook secret must be whsec_ followed by base64');
  },
);

test('signing without any key is refused', () => {
  expect(() => createSigner([])).toThrow('at least one secret');
});

describe('an ed25519 key', () => {
  const headersOf = (signature: string) => ({ id: ID, timestamp: String(TIME), signature });

  test('signs as v1a, which its public key checks', () => {
    const key = newSigningKey();
    const signature = createSigner([key])(ID, TIME, BODY);
    expect(signature).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
    // Checked as a receiver would who knows nothing of this code.
    const spki = Buffer.concat([
      Buffer.from('MCowBQYDK2VwAyEA', 'base64'),
      Buffer.from(publicKeyOf(key)!.slice('whpk_'.length), 'base64'),
    ]);
    const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    const given = Buffer.from(signature.slice('v1a,'.length), 'base64');
    expect(isSignedBy(null, Buffer.from(`${ID}.${TIME}.${BODY}`), publicKey, given)).toBe(true);
  });

  test('belongs to the public key that RFC 8032 publishes, whether that stands behind it or not', () => {
    const seed = Buffer.from('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb', 'hex');
    const published = Buffer.from('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c', 'hex');
    const long = `whsk_${Buffer.concat([seed, published]).toString('base64')}`;
    expect(publicKeyOf(`whsk_${seed.toString('base64')}`)).toBe(`whpk_${published.toString('base64')}`);
    expect(publicKeyOf(long)).toBe(`whpk_${published.toString('base64')}`);
    expect(createSigner([long])(ID, TIME, BODY)).toBe(createSigner([`whsk_${seed.toString('base64')}`])(ID, TIME, BODY));
  });

  test('stands beside a secret, and holders of either can check, the official library too', () => {
    const [key, seconds] = [newSigningKey(), Math.floor(Date.now() / 1_000)];
    const signature = createSigner([KEY, key])(ID, seconds, BODY);
    expect(signature.split(' ').map((part) => part.split(',')[0])).toEqual(['v1', 'v1a']);
    const headers = { 'webhook-id': ID, 'webhook-timestamp': String(seconds), 'webhook-signature': signature };
    expect(() => new Webhook(KEY).verify(BODY, headers)).not.toThrow();
    const given = { id: ID, timestamp: String(seconds), signature };
    const at = seconds * 1_000;
    expect(verify(BODY, given, { keys: [KEY], now: at })).toBeNull();
    expect(verify(BODY, given, { keys: [], publicKeys: [publicKeyOf(key)!], now: at })).toBeNull();
    expect(verify(`${BODY} `, given, { keys: [], publicKeys: [publicKeyOf(key)!], now: at })).toBe('no_match');
    expect(verify(BODY, given, { keys: [], publicKeys: [publicKeyOf(newSigningKey())!], now: at })).toBe('no_match');
    expect(verify(BODY, given, { keys: [], now: at })).toBe('no_match');
  });

  test('that a signature names another version of is not accepted', () => {
    const key = newSigningKey();
    const signature = createSigner([key])(ID, TIME, BODY).replace('v1a,', 'v1,');
    expect(verify(BODY, headersOf(signature), { keys: [KEY], publicKeys: [publicKeyOf(key)!], now })).toBe('no_match');
  });

  const half = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(16);
  test.each([
    ['too short', `whsk_${Buffer.alloc(31).toString('base64')}`],
    ['of two different keys', `whsk_${Buffer.concat([half, Buffer.alloc(32)]).toString('base64')}`],
    ['no base64', 'whsk_not base64'],
  ])('that is %s is refused without being quoted', (_what, key) => {
    expect(() => createSigner([key])).toThrow(/^a signing key must be whsk_ followed by base64 of 32 or 64 bytes$/);
    expect(publicKeyOf(key)).toBeNull();
  });

  test('is refused where only its public half is', () => {
    expect(() => createSigner([publicKeyOf(newSigningKey())!])).toThrow('a webhook secret must be whsec_');
  });
});

test('each attempt is signed by the keys whose time is not over, with the moment it is made at', () => {
  const sign = createAttemptSigner([
    { key: OTHER, until: null },
    { key: KEY, until: now },
    { key: newSigningKey(), until: now + 1_000 },
  ]);
  const versions = (at: number) =>
    sign(ID, at, BODY)
      .signature.split(' ')
      .map((part) => part.split(',')[0]);
  expect(versions(now - 1)).toEqual(['v1', 'v1', 'v1a']);
  expect(versions(now)).toEqual(['v1', 'v1a']);
  expect(versions(now + 1_000)).toEqual(['v1']);
  expect(sign(ID, now - 1, BODY)).toMatchObject({ id: ID, timestamp: String(TIME - 1) });
  expect(sign(ID, now + 999, BODY).timestamp).toBe(String(TIME));
});
