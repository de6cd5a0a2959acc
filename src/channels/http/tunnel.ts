/** Connections through the operator's proxy: a tunnel made by CONNECT, in which TLS goes on with the receiver itself. */

import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { buildConnector, Pool } from 'undici';
import type { Milliseconds } from '../../domain/values/time.ts';

/** The proxy made no tunnel. */
export class ProxyFailed extends Error {
  // Client errors with a code of undici's own would be tried again inside the pool.
  readonly code = 'ERR_PROXY_FAILED';
  /** What the proxy answered; null when it could not be asked. */
  readonly status: number | null;

  constructor(status: number | null, cause?: unknown) {
    super('the proxy made no tunnel', { cause });
    this.status = status;
  }
}

export interface Tunnels {
  /** A connection through the proxy to a host and port. Rejects with ProxyFailed. */
  open(target: string): Promise<Duplex>;
  close(): Promise<void>;
}

/**
 * Prepares tunnels through a proxy; credentials in its address are sent as HTTP Basic. `limit` is for one tunnel, until the
 * proxy has answered, and shorter than an attempt: one that hangs is not to be taken for a receiver that does.
 */
export function createTunnels(proxy: string, limit: Milliseconds): Tunnels {
  const { origin, hostname, username, password } = new URL(proxy);
  const credentials = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  const authorization = username === '' && password === '' ? {} : { 'proxy-authorization': `Basic ${credentials}` };
  const dial = buildConnector({ timeout: limit, allowH2: false });
  const pool = new Pool(origin, {
    // Otherwise its certificate would have to be for the `host` of the request, which is the receiver.
    connect: (options, callback) =>
      dial({ ...options, servername: isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? hostname : '' }, callback),
    headersTimeout: limit,
    allowH2: false,
  });
  return {
    open: async (target) => {
      const answer = await pool
        .connect({ path: target, headers: { host: target, ...authorization }, signal: AbortSignal.timeout(limit) })
        .catch((error: unknown) => {
          throw new ProxyFailed(null, error);
        });
      const { socket, statusCode } = answer;
      if (statusCode >= 200 && statusCode < 300) return socket;
      socket.on('error', () => undefined).destroy();
      throw new ProxyFailed(statusCode);
    },
    close: () => pool.destroy(),
  };
}

/** As it was meant; a stray percent sign stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
