/** For receivers of webhooks: is it from us, is it fresh, and what does it say. Standard Webhooks 1.0.0. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { eventOf, type WatchEvent } from './events.ts';
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
  /** No signature is by any of the secrets: another sender, another secret, or a body that was changed on the way. */
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
const TOLERANCE_SECONDS = 300;

/**
 * The event of a webhook that is ours. Throws WebhookVerificationError for one that is not, and TypeError where the call
 * itself is wrong: no secret, or a body that was parsed before.
 */
export function verifyWebhook(options: VerifyWebhookOptions): WatchEvent {
  const { payload, headers, toleranceSeconds = TOLERANCE_SECONDS, now = new Date() } = options;
  const keys = keysOf(options);
  if (typeof payload !== 'string' && !(payload instanceof Uint8Array)) {
    throw new TypeError('payload must be the raw body as text or bytes; a parsed one cannot be verified');
  }
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signature = header(headers, 'webhook-signature');
  checkTime(timestamp, { toleranceSeconds, now });

  let good = false;
  for (const key of keys) {
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(payload).digest();
    // All are compared, so that the time taken does not tell which of them was close.
    for (const part of signature.split(' ')) good = isSame(part, expected) || good;
  }
  if (!good) {
    throw new WebhookVerificationError(
      'no_match',
      'no signature matches: compare the secret, and make sure that the raw body is verified, not one that was parsed and written again',
    );
  }
  const body = parseObject(typeof payload === 'string' ? payload : Buffer.from(payload).toString('utf8'));
  const event = body === null ? null : eventOf(body);
  if (event === null) throw new WebhookVerificationError('not_an_event', 'the body is signed, and is no event');
  return event;
}

function keysOf({ secret, secrets = [] }: VerifyWebhookOptions): Buffer[] {
  const all = secret === undefined ? secrets : [secret, ...secrets];
  if (all.length === 0) throw new TypeError('verifyWebhook needs a secret');
  return all.map((each) => {
    const encoded = typeof each === 'string' && each.startsWith(PREFIX) ? each.slice(PREFIX.length) : '';
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) throw new TypeError(`a webhook secret is ${PREFIX} followed by base64`);
    return Buffer.from(encoded, 'base64');
  });
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

function isSame(part: string, expected: Buffer): boolean {
  const given = Buffer.from(part.startsWith('v1,') ? part.slice(3) : '', 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
