/** Addresses and keys of subscribers as they are stored: encrypted, each for its subscriber. */
import { randomBytes } from 'node:crypto';
import type { Instant } from '../core/purchase.ts';
import type { Secrets } from '../runtime/secrets.ts';
import type { StoredSubscriber } from '../store/subscribers.ts';

/** A key that signs, until it is replaced: null for ever, or the end of its time. */
export interface SigningKey {
  /** `whsec_…` */
  readonly key: string;
  readonly until: Instant | null;
}

/** How a subscriber is reached: the newest key first. */
export interface Reach {
  readonly url: string;
  readonly keys: readonly SigningKey[];
}

const PREFIX = 'whsec_';

/** A new signing secret. */
export function newSigningSecret(): string {
  return PREFIX + randomBytes(32).toString('base64');
}

/** Tells one version of an address and its keys from the next, and nothing else. */
export function newAddressHash(): string {
  return randomBytes(16).toString('hex');
}

export function sealUrl(secrets: Secrets, name: string, url: string): Buffer {
  return secrets.seal(url, `subscriber ${name} url`);
}

export function sealKeys(secrets: Secrets, name: string, keys: readonly SigningKey[]): Buffer {
  return secrets.seal(JSON.stringify(keys), `subscriber ${name} keys`);
}

/** Opens what is stored of a subscriber made by the API; null when the key is another one than that which encrypted it. */
export function openReach(secrets: Secrets | null, { name, url, keys }: StoredSubscriber): Reach | null {
  if (secrets === null || url === null || keys === null) return null;
  const [address, list] = [secrets.open(url, `subscriber ${name} url`), secrets.open(keys, `subscriber ${name} keys`)];
  return address === null || list === null ? null : { url: address, keys: JSON.parse(list) as SigningKey[] };
}
