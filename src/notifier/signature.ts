/**
 * Signatures as Standard Webhooks 1.0.0 describes them, so that any of its libraries can check what we send:
 * HMAC-SHA256 over `id.timestamp.body` with the bytes behind `whsec_`, written as `v1,<base64>`.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { AppError } from '../core/errors.ts';
import type { Instant, Milliseconds } from '../core/purchase.ts';

const PREFIX = 'whsec_';
/** How far a receiver's clock and ours may be apart; older requests may be replays. */
const TOLERANCE: Milliseconds = 5 * 60_000;

/** The three headers of a signed request. */
export interface SignedHeaders {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}

/** Signs a body for one request; `timestamp` is in whole seconds. */
export type Signer = (id: string, timestamp: number, body: string) => string;

function decodeKey(key: string): KeyObject {
  const encoded = key.slice(PREFIX.length);
  if (!key.startsWith(PREFIX) || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    throw new AppError('configuration', `a webhook secret must be ${PREFIX} followed by base64`);
  }
  return createSecretKey(Buffer.from(encoded, 'base64'));
}

function digest(key: KeyObject, id: string, timestamp: number | string, body: string): Buffer {
  return createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
}

/**
 * Prepares signing with one key, or with several while a secret is being replaced: the receiver finds one signature per
 * key and may hold either. Throws AppError `configuration` when a key is not a `whsec_` secret.
 */
export function createSigner(keys: readonly string[]): Signer {
  const decoded = keys.map(decodeKey);
  if (decoded.length === 0) throw new AppError('configuration', 'a webhook needs at least one secret');
  return (id, timestamp, body) => decoded.map((key) => `v1,${digest(key, id, timestamp, body).toString('base64')}`).join(' ');
}

/** Why a request is not to be trusted, or null when its signature is good and recent. For receivers. */
export function verify(
  body: string,
  headers: SignedHeaders,
  { keys, now }: { keys: readonly string[]; now: Instant },
): 'bad_timestamp' | 'too_old' | 'too_new' | 'no_match' | null {
  if (!/^\d{1,12}$/.test(headers.timestamp)) return 'bad_timestamp';
  const age = now - Number(headers.timestamp) * 1_000;
  if (age > TOLERANCE) return 'too_old';
  if (age < -TOLERANCE) return 'too_new';
  const expected = keys.map((key) => digest(decodeKey(key), headers.id, headers.timestamp, body));
  const matches = headers.signature.split(' ').some((part) => {
    if (!part.startsWith('v1,')) return false;
    const given = Buffer.from(part.slice(3), 'base64');
    return expected.some((one) => one.length === given.length && timingSafeEqual(one, given));
  });
  return matches ? null : 'no_match';
}
