/**
 * Encrypts what must be stored and nobody may read: AES-256-GCM. Each text is bound to its place, so that a row's
 * ciphertext copied into another one cannot be opened there.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

export interface Secrets {
  /** Encrypts a text for a place, such as `subscriber shop url`. */
  seal(text: string, place: string): Buffer;
  /** The text, or null: it was encrypted with another key, for another place, or was changed. */
  open(sealed: Uint8Array, place: string): string | null;
  /** 32 bytes that tell texts apart, and that nobody without the key can compare with guesses. */
  fingerprint(text: string): Buffer;
}

const ALGORITHM = 'aes-256-gcm';
/** The first byte tells how the rest is to be read. */
const VERSION = 1;
const NONCE = 12;
const TAG = 16;

/** Encryption under a key of any characters; they should be random ones. */
export function createSecrets(key: string): Secrets {
  const derive = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', key, '', `purchase-watch ${purpose}`, 32));
  const derived = derive('stored secrets');
  const forFingerprints = derive('fingerprints');
  return {
    seal: (text, place) => {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv(ALGORITHM, derived, nonce).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed]);
    },
    open: (sealed, place) => {
      const bytes = Buffer.from(sealed);
      if (bytes.length < 1 + NONCE + TAG || bytes[0] !== VERSION) return null;
      const nonce = bytes.subarray(1, 1 + NONCE);
      const tag = bytes.subarray(1 + NONCE, 1 + NONCE + TAG);
      try {
        const decipher = createDecipheriv(ALGORITHM, derived, nonce, { authTagLength: TAG })
          .setAAD(Buffer.from(place))
          .setAuthTag(tag);
        return Buffer.concat([decipher.update(bytes.subarray(1 + NONCE + TAG)), decipher.final()]).toString('utf8');
      } catch {
        return null;
      }
    },
    fingerprint: (text) => createHmac('sha256', forFingerprints).update(text).digest(),
  };
}
