/**
 * Which addresses the socket may dial. A caller who may name a receiver must not reach this machine, its network or its
 * cloud's metadata through us. The rule sits at the socket: a name is resolved once, every address is judged, and only
 * a judged one is dialled, so that a name server that changes its mind between a check and the call gains nothing.
 */

import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { Milliseconds } from '../../domain/values/time.ts';
import { type Dialled, isAllowed, isThisMachine, judgeAddress, type Permission } from './address.ts';
import type { Tunnels } from './tunnel.ts';

/** Finds the addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/** The socket may not go there; the message says what would allow it. */
export class AddressRefused extends Error {
  // Client errors with a code of undici's own would be tried again inside the pool.
  readonly code = 'ERR_ADDRESS_REFUSED';
}

/** No name server answered in time. */
class LookupTimedOut extends Error {
  // Client errors with a code of undici's own would be tried again inside the pool.
  readonly code = 'ERR_LOOKUP_TIMED_OUT';
}

/**
 * How long our own part of the way to a receiver may take, within an attempt that may take so long: name servers and
 * proxies that hang must be named as the cause before the attempt's own deadline blames the receiver.
 */
export function ownPart(timeout: Milliseconds): Milliseconds {
  return Math.min(timeout / 2, LONGEST_OWN_PART);
}
const LONGEST_OWN_PART: Milliseconds = 5_000;

function inTime(resolve: Resolve, limit: Milliseconds): Resolve {
  return async (hostname) => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new LookupTimedOut()), limit);
    try {
      return await Promise.race([resolve(hostname), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  };
}

/** A lookup for sockets that hands out only addresses that passed. */
function judgedLookup(dialled: Dialled, permitted: Permission, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const refused: string[] = [];
        const good = found.filter(({ address }) => {
          const problem = judgeAddress(address, dialled, permitted);
          if (problem !== null) refused.push(problem);
          return problem === null;
        });
        const first = good[0];
        if (first === undefined) {
          callback(new AddressRefused(`${hostname}: ${refused[0] ?? 'the name has no address.'}`), '');
        } else if (options.all) callback(null, [...good]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

export interface ConnectorOptions {
  readonly dialled: Dialled;
  readonly permitted: Permission;
  readonly timeout: Milliseconds;
  readonly resolve?: Resolve | undefined;
  /** Shown to a receiver who asks for one, as PEM. */
  readonly clientCertificate?: { readonly certificate: string; readonly key: string } | null | undefined;
}

function tlsOf({ clientCertificate }: ConnectorOptions): buildConnector.BuildOptions {
  return clientCertificate ? { cert: clientCertificate.certificate, key: clientCertificate.key } : {};
}

/**
 * A connector for undici that dials public addresses and what is permitted, and nothing else. Literal addresses are
 * judged here because sockets never look them up; names are judged in the lookup.
 */
export function createPublicConnector(options: ConnectorOptions): buildConnector.connector {
  const { dialled, permitted, timeout, resolve = (hostname) => lookup(hostname, { all: true }) } = options;
  // HTTP/1.1 only: one request per connection keeps a slow answer from holding up others, and `concurrency` means what it says.
  const connect = buildConnector({
    ...tlsOf(options),
    timeout,
    allowH2: false,
    lookup: judgedLookup(dialled, permitted, inTime(resolve, ownPart(timeout))),
  });
  return (target, callback) => {
    const problem = isIP(target.hostname) === 0 ? null : judgeAddress(target.hostname, dialled, permitted);
    if (problem === null) connect(target, callback);
    else callback(new AddressRefused(problem), null);
  };
}

/**
 * The same where a proxy is between: it resolves names, so it is the one to refuse addresses that are not public. What can
 * be judged without a name server is judged here; without encryption no name is called, because it is not known here what it
 * stands for. Allowed addresses are this network's own and are dialled directly.
 */
export function createProxiedConnector(options: ConnectorOptions & { readonly tunnels: Tunnels }): buildConnector.connector {
  const { dialled, permitted, timeout, tunnels } = options;
  const direct = createPublicConnector(options);
  const secure = buildConnector({ ...tlsOf(options), timeout, allowH2: false });
  return (target, callback) => {
    const { hostname } = target;
    if (isIP(hostname) !== 0 ? isAllowed(hostname, dialled.port, permitted) : isThisMachine(hostname))
      return direct(target, callback);
    const problem = isIP(hostname) === 0 ? null : judgeAddress(hostname, dialled, permitted);
    if (problem !== null) return callback(new AddressRefused(problem), null);
    if (dialled.protocol !== 'https:') {
      return callback(
        new AddressRefused(`${hostname} may only be called with https: behind a proxy nobody here knows its address.`),
        null,
      );
    }
    const authority = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${target.port || 443}`;
    tunnels.open(authority).then(
      (socket) => {
        try {
          secure({ ...target, httpSocket: socket as Socket }, callback);
        } catch (error) {
          // What a connector throws here is caught by no caller: it would end the process.
          socket.on('error', () => undefined).destroy();
          callback(error as Error, null);
        }
      },
      (error: Error) => callback(error, null),
    );
  };
}
