/** Who may call: keys where there are some, and otherwise only programs of this machine, never another web site's page. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { Problem } from './problems.ts';

export interface Keys {
  /** May do everything. */
  readonly apiKey: string | null;
  /** May read. */
  readonly apiReadKey: string | null;
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** Asks for a key. Does nothing when there is none. */
export function requireKey({ apiKey, apiReadKey }: Keys): MiddlewareHandler {
  const full = apiKey === null ? null : digest(apiKey);
  const reading = apiReadKey === null ? null : digest(apiReadKey);
  return async (c, next) => {
    if (full !== null || reading !== null) {
      const [, given] = /^Bearer +(\S+) *$/i.exec(c.req.header('authorization') ?? '') ?? [];
      if (given === undefined) {
        throw unauthorized('Send the key in the header "authorization: Bearer <key>"; it is API_KEY of the configuration.');
      }
      const hash = digest(given);
      // Both are compared whatever the first says, so that the time taken tells nothing.
      const isFull = matches(hash, full);
      const isReading = matches(hash, reading);
      if (!isFull && !isReading) throw unauthorized('The key is not known here; compare it with API_KEY of the configuration.');
      if (!isFull && !SAFE_METHODS.has(c.req.method)) {
        throw new Problem('read_only_key', `This key may only read; ${c.req.method} needs the key in API_KEY.`);
      }
    }
    await next();
  };
}

/**
 * Without keys, being on this machine is what gives access. A browser on this machine would lend that to any page: one
 * whose name was made to resolve to this machine (told by its Host), or one that posts here (told by its Origin).
 */
export function guardKeyless({ apiKey, apiReadKey }: Keys): MiddlewareHandler {
  const keyless = apiKey === null && apiReadKey === null;
  return async (c, next) => {
    if (keyless) {
      const host = c.req.header('host');
      if (host !== undefined && !LOOPBACK_HOST.test(host)) {
        throw new Problem(
          'foreign_host',
          `Without a key only this machine may call, and the Host header says ${JSON.stringify(host.slice(0, 80))}. Use http://127.0.0.1 or set API_KEY.`,
        );
      }
      const { origin, 'sec-fetch-site': site } = c.req.header();
      if (!SAFE_METHODS.has(c.req.method) && isForeign({ origin, site, host })) {
        throw new Problem(
          'cross_site',
          'Without a key, web pages of other origins may not change anything here. Set API_KEY and send it.',
        );
      }
    }
    await next();
  };
}

function isForeign({ origin, site, host }: Record<'origin' | 'site' | 'host', string | undefined>): boolean {
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && origin.toLowerCase() !== `http://${host?.toLowerCase()}`;
}

function unauthorized(detail: string): Problem {
  return new Problem('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="purchase-watch"' } });
}

/** Hashes have one length, which timingSafeEqual needs, and a comparison of them tells nothing of the keys. */
function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function matches(given: Buffer, key: Buffer | null): boolean {
  return key !== null && timingSafeEqual(given, key);
}
