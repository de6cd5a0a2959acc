/** For receivers of webhooks: is it from us, is it fresh, and what does it say. Standard Webhooks 1.0.0. */
import { createHmac, createPublicKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import { eventOf, type WebhookEvent } from './events.ts';
import { parseObject } from './json.ts';

/** A `Headers` object, or headers as `node:http` has them. */
export type WebhookHeaders =
  | { get(name: string): string | null | undefined }
  | { readonly [name: string]: string | readonly string[] | undefined };

export interface VerifyWebhookOptions {
  /** The body exactly as it arrived: verify first, parse afterwards. */
  readonly payload: string | Uint8Array;
  readonly headers: WebhookHeaders;
  /** `whsec_…` */
  readonly secret?: string | undefined;
  /** Several, while one replaces another: any of them may have signed. */
  readonly secrets?: readonly string[] | undefined;
  /** `whpk_…`, for subscribers that sign with a key pair (`v1a`), beside a secret or instead of one. */
  readonly publicKeys?: readonly string[] | undefined;
  /** How far the sender's clock and yours may be apart; 300. Older ones may be replays. */
  readonly toleranceSeconds?: number | undefined;
  /** Instead of this machine's clock, for tests. */
  readonly now?: Date | undefined;
}

export type WebhookVerificationReason =
  /** One of `webhook-id`, `webhook-timestamp`, `webhook-signature` is not there. */
  | 'missing_header'
  | 'bad_timestamp'
  | 'too_old'
  | 'too_new'
  /** No signature is by any of the secrets and keys: another sender, another secret, or a body that was changed on the way. */
  | 'no_match'
  /** Signed by us, and not an event all the same. */
  | 'not_an_event';

/** Answer 400 or 401 to it. The message says what is wrong and holds no secret. */
export class WebhookVerificationError extends Error {
  readonly reason: WebhookVerificationReason;

  constructor(reason: WebhookVerificationReason, message: string) {
    super(message);
    this.name = 'WebhookVerificationError';
    this.reason = reason;
  }
}

const PREFIX = 'whsec_';
const PUBLIC_PREFIX = 'whpk_';
/** The bytes before the 32 bytes of an ed25519 public key in its DER form. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const TOLERANCE_SECONDS = 300;

/**
 * The event of a webhook that is ours; one that came as a CloudEvent has the attributes of that, too. Throws
 * WebhookVerificationError for one that is not ours, and TypeError where the call itself is wrong: neither secret nor
 * public key, or a body that was parsed before.
 */
export function verifyWebhook(options: VerifyWebhookOptions): WebhookEvent {
  const { payload, headers, toleranceSeconds = TOLERANCE_SECONDS, now = new Date() } = options;
  const { secrets, publicKeys } = keysOf(options);
  if (typeof payload !== 'string' && !(payload instanceof Uint8Array)) {
    throw new TypeError('payload must be the raw body as text or bytes; a parsed one cannot be verified');
  }
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signature = header(headers, 'webhook-signature');
  checkTime(timestamp, { toleranceSeconds, now });

  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), Buffer.from(payload)]);
  const parts = signature.split(' ');
  let good = false;
  for (const key of secrets) {
    const expected = createHmac('sha256', key).update(signed).digest();
    // All are compared, so that the time taken does not show which of them was close.
    for (const part of parts) good = isSame(bytesOf(part, 'v1'), expected) || good;
  }
  good ||= publicKeys.some((key) => parts.some((part) => verify(null, signed, key, bytesOf(part, 'v1a'))));
  if (!good) {
    throw new WebhookVerificationError(
      'no_match',
      'no signature matches: compare the secret or public key, and make sure that the raw body is verified, not one that was parsed and written again',
    );
  }
  const body = parseObject(typeof payload === 'string' ? payload : Buffer.from(payload).toString('utf8'));
  const event = body === null ? null : eventOf(body);
  if (event === null) throw new WebhookVerificationError('not_an_event', 'the body is signed, and is no event');
  return event;
}

function keysOf({ secret, secrets = [], publicKeys = [] }: VerifyWebhookOptions): { secrets: Buffer[]; publicKeys: KeyObject[] } {
  const all = secret === undefined ? secrets : [secret, ...secrets];
  if (all.length + publicKeys.length === 0) throw new TypeError('verifyWebhook needs a secret or a public key');
  return {
    secrets: all.map((each) => {
      const bytes = decoded(each, PREFIX);
      if (bytes === null) throw new TypeError(`a webhook secret is ${PREFIX} followed by base64`);
      return bytes;
    }),
    publicKeys: publicKeys.map((each) => {
      const bytes = decoded(each, PUBLIC_PREFIX);
      if (bytes?.length !== 32) throw new TypeError(`a public key is ${PUBLIC_PREFIX} followed by base64 of 32 bytes`);
      return createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' });
    }),
  };
}

function decoded(text: unknown, prefix: string): Buffer | null {
  const encoded = typeof text === 'string' && text.startsWith(prefix) ? text.slice(prefix.length) : '';
  return /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) ? Buffer.from(encoded, 'base64') : null;
}

function header(headers: WebhookHeaders, name: string): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : headerOf(headers as Record<string, unknown>, name);
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError('missing_header', `${name} is missing`);
  return value;
}

/** Node's headers are in lower case; those of other programs may not be. */
function headerOf(headers: Readonly<Record<string, unknown>>, name: string): unknown {
  const key = name in headers ? name : Object.keys(headers).find((each) => each.toLowerCase() === name);
  const value = key === undefined ? undefined : headers[key];
  return Array.isArray(value) ? value[0] : value;
}

function checkTime(timestamp: string, { toleranceSeconds, now }: { toleranceSeconds: number; now: Date }): void {
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError('bad_timestamp', 'webhook-timestamp is not a number of seconds');
  }
  const age = now.getTime() / 1_000 - Number(timestamp);
  if (age > toleranceSeconds) {
    throw new WebhookVerificationError('too_old', `it was sent ${Math.round(age)} s ago; ${toleranceSeconds} s are accepted`);
  }
  if (-age > toleranceSeconds) {
    throw new WebhookVerificationError('too_new', `it was sent ${Math.round(-age)} s from now: compare the clocks`);
  }
}

/** The bytes of a signature of this version; none for another version. */
function bytesOf(part: string, version: 'v1' | 'v1a'): Buffer {
  return Buffer.from(part.startsWith(`${version},`) ? part.slice(version.length + 1) : '', 'base64');
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
