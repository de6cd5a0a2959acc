/** Connections by the way that the settings choose: directly, or through a proxy's tunnel, in which TLS goes on with the other end itself. */

import { request } from 'node:http';
import { request as requestWithTls } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { Milliseconds } from '../../domain/values/time.ts';
import { proxySentence, type Way } from '../../domain/values/way.ts';

/** Statuses of a proxy for an address that it forbids; any other is its own trouble, or its way to the other end. */
const FORBIDDEN: readonly (number | null)[] = [400, 403, 451];

/** The proxy made no tunnel. The message is a sentence with the proxy's host and the setting, without credentials. */
export class ProxyFailed extends Error {
  // Client errors with a code of undici's own would be tried again inside the pool.
  readonly code = 'ERR_PROXY_FAILED';
  /** Whether the proxy forbids the address. */
  readonly isRefusal: boolean;
  /** The rest of a sentence that begins with the proxy. */
  readonly failed: string;

  /** `status` is what the proxy answered; null when it could not be asked. */
  constructor(way: Way, status: number | null, cause?: NodeJS.ErrnoException) {
    const failed = failureOf(status, cause?.code);
    super(proxySentence(way, failed), { cause });
    this.failed = failed;
    this.isRefusal = FORBIDDEN.includes(status);
  }
}

function failureOf(status: number | null, code = ''): string {
  if (FORBIDDEN.includes(status)) return `refuses this address: it answered ${status}`;
  if (status !== null)
    return `made no connection: it answered ${status}${status === 407 ? ', so it wants credentials or other ones' : ''}`;
  return `made no connection: it ${code === TOO_LATE ? 'did not answer in time' : `cannot be reached${code && ` (${code})`}`}`;
}

const TOO_LATE = 'ERR_PROXY_TIMEOUT';

/**
 * How long our own part of a way may take, within an attempt that may take so long: name servers and proxies that hang must be
 * named as the cause before the attempt's own deadline blames the other end.
 */
export function ownPart(timeout: Milliseconds): Milliseconds {
  return Math.min(timeout / 2, LONGEST_OWN_PART);
}
const LONGEST_OWN_PART: Milliseconds = 5_000;

/** undici's option `connect` for a way. `timeout` is that of an attempt; a proxy has our own part of it to make a tunnel. */
export function connectBy(
  way: Way,
  { timeout, ...tls }: { readonly timeout: Milliseconds } & buildConnector.BuildOptions,
): buildConnector.BuildOptions | buildConnector.connector {
  return way.proxy === null ? { ...tls, timeout } : createTunnelConnector(way, { ...tls, timeout });
}

/** A connector that reaches every address through the way's proxy. Fails with ProxyFailed where there is no tunnel. */
export function createTunnelConnector(
  way: Way,
  { timeout, ...tls }: { readonly timeout: Milliseconds } & buildConnector.BuildOptions,
): buildConnector.connector {
  const openTunnel = createTunnels(way, ownPart(timeout));
  const secure = buildConnector({ ...tls, timeout, allowH2: false });
  return (target, callback) => {
    const { hostname, protocol, port } = target;
    const isSecure = protocol === 'https:';
    const authority = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port || (isSecure ? 443 : 80)}`;
    openTunnel(authority).then(
      (socket) => {
        if (!isSecure) return callback(null, socket);
        try {
          secure({ ...target, httpSocket: socket }, callback);
        } catch (error) {
          // No caller catches an error that a connector throws here: the error would end the process.
          socket.on('error', () => undefined).destroy();
          callback(error as Error, null);
        }
      },
      (error: Error) => callback(error, null),
    );
  };
}

/** A probe of an idle connection is sent after so long, as undici does. */
const PROBE_AFTER: Milliseconds = 60_000;

/**
 * Opens tunnels through the proxy of a way to a host and port; credentials in its address are sent as HTTP Basic. `limit` is for
 * one tunnel, until the proxy has answered. A tunnel rejects with ProxyFailed.
 */
function createTunnels(way: Way, limit: Milliseconds): (target: string) => Promise<Socket> {
  const { protocol, hostname, port, username, password } = new URL(way.proxy!);
  const host = hostname.replace(/^\[|\]$/g, '');
  const credentials = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  const authorization = username === '' && password === '' ? {} : { 'proxy-authorization': `Basic ${credentials}` };
  const ask = protocol === 'https:' ? requestWithTls : request;
  // Otherwise the proxy's certificate would have to be for the `host` of the request, which is the other end.
  const to = { host, port: port || (protocol === 'https:' ? 443 : 80), servername: isIP(host) === 0 ? host : '' };
  return (target) =>
    new Promise((resolve, reject) => {
      const headers = { host: target, connection: 'keep-alive', ...authorization };
      const asked = ask({ ...to, method: 'CONNECT', path: target, headers, agent: false });
      const timer = setTimeout(() => asked.destroy(Object.assign(new Error(), { code: TOO_LATE })), limit);
      asked.on('error', (error) => {
        clearTimeout(timer);
        reject(new ProxyFailed(way, null, error));
      });
      asked.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
        clearTimeout(timer);
        if (statusCode >= 200 && statusCode < 300) {
          socket.setKeepAlive(true, PROBE_AFTER);
          if (head.length > 0) socket.unshift(head);
          return resolve(socket);
        }
        socket.on('error', () => undefined).destroy();
        reject(new ProxyFailed(way, statusCode));
      });
      asked.end();
    });
}

/** As it was meant; a stray percent sign stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
