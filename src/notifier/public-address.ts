/**
 * Which addresses the socket may dial. Whoever may name a receiver must not reach this machine, its network or its
 * cloud's metadata through us. The rule sits at the socket: a name is resolved once, every address is judged, and only
 * a judged one is dialled, so that a name server that changes its mind between a check and the call gains nothing.
 */
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { Milliseconds } from '../core/purchase.ts';
import { judgeAddress, type Range } from '../subscription/address.ts';

/** Finds the addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/** The socket may not go there; the message says what would allow it. */
export class AddressRefused extends Error {
  // Client errors with a code of undici's own would be tried again inside the pool.
  readonly code = 'ERR_ADDRESS_REFUSED';
}

/** A lookup for sockets that hands out only addresses that passed. */
function judgedLookup(protocol: string, allowed: readonly Range[], resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const refused: string[] = [];
        const good = found.filter(({ address }) => {
          const problem = judgeAddress(address, protocol, allowed);
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

/**
 * A connector for undici that dials public addresses and what `allowed` lists, and nothing else. Literal addresses are
 * judged here because sockets never look them up; names are judged in the lookup.
 */
export function createPublicConnector({
  protocol,
  allowed,
  timeout,
  resolve = (hostname) => lookup(hostname, { all: true }),
}: {
  protocol: string;
  allowed: readonly Range[];
  timeout: Milliseconds;
  resolve?: Resolve | undefined;
}): buildConnector.connector {
  // HTTP/1.1 only: one request per connection keeps a slow answer from holding up others, and `concurrency` means what it says.
  const connect = buildConnector({ timeout, allowH2: false, lookup: judgedLookup(protocol, allowed, resolve) });
  return (options, callback) => {
    const problem = isIP(options.hostname) === 0 ? null : judgeAddress(options.hostname, protocol, allowed);
    if (problem === null) connect(options, callback);
    else callback(new AddressRefused(problem), null);
  };
}
