/** Refuses what pages of other sites send: a browser adds the cookie of the session to that, too. */
import type { MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';

/**
 * Lets a call that may change something pass only where the browser says that a page of this console sent it: by
 * `Sec-Fetch-Site`, or by an `Origin` with the scheme, host and port of `consoleUrl` (null: those by which the call came, over
 * http). Other calls get status 403, whatever the type of their body.
 */
export function requireOwnPages(consoleUrl: string | null): MiddlewareHandler {
  const ofConsole = consoleUrl === null ? null : new URL(consoleUrl).origin;
  return async (c, next) => {
    const { origin, host, 'sec-fetch-site': site } = c.req.header();
    const isOwn = site === undefined ? origin === (ofConsole ?? `http://${host}`) : site === 'same-origin';
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD' && !isOwn) throw new HTTPException(403);
    await next();
  };
}
