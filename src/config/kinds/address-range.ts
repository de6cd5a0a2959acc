/** Ranges of addresses as the settings write them: `10.0.0.0/8`, `10.1.2.3:8443`, `fd00::/8`, `[fd00::5]:8443`. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface AddressRange {
  readonly network: ipaddr.IPv4 | ipaddr.IPv6;
  /** Length of the prefix, in bits. */
  readonly length: number;
  /** Null: every port. */
  readonly port: number | null;
}

/** In brackets with or without a port; without brackets an address of IPv4 with or without one, or one of IPv6 alone. */
const FORMS = /^(?:\[([^[\]]+)\](?::(\d{1,5}))?|([^[\]:]+)(?::(\d{1,5}))?|([^[\]]+))$/;

/** The range that a text stands for; null when it is no range. One address counts as the range of itself. */
export function readAddressRange(text: string): AddressRange | null {
  const [, bracketed, portOfBracketed, plain, portOfPlain, other] = FORMS.exec(text.trim()) ?? [];
  const [address = '', prefix, ...rest] = (bracketed ?? plain ?? other ?? '').split('/');
  const version = isIP(address);
  // Only the usual notation: 010.0.0.0 is 8.0.0.0 to some, and a zone says nothing of where an address leads.
  if (version === 0 || address.includes('%') || rest.length > 0 || (bracketed !== undefined && version === 4)) return null;
  const longest = version === 4 ? 32 : 128;
  const length = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  const port = portOfBracketed ?? portOfPlain;
  if (!(length <= longest) || (port !== undefined && !(Number(port) >= 1 && Number(port) <= 65_535))) return null;
  return { network: ipaddr.parse(address), length, port: port === undefined ? null : Number(port) };
}

/** The one way of writing a range. */
export function writeAddressRange({ network, length, port }: AddressRange): string {
  const range = `${network}/${length}`;
  if (port === null) return range;
  return network.kind() === 'ipv6' ? `[${range}]:${port}` : `${range}:${port}`;
}

/** The ranges that hold an address, whatever their port. A name is in none; an IPv4 address written as IPv6 is in a range of either kind. */
export function rangesWith(address: string, ranges: readonly AddressRange[]): AddressRange[] {
  if (isIP(address) === 0) return [];
  const forms = [ipaddr.parse(address), ipaddr.process(address)];
  return ranges.filter(({ network, length }) => forms.some((ip) => ip.kind() === network.kind() && ip.match(network, length)));
}

/** Whether one of the ranges holds an address at a port. */
export function isListed(address: string, port: number, ranges: readonly AddressRange[]): boolean {
  return rangesWith(address, ranges).some((range) => range.port === null || range.port === port);
}
