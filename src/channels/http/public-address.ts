/**
 * Which addresses the socket may dial. A caller who may name a receiver must not reach this machine, its network or its
 * cloud's metadata through us. The rule sits at the socket: a name is resolved once, every address is judged, and only
 * a judged one is dialled, so that a name server that changes its mind between a check and the call gains nothing.
 */

import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isListed } from '../../config/kinds/address-range.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Way } from '../../domain/values/way.ts';
import { createTunnelConnector, ownPart } from '../../runtime/http/tunnel.ts';
import { startTimer } from '../../runtime/time.ts';
import { type Dialled, isThisMachine, judgeAddress, type Permission } from './address.ts';

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

function inTime(resolve: Resolve, limit: Milliseconds): Resolve {
  return async (hostname) => {
    const late = Promise.withResolvers<never>();
    const timer = startTimer(() => late.reject(new LookupTimedOut()), limit);
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
  return judged(options, connect);
}

/** A connector to which only literal addresses come that passed, and names. */
function judged(
  { dialled, permitted }: Pick<ConnectorOptions, 'dialled' | 'permitted'>,
  connect: buildConnector.connector,
): buildConnector.connector {
  return (target, callback) => {
    const problem = isIP(target.hostname) === 0 ? null : judgeAddress(target.hostname, dialled, permitted);
    if (problem === null) connect(target, callback);
    else callback(new AddressRefused(problem), null);
  };
}

/**
 * The same where a proxy is between: it resolves names, so it is the one to refuse addresses that are not public. What can
 * be judged without a name server is judged here. Without encryption only listed addresses are ever called, and those are this
 * network's own: both are dialled directly.
 */
export function createProxiedConnector(options: ConnectorOptions & { readonly way: Way }): buildConnector.connector {
  const { way, dialled, permitted, timeout } = options;
  const direct = createPublicConnector(options);
  const throughProxy = judged(options, createTunnelConnector(way, { ...tlsOf(options), timeout }));
  return (target, callback) => {
    const { hostname } = target;
    const isOwn = isIP(hostname) === 0 ? isThisMachine(hostname) : isListed(hostname, dialled.port, permitted.ranges);
    const connect = isOwn || dialled.protocol !== 'https:' ? direct : throughProxy;
    connect(target, callback);
  };
}
