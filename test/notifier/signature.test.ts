import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { createSigner, verify } from '../../src/notifier/signature.ts';

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
