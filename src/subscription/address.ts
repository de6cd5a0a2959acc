/**
 * Which addresses may be called. Whoever may name a receiver must not reach this machine, its network or its cloud's
 * metadata through us. Judged when a subscriber is made, as far as its address tells, and always at the socket.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { AppError } from '../core/errors.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** A range of addresses: the network and the length of its prefix. */
export type Range = readonly [Address, number];

const PERMITTED_BY = 'WEBHOOK_ALLOW_ADDRESSES or webhooks.allowAddresses';
/** The only part of IPv6 from which public addresses are given out. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** Networks without IPv4 reach it through this prefix; the last 32 bits are the address really meant. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** Public as a number, and answered by the host that a virtual machine at Azure runs on, with what is the machine's own. */
const AZURE_HOST = '168.63.129.16';
/** Interface identifiers of ISATAP, in any prefix: the last 32 bits are an IPv4 address behind a router. */
const ISATAP: readonly string[] = ['00005efe', '02005efe'];

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
    if (ip.range() === 'unicast') return ip.match(GLOBAL_UNICAST) ? (isIsatap(ip) ? 'isatap' : null) : 'reserved';
  }
  if (ip.toString() === AZURE_HOST) return "azure's host agent";
  const range: string = ip.range();
  return range === 'unicast' ? null : range.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

function isIsatap(ip: ipaddr.IPv6): boolean {
  return ISATAP.includes(Buffer.from(ip.toByteArray().slice(8, 12)).toString('hex'));
}

/** Whether the operator lists this address as one that may be called. */
export function isAllowed(address: string, allowed: readonly Range[]): boolean {
  // An IPv4 address written as IPv6 is allowed by a range of either kind.
  const forms = [ipaddr.parse(address), ipaddr.process(address)];
  return allowed.some(([network, length]) => forms.some((ip) => ip.kind() === network.kind() && ip.match(network, length)));
}

/** Judges an address for a protocol; null when it may be dialled. Without encryption only what the operator allowed may. */
export function judgeAddress(address: string, protocol: string, allowed: readonly Range[]): string | null {
  if (isIP(address) === 0) return `${address} is not an address.`;
  if (isAllowed(address, allowed)) return null;
  const kind = notPublic(address);
  if (kind !== null) return `${address} is not a public address (${kind}). If it is meant, allow it with ${PERMITTED_BY}.`;
  if (protocol !== 'https:') return `${address} may only be called with https, unless ${PERMITTED_BY} permits it.`;
  return null;
}

/** Whether a name stands for this machine by definition, whatever a name server says. */
export function isThisMachine(hostname: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(hostname);
}

/** The loopback addresses that everybody writes as a name. */
const LOCALHOST = ['127.0.0.1', '::1'];

/**
 * What keeps a receiver's address from being called, as far as it tells without a name server, with the setting that
 * would allow it beside what is allowed already; null when nothing does.
 */
export function refusedUrl(
  url: string,
  allowAddresses: readonly string[],
): { readonly problem: string; readonly allowing: string } | null {
  const { protocol, hostname } = new URL(url);
  const bare = hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(bare) !== 0 ? [bare] : bare === 'localhost' ? LOCALHOST : [];
  const allowed = parseRanges(allowAddresses);
  const problems = addresses.map((address) => judgeAddress(address, protocol, allowed));
  const [problem] = problems;
  if (problem == null || problems.includes(null)) return null;
  const wanted = addresses[0]!.startsWith('127.') ? '127.0.0.0/8' : addresses[0]!;
  return { problem, allowing: `WEBHOOK_ALLOW_ADDRESSES=${[...allowAddresses, wanted].join(',')}` };
}
