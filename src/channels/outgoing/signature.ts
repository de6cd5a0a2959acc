/**
 * Signatures as Standard Webhooks 1.0.0 describes them, so that any of its libraries can check what we send, over
 * `id.timestamp.body`: HMAC-SHA256 with the bytes behind `whsec_`, written as `v1,<base64>`, and ed25519 with the key behind
 * `whsk_`, written as `v1a,<base64>`, which receivers check with the public key behind `whpk_`.
 */
import {
  createHmac,
  createPublicKey,
  createSecretKey,
  verify as isSignedBy,
  type KeyObject,
  sign,
  timingSafeEqual,
} from 'node:crypto';
import { readSigningKey } from '../../config/kinds/signing-key.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { SigningKey } from './sealed.ts';

const PREFIX = 'whsec_';
const PRIVATE_PREFIX = 'whsk_';
const PUBLIC_PREFIX = 'whpk_';
/** How far a receiver's clock and ours may be apart; older requests may be replays. */
const TOLERANCE: Milliseconds = 5 * 60_000;
/** The bytes before the 32 bytes of a public ed25519 key in SPKI. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** The three headers of a signed request. */
export interface SignedHeaders {
  readonly id: string;
  /** Whole seconds. */
  readonly timestamp: string;
  readonly signature: string;
}

/** Signs a body for one request; `timestamp` is in whole seconds. */
export type Signer = (id: string, timestamp: number, body: string) => string;

function decodeSecret(key: string): KeyObject {
  const encoded = key.slice(PREFIX.length);
  if (!key.startsWith(PREFIX) || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    throw new AppError('configuration', `a webhook secret must be ${PREFIX} followed by base64`);
  }
  return createSecretKey(Buffer.from(encoded, 'base64'));
}

function decodePublicKey(key: string): KeyObject {
  const bytes = Buffer.from(key.slice(PUBLIC_PREFIX.length), 'base64');
  if (!key.startsWith(PUBLIC_PREFIX) || bytes.length !== 32) {
    throw new AppError('configuration', `a public key must be ${PUBLIC_PREFIX} followed by base64 of 32 bytes`);
  }
  return createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' });
}

function hmac(key: KeyObject, signed: string): Buffer {
  return createHmac('sha256', key).update(signed).digest();
}

/** Signs `id.timestamp.body` with one key. */
function partOf(key: string): (signed: string) => string {
  if (key.startsWith(PRIVATE_PREFIX)) {
    const secret = readSigningKey(key);
    if (secret === null)
      throw new AppError('configuration', `a signing key must be ${PRIVATE_PREFIX} followed by base64 of 32 or 64 bytes`);
    return (signed) => `v1a,${sign(null, Buffer.from(signed), secret).toString('base64')}`;
  }
  const secret = decodeSecret(key);
  // The text at once: a buffer between costs as much as the hashing.
  return (signed) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`;
}

/**
 * Prepares signing with one key, or with several while a secret is being replaced: the receiver finds one signature per
 * key and may hold either. Throws AppError `configuration` when a key is neither a `whsec_` secret nor a `whsk_` key.
 */
export function createSigner(keys: readonly string[]): Signer {
  const parts = keys.map(partOf);
  if (parts.length === 0) throw new AppError('configuration', 'a webhook needs at least one secret');
  const [only] = parts;
  if (parts.length === 1) return (id, timestamp, body) => only!(`${id}.${timestamp}.${body}`);
  return (id, timestamp, body) => {
    const signed = `${id}.${timestamp}.${body}`;
    return parts.map((part) => part(signed)).join(' ');
  };
}

/** Signs each attempt again: with every key whose time is not over at that moment, and the moment itself. */
export function createAttemptSigner(keys: readonly SigningKey[]): (id: string, now: Instant, body: string) => SignedHeaders {
  const all = createSigner(keys.map(({ key }) => key));
  const timed = keys.map(({ key, until }) => ({ until, sign: createSigner([key]) }));
  const firstEnd = Math.min(...keys.map(({ until }) => until ?? Number.POSITIVE_INFINITY));
  return (id, now, body) => {
    const timestamp = Math.floor(now / 1_000);
    const signature =
      now < firstEnd
        ? all(id, timestamp, body)
        : timed
            .filter(({ until }) => until === null || now < until)
            .map((key) => key.sign(id, timestamp, body))
            .join(' ');
    return { id, timestamp: String(timestamp), signature };
  };
}

/**
 * Why a request is not to be trusted, or null when its signature is good and recent. For receivers, who hold secrets
 * (`whsec_…`), public keys (`whpk_…`) or both; one good signature is enough.
 */
export function verify(
  body: string,
  headers: SignedHeaders,
  { keys, publicKeys = [], now }: { keys: readonly string[]; publicKeys?: readonly string[]; now: Instant },
): 'bad_timestamp' | 'too_old' | 'too_new' | 'no_match' | null {
  if (!/^\d{1,12}$/.test(headers.timestamp)) return 'bad_timestamp';
  const age = now - Number(headers.timestamp) * 1_000;
  if (age > TOLERANCE) return 'too_old';
  if (age < -TOLERANCE) return 'too_new';
  const signed = `${headers.id}.${headers.timestamp}.${body}`;
  const expected = keys.map((key) => hmac(decodeSecret(key), signed));
  const known = publicKeys.map(decodePublicKey);
  const matches = headers.signature.split(' ').some((part) => {
    const [version, encoded = ''] = part.split(',');
    const given = Buffer.from(encoded, 'base64');
    if (version === 'v1') return expected.some((one) => one.length === given.length && timingSafeEqual(one, given));
    if (version === 'v1a') return known.some((key) => isSignedBy(null, Buffer.from(signed), key, given));
    return false;
  });
  return matches ? null : 'no_match';
}
