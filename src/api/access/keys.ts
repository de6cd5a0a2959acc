/** Compares the key that a request shows with the hashes of the settings (`config/api-keys.ts` makes them). */
import { timingSafeEqual } from 'node:crypto';
import { type ApiKey, hashOfKey } from '../../config/api-keys.ts';
import { SHORTEST_KEY } from '../../config/kinds/key-kinds.ts';
import { wall } from '../../runtime/time.ts';

/** Reads Authorization headers: whether a key is shown, and which of these keys it is, expired ones included. */
export function bearerKeys(keys: readonly ApiKey[]) {
  const known = keys.map((key) => ({ key, digest: digestOf(key.hash) }));
  return (authorization = ''): { readonly isShown: boolean; readonly key: ApiKey | undefined } => {
    const [, given] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
    if (given === undefined) return { isShown: false, key: undefined };
    const digest = digestOf(hashOfKey(given));
    // All are compared, so that the time taken shows nothing. A short key may have been hashed by hand.
    const [found] = known.filter((each) => timingSafeEqual(digest, each.digest) && given.length >= SHORTEST_KEY);
    return { isShown: true, key: found?.key };
  };
}

/** Whether a key is not accepted any more. */
export function hasExpired({ expires }: ApiKey): boolean {
  return expires !== null && expires <= wall();
}

/** The bytes that a hash of the settings stands for. All have one length, which timingSafeEqual needs. */
function digestOf(hash: string): Buffer {
  return Buffer.from(hash.slice('sha256:'.length), 'hex');
}
