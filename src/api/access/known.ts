/** Who is known by the head of a request alone: before a byte of its body is read, and without the database. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { ApiKey } from '../../config/api-keys.ts';
import type { Instant } from '../../domain/values/time.ts';
import { randomBytes } from '../../runtime/random.ts';
import { wall } from '../../runtime/time.ts';
import { bearerKeys, hasExpired } from './keys.ts';

/** A random part, the end in milliseconds since 1970 to the base of 36, and the signature of both. */
const TOKEN = /^([\w-]{43}\.([0-9a-z]{8,9}))\.([\w-]{43})$/;

/** Ended tokens that are remembered, so that they open no door of known callers; the oldest are forgotten. */
const MOST_ENDED = 10_000;
const made = new WeakMap<readonly ApiKey[], ReturnType<typeof makeTokens>>();

/**
 * Tokens of the console's sessions, signed with the key that opened the session: a made-up one is refused without a query. Whether a
 * session was ended before its time stands in the database. The same for the same list of keys.
 */
export function sessionTokens(keys: readonly ApiKey[]): ReturnType<typeof makeTokens> {
  const tokens = made.get(keys) ?? makeTokens(keys);
  made.set(keys, tokens);
  return tokens;
}

function makeTokens(keys: readonly ApiKey[]) {
  const ended = new Set<string>();
  const signers = keys.map((key) => ({ key, secret: createHash('sha256').update(`session token ${key.hash}`).digest() }));
  const signature = (secret: Buffer, text: string): Buffer => createHmac('sha256', secret).update(text).digest();
  return {
    /** A new token for a session that this key opens and that ends then. */
    make: (key: ApiKey, ends: Instant): string => {
      const { secret } = signers.find((each) => each.key === key)!;
      const text = `${randomBytes(32).toString('base64url')}.${ends.toString(36)}`;
      return `${text}.${signature(secret, text).toString('base64url')}`;
    },
    /** The key that signed the token; null for a token that is made up, is over, is known to be ended, or was signed with a key that is gone or expired. */
    keyOf: (token: string): ApiKey | null => {
      const [, text, ends, given] = TOKEN.exec(token) ?? [];
      if (text === undefined || Number.parseInt(ends!, 36) <= wall() || ended.has(token)) return null;
      const bytes = Buffer.from(given!, 'base64url');
      const found = signers.find(({ secret }) => timingSafeEqual(signature(secret, text), bytes));
      return found === undefined || hasExpired(found.key) ? null : found.key;
    },
    /** The token opens nothing any more, as the database says. */
    end: (token: string): void => {
      ended.add(token);
      const [oldest] = ended;
      if (ended.size > MOST_ENDED) ended.delete(oldest!);
    },
  };
}

/** Cookies of a request that may be tokens; beyond them none is looked at. */
const MOST_TOKENS = 8;

/** Tells whether a request shows a right key or a signed session. Without keys every request is from a known caller. */
export function createIsKnown(keys: readonly ApiKey[]): (headers: IncomingHttpHeaders) => boolean {
  const keyOf = bearerKeys(keys);
  const tokens = sessionTokens(keys);
  // The name of a cookie may carry a port or a prefix: the value alone shows what it is.
  const tokensIn = (cookie: string): string[] =>
    cookie
      .split(';')
      .map((each) => each.slice(each.indexOf('=') + 1).trim())
      .filter((value) => TOKEN.test(value))
      .slice(0, MOST_TOKENS);
  return ({ authorization, cookie = '' }) => {
    if (keys.length === 0) return true;
    const { key } = keyOf(authorization);
    if (key !== undefined && !hasExpired(key)) return true;
    return tokensIn(cookie).some((token) => tokens.keyOf(token) !== null);
  };
}
