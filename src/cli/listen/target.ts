/** Where `listen --forward` may lead: not back to itself. */
import { isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isThisMachine } from '../../channels/http/address.ts';

/** Whether an address is that of the listener on this host and port. Names of other machines are not looked up. */
export function leadsBack(target: string, { host, port }: { readonly host: string; readonly port: number }): boolean {
  const { hostname, port: written, protocol } = new URL(target);
  if (Number(written || (protocol === 'https:' ? 443 : 80)) !== port) return false;
  const [to, here] = [bare(hostname), bare(host)];
  if (to === here) return true;
  if (isAny(here)) return isLoopback(to) || ownAddresses().includes(to);
  return isLoopback(here) && isLoopback(to);
}

/** In small letters, without brackets, and IPv4 in IPv6 as IPv4. */
function bare(host: string): string {
  const address = host.toLowerCase().replace(/^\[|\]$/g, '');
  const plain = isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(plain) ?? [];
  if (high === undefined || low === undefined) return plain;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join('.');
}

/** Dialled, these lead to this machine; listened on, they are all its addresses. */
function isAny(address: string): boolean {
  return address === '0.0.0.0' || address === '::' || address === '';
}

function isLoopback(address: string): boolean {
  return isAny(address) || isThisMachine(address) || address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => bare(address)));
}
