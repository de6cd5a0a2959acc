/**
 * Which addresses may be called. A caller who may name a receiver must not reach this machine, its network or its cloud's
 * metadata through us. Judged when a subscriber is made, as far as its address shows, and always at the socket.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type AddressRange, isListed, rangesWith, readAddressRange } from '../../config/kinds/address-range.ts';
import type { Settings } from '../../config/settings.ts';
import { AppError } from '../../domain/values/errors.ts';

/** Who named an address: the operator in the settings, or a caller of the API or of a command. Each has a list of its own. */
export type NamedBy = 'configuration' | 'api';

/** Which addresses that are not public may be called. */
export interface Permission {
  readonly by: NamedBy;
  readonly ranges: readonly AddressRange[];
}

const VARIABLES: Readonly<Record<NamedBy, string>> = {
  configuration: 'WEBHOOK_ALLOW_ADDRESSES',
  api: 'WEBHOOK_API_ALLOW_ADDRESSES',
};
const PERMITTED_BY: Readonly<Record<NamedBy, string>> = {
  configuration: `${VARIABLES.configuration} or webhooks.allowAddresses`,
  api: `${VARIABLES.api} or webhooks.apiAllowAddresses`,
};

/** The settings that permit addresses, for sentences. */
export function permittedBy(by: NamedBy): string {
  return PERMITTED_BY[by];
}

/** The list for those whom this one names. */
export function allowedFor(
  by: NamedBy,
  { allowAddresses, apiAllowAddresses }: Pick<Settings['webhooks'], 'allowAddresses' | 'apiAllowAddresses'>,
): readonly string[] {
  return by === 'api' ? apiAllowAddresses : allowAddresses;
}

/** Reads a list of ranges. Throws AppError `configuration` naming the entry that is none. */
export function permission(list: readonly string[], by: NamedBy = 'configuration'): Permission {
  const ranges = list.map((entry) => {
    const range = readAddressRange(entry);
    if (range !== null) return range;
    throw new AppError('configuration', `"${entry}" is not an address or a CIDR range such as 10.0.0.0/8 or fd00::/8`);
  });
  return { by, ranges };
}

/** The only part of IPv6 from which public addresses are given out. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** Networks without IPv4 reach it through this prefix; the last 32 bits are the address really meant. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** Public as a number, and answered by the host that a virtual machine at Azure runs on, with what is the machine's own. */
const AZURE_HOST = '168.63.129.16';
/** Interface identifiers of ISATAP, in any prefix: the last 32 bits are an IPv4 address behind a router. */
const ISATAP: readonly string[] = ['00005efe', '02005efe'];

/** Why an address is not public, in a word or two, or null when it is. Addresses that carry another are judged by that. */
export function notPublic(address: string): string | null {
  // The obsolete form of IPv4 in IPv6, which the parser below takes for the mapped one.
  if (address.startsWith('::') && isIP(address.slice(2)) === 4) return 'reserved';
  const ip = ipaddr.process(address);
  if (ip instanceof ipaddr.IPv6) {
    if (ip.match(NAT64)) return notPublic(new ipaddr.IPv4(ip.toByteArray().slice(12)).toString());
    // 6to4 and Teredo are refused as a whole: no receiver is served from them, and they carry an IPv4 address of the caller's choice.
    if (ip.range() === 'unicast') return ip.match(GLOBAL_UNICAST) ? (isIsatap(ip) ? 'isatap' : null) : 'reserved';
  }
  if (ip.toString() === AZURE_HOST) return "azure's host agent";
  const range: string = ip.range();
  return range === 'unicast' ? null : range.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

function isIsatap(ip: ipaddr.IPv6): boolean {
  return ISATAP.includes(Buffer.from(ip.toByteArray().slice(8, 12)).toString('hex'));
}

/** The protocol that is dialled, `https:` or `http:`, and the port. */
export interface Dialled {
  readonly protocol: string;
  readonly port: number;
}

/** The protocol and the port that a URL asks for. */
export function dialledBy({ protocol, port }: URL): Dialled {
  return { protocol, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

/** Judges an address for a protocol and port; null when it may be dialled. Without encryption only what the list has may. */
export function judgeAddress(address: string, { protocol, port }: Dialled, permitted: Permission): string | null {
  if (isIP(address) === 0) return `${address} is not an address.`;
  if (isListed(address, port, permitted.ranges)) return null;
  const kind = notPublic(address);
  if (kind === null && protocol === 'https:') return null;
  const by = PERMITTED_BY[permitted.by];
  const ports = rangesWith(address, permitted.ranges).map((range) => range.port);
  if (ports.length > 0)
    return `${address} may be called at port ${ports.join(' or ')}, and not at ${port}. If it is meant, allow it with ${by}.`;
  if (kind !== null) return `${address} is not a public address (${kind}). If it is meant, allow it with ${by}.`;
  return `${address} may only be called with https, unless ${by} permits it.`;
}

/** Whether a name stands for this machine by definition, whatever a name server says. */
export function isThisMachine(hostname: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(hostname);
}

/** The loopback addresses that everybody writes as a name. */
const LOCALHOST = ['127.0.0.1', '::1'];

/**
 * Why a receiver's address must not be called, as far as that shows without a name server, with the setting that
 * would allow it beside the addresses that are allowed already; null when it may be called.
 */
export function refusedUrl(
  url: string,
  list: readonly string[],
  by: NamedBy = 'configuration',
): { readonly problem: string; readonly allowing: string } | null {
  const dialled = dialledBy(new URL(url));
  const { hostname } = new URL(url);
  const bare = hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(bare) !== 0 ? [bare] : bare === 'localhost' ? LOCALHOST : [];
  const permitted = permission(list, by);
  const problems = addresses.map((address) => judgeAddress(address, dialled, permitted));
  const [problem] = problems;
  if (problem == null || problems.includes(null)) return null;
  const wanted = addresses[0]!.startsWith('127.') ? '127.0.0.0/8' : addresses[0]!;
  return { problem, allowing: `${VARIABLES[by]}=${[...list, wanted].join(',')}` };
}
