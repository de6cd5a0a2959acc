/**
 * Encrypts what must be stored and stay unreadable: AES-256-GCM. Each text is bound to its place, so that a row's
 * ciphertext copied into another one cannot be opened there. Keys can be replaced: one seals, several open.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

export interface Secrets {
  /** Names of the keys that open, the current one first. A key cannot be derived from its name. */
  readonly keyIds: readonly string[];
  /** Encrypts a text for a place, such as `subscriber shop url`. */
  seal(text: string, place: string): Buffer;
  /** The text, or null: it was encrypted with another key, for another place, or was changed. */
  open(sealed: Uint8Array, place: string): string | null;
  /** Whether the key that seals is the one that this was encrypted with, for this place. */
  isCurrent(sealed: Uint8Array, place: string): boolean;
  /** 32 bytes that differ for different texts, and that cannot be compared with guesses without the key. */
  fingerprint(text: string): Buffer;
  /** The same under each key, in the order of `keyIds`: what was stored may be any of them. */
  fingerprints(text: string): Buffer[];
  /** The same keys, of which another one seals. Throws for a name that is not among `keyIds`. */
  sealingUnder(keyId: string): Secrets;
}

const ALGORITHM = 'aes-256-gcm';
/** The first byte is the version of the format. */
const VERSION = 1;
const NONCE = 12;
const TAG = 16;

interface Key {
  readonly id: string;
  readonly sealing: Buffer;
  readonly forFingerprints: Buffer;
}

function keyFrom(text: string): Key {
  const derive = (purpose: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', text, '', `purchase-watch ${purpose}`, length));
  return {
    id: derive('key id', 8).toString('hex'),
    sealing: derive('stored secrets', 32),
    forFingerprints: derive('fingerprints', 32),
  };
}

/** Encryption under a key of any characters; they should be random ones. Those that it replaces still open. */
export function createSecrets(key: string, previous: readonly string[] = []): Secrets {
  const keys = [...new Set([key, ...previous])].map(keyFrom);
  return secretsUnder(keys, keys[0]!);
}

function secretsUnder(keys: readonly Key[], current: Key): Secrets {
  return {
    keyIds: keys.map(({ id }) => id),
    seal: (text, place) => {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv(ALGORITHM, current.sealing, nonce).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed]);
    },
    open: (sealed, place) => {
      for (const key of keys) {
        const text = openWith(key, sealed, place);
        if (text !== null) return text;
      }
      return null;
    },
    isCurrent: (sealed, place) => openWith(current, sealed, place) !== null,
    fingerprint: (text) => fingerprintWith(current, text),
    fingerprints: (text) => keys.map((key) => fingerprintWith(key, text)),
    sealingUnder: (keyId) => {
      const other = keys.find(({ id }) => id === keyId);
      if (other === undefined) throw new Error('there is no key of this name');
      return secretsUnder(keys, other);
    },
  };
}

function openWith({ sealing }: Key, sealed: Uint8Array, place: string): string | null {
  const bytes = Buffer.from(sealed);
  if (bytes.length < 1 + NONCE + TAG || bytes[0] !== VERSION) return null;
  const nonce = bytes.subarray(1, 1 + NONCE);
  const tag = bytes.subarray(1 + NONCE, 1 + NONCE + TAG);
  try {
    const decipher = createDecipheriv(ALGORITHM, sealing, nonce, { authTagLength: TAG })
      .setAAD(Buffer.from(place))
      .setAuthTag(tag);
    return Buffer.concat([decipher.update(bytes.subarray(1 + NONCE + TAG)), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}

function fingerprintWith({ forFingerprints }: Key, text: string): Buffer {
  return createHmac('sha256', forFingerprints).update(text).digest();
}
