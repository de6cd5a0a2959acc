/** Addresses and keys of subscribers as they are stored: encrypted, each for its subscriber. */

import { isUnencrypted, type Unencrypted } from '../../config/unencrypted.ts';
import { shownAddress } from '../../domain/values/shown-address.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { BodyFormat, StoredSubscriber } from '../../postgres/subscribers/subscribers.ts';
import { randomBytes } from '../../runtime/random.ts';
import type { Secrets } from '../../runtime/secrets/secrets.ts';

/** A key that signs, until it is replaced: null for ever, or the end of its time. */
export interface SigningKey {
  /** `whsec_…`, or `whsk_…` for a signature that is checked with a public key. */
  readonly key: string;
  readonly until: Instant | null;
}

/** How a webhook is reached, and what it gets. */
export interface Reach {
  readonly url: string;
  /** The newest first. */
  readonly keys: readonly SigningKey[];
  readonly format: BodyFormat;
  /** On top of ours, by name; their values are secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Shown to a receiver who asks for one; both as PEM. */
  readonly clientCertificate: { readonly certificate: string; readonly key: string } | null;
}

/** The secrets of a subscriber of the API beside its address and its signing secret. */
export interface SealedOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** `whsk_…`, or null: only the secret signs. */
  readonly signingKey: string | null;
}

const NO_OPTIONS: SealedOptions = { headers: {}, signingKey: null };

const PREFIX = 'whsec_';

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

/** Null when there is nothing to be stored. */
export function sealOptions(secrets: Secrets, name: string, options: SealedOptions): Buffer | null {
  if (options.signingKey === null && Object.keys(options.headers).length === 0) return null;
  return secrets.seal(JSON.stringify(options), `subscriber ${name} options`);
}

export type OpenedSubscriber = NonNullable<ReturnType<typeof openStored>>;

/**
 * Opens what is stored of a subscriber made by the API, its keys the newest first and without its signing key; null when the key is another
 * one than that which encrypted it.
 */
export function openStored(secrets: Secrets | null, { name, url, keys, options }: StoredSubscriber) {
  if (secrets === null || url === null || keys === null) return null;
  const address = secrets.open(url, `subscriber ${name} url`);
  const list = secrets.open(keys, `subscriber ${name} keys`);
  const rest = options === null ? JSON.stringify(NO_OPTIONS) : secrets.open(options, `subscriber ${name} options`);
  if (address === null || list === null || rest === null) return null;
  return { url: address, keys: JSON.parse(list) as readonly SigningKey[], options: JSON.parse(rest) as SealedOptions };
}

/** How a subscriber made by the API is reached; null when what is stored cannot be read. */
export function openReach(secrets: Secrets | null, row: StoredSubscriber): Reach | null {
  const opened = openStored(secrets, row);
  if (opened === null) return null;
  const { url, keys, options } = opened;
  const { headers, signingKey } = options;
  return { url, keys: [...keys, ...foreverKeys(signingKey)], format: row.format, headers, clientCertificate: null };
}

/** Why the address of a subscriber of the API cannot be read, as a sentence. */
export function unreadable(secrets: Secrets | null): string {
  const why = secrets === null ? 'SECRETS_KEY is not set' : 'SECRETS_KEY is not the key that encrypted it';
  return `Its address cannot be read: ${why}.`;
}

/** Subscribers of the API to which everything goes without encryption, of rows that can be read. */
export function unencryptedStored(secrets: Secrets | null, rows: readonly StoredSubscriber[]): Unencrypted[] {
  return rows.flatMap((row) => {
    const url = row.origin === 'api' ? openStored(secrets, row)?.url : undefined;
    return url !== undefined && isUnencrypted(url) ? [{ about: `receiver ${row.name}`, address: shownAddress(url) }] : [];
  });
}

/** Keys that nothing replaces; null are none. */
export function foreverKeys(...keys: readonly (string | null)[]): SigningKey[] {
  return keys.flatMap((key) => (key === null ? [] : [{ key, until: null }]));
}
