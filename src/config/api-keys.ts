/** The keys of the API. Only their hashes are kept: neither memory nor a settings file needs the keys themselves. */

import { createHash } from 'node:crypto';
import { DAY, type Instant, type Milliseconds } from '../domain/values/time.ts';
import { SCOPES, type Scope } from './kinds/key-kinds.ts';
import type { FileSettings } from './schema/file-schema.ts';
import type { Environment } from './sources/environment.ts';

export interface ApiKey {
  /** The key's name in the log: that of the file, or the variable. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** As `hashOfKey` writes it. */
  readonly hash: string;
  /** From when on the API refuses the key; null: never. */
  readonly expires: Instant | null;
}

/** `sha256:` and the hash in hexadecimal digits, as the settings file has it. */
export function hashOfKey(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** No setting names a key so: names there begin with a letter or digit. */
const MACHINE = '@machine';

/** The machine's own key as one of the API, with every scope. */
export const ofMachine = (key: string): ApiKey => ({ name: MACHINE, scopes: SCOPES, hash: hashOfKey(key), expires: null });

/** The key's name for people and programs; null: the machine's own. */
export const shownName = ({ name }: ApiKey): string | null => (name === MACHINE ? null : name);

/** Whether the settings name no key: then the machine's own is the only one, or there is none. */
export const isKeyless = (keys: readonly ApiKey[]): boolean => keys.every((key) => shownName(key) === null);

/** All keys: those of the variables first, then those of the file. Expired ones are among them. */
export function apiKeys(section: FileSettings['api'], environment: Environment, problems: string[]): ApiKey[] {
  const readKey = environment.read('API_READ_KEY', problems);
  return [
    ...environment.read('API_KEY', problems).map((key, index) => ({
      name: index === 0 ? 'API_KEY' : `API_KEY[${index}]`,
      scopes: SCOPES,
      hash: hashOfKey(key),
      expires: null,
    })),
    ...(readKey === null
      ? []
      : [{ name: 'API_READ_KEY', scopes: ['read', 'metrics'] as const, hash: hashOfKey(readKey), expires: null }]),
    ...Object.entries(section.keys).map(([name, { scopes, hash, key, expires }]) => ({
      // One of both is there: the schema checks it.
      name,
      scopes: [...new Set(scopes)],
      hash: hash ?? hashOfKey(key!),
      expires,
    })),
  ];
}

/** People are warned so long before a key's end. */
const WARN_BEFORE: Milliseconds = 14 * DAY;

/** Keys that have expired, or will within two weeks, in words. */
export function endingKeys(
  keys: readonly ApiKey[],
  now: Instant,
): { readonly name: string; readonly detail: string; readonly at: Instant }[] {
  return keys.flatMap(({ name, expires }) => {
    if (expires === null || expires - now > WARN_BEFORE) return [];
    return [{ name, at: expires, detail: `${expires <= now ? 'expired' : 'expires'} at ${new Date(expires).toISOString()}` }];
  });
}

/** Advice about a key that ends. */
export const ENDING_KEY_ADVICE =
  'make its successor with "purchase-watch key new", add it under another name, and take this one out once nobody uses it';

/** A key under two names would have two sets of scopes. */
export function sameKeyProblems(keys: readonly ApiKey[]): string[] {
  const setting = (name: string) => (name.startsWith('API_') ? name : `api.keys.${name}`);
  return keys.flatMap(({ name, hash }, index) => {
    const first = keys.slice(0, index).find((each) => each.hash === hash);
    return first === undefined ? [] : [`${setting(name)}: is the same key as ${setting(first.name)}; choose another one`];
  });
}
