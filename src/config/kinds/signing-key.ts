/**
 * Ed25519 keys as Standard Webhooks writes them: `whsk_` and base64 of the private key (its seed, alone or followed by the
 * public key), `whpk_` and base64 of the public one, which a receiver can have without being able to sign.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

const PRIVATE = 'whsk_';
const PUBLIC = 'whpk_';
/** The bytes before the 32 bytes of a seed in PKCS #8. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const BYTES = 32;

/** Reads a private key; null when it is none, or when the public key behind its seed is another one's. */
export function readSigningKey(text: string): KeyObject | null {
  const encoded = /^whsk_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1];
  if (encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  // Encoding it again finds lengths that no base64 has, which decoding quietly cuts.
  if (bytes.toString('base64').replace(/=+$/, '') !== encoded.replace(/=+$/, '')) return null;
  if (bytes.length !== BYTES && bytes.length !== 2 * BYTES) return null;
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, bytes.subarray(0, BYTES)]), format: 'der', type: 'pkcs8' });
  return bytes.length === BYTES || publicBytes(key).equals(bytes.subarray(BYTES)) ? key : null;
}

export function newSigningKey(): string {
  const der = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' });
  return PRIVATE + der.subarray(PKCS8.length).toString('base64');
}

/** The public key that belongs to a private one, as receivers write it; null for what is no key. */
export function publicKeyOf(signingKey: string): string | null {
  const key = readSigningKey(signingKey);
  return key === null ? null : PUBLIC + publicBytes(key).toString('base64');
}

function publicBytes(key: KeyObject): Buffer {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-BYTES);
}
