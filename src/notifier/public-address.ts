/**
 * Which addresses the socket may dial. Whoever may name a receiver must not reach this machine, its network or its
 * cloud's metadata through us. The rule sits at the socket: a name is resolved once, every address is judged, and only
 * a judged one is dialled, so that a name server that changes its mind between a check and the call gains nothing.
 */
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { AppError } from '../core/errors.ts';
import type { Milliseconds } from '../core/purchase.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** A range of addresses: the network and the length of its prefix. */
export type Range = readonly [Address, number];
/** Finds the addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/** The socket may not go there; the message says what would allow it. */
export class AddressRefused extends Error {
  // Client errors with a code of undici's own would be tried again inside the pool.
  readonly code = 'ERR_ADDRESS_REFUSED';
}

const PERMITTED_BY = 'WEBHOOK_ALLOW_ADDRESSES or webhooks.allowAddresses';
/** The only part of IPv6 from which public addresses are given out. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** Networks without IPv4 reach it through this prefix; the last 32 bits are the address really meant. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** Reads a list of CIDR ranges and single addresses. Throws AppError `configuration` naming the entry that is neither. */
export function parseRanges(list: readonly string[]): readonly Range[] {
  return list.map((entry) => {
    const [address = '', prefix, ...rest] = entry.trim().split('/');
    const longest = isIP(address) === 6 ? 128 : 32;
    const length = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    if (isIP(address) === 0 || rest.length > 0 || !(length <= longest)) {
      throw new AppError('configuration', `"${entry}" is not an address or a CIDR range such as 10.0.0.0/8 or fd00::/8`);
    }
    return [ipaddr.parse(address), length];
  });
}

/** Why an address is not public, in a word or two, or null when it is. Addresses that carry another are judged by that. */
export function notPublic(address: string): string | null {
  // The obsolete form of IPv4 in IPv6, which the parser below takes for the mapped one.
  if (address.startsWith('::') && isIP(address.slice(2)) === 4) return 'reserved';
  const ip = ipaddr.process(address);
  if (ip instanceof ipaddr.IPv6) {
    if (ip.match(NAT64)) return notPublic(new ipaddr.IPv4(ip.toByteArray().slice(12)).toString());
    // 6to4 and Teredo are refused as a whole: nobody serves from them, and they carry an IPv4 address of the caller's choice.
    if (ip.range() === 'unicast') return ip.match(GLOBAL_UNICAST) ? null : 'reserved';
  }
  const range: string = ip.range();
  return range === 'unicast' ? null : range.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

function isAllowed(address: string, allowed: readonly Range[]): boolean {
  // An IPv4 address written as IPv6 is allowed by a range of either kind.
  const forms = [ipaddr.parse(address), ipaddr.process(address)];
  return allowed.some(([network, length]) => forms.some((ip) => ip.kind() === network.kind() && ip.match(network, length)));
}

/** Judges an address for a protocol; null when it may be dialled. Without encryption only what the operator allowed may. */
function judge(address: string, protocol: string, allowed: readonly Range[]): string | null {
  if (isIP(address) === 0) return `${address} is not an address.`;
  if (isAllowed(address, allowed)) return null;
  const kind = notPublic(address);
  if (kind !== null) return `${address} is not a public address (${kind}). If it is meant, allow it with ${PERMITTED_BY}.`;
  if (protocol !== 'https:') return `${address} may only be called with https, unless ${PERMITTED_BY} permits it.`;
  return null;
}

/** A lookup for sockets that hands out only addresses that passed. */
function judgedLookup(protocol: string, allowed: readonly Range[], resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const refused: string[] = [];
        const good = found.filter(({ address }) => {
          const problem = judge(address, protocol, allowed);
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
    const problem = isIP(options.hostname) === 0 ? null : judge(options.hostname, protocol, allowed);
    if (problem === null) connect(options, callback);
    else callback(new AddressRefused(problem), null);
  };
}
