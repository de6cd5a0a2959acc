/** Addresses at which anyone on the line reads along: credentials, purchases, people's data. */
import { shownAddress } from '../domain/values/shown-address.ts';
import { namedAddresses } from './ways.ts';

/** An address without encryption, as it may be shown. */
export interface Unencrypted {
  /** `site se`, `receiver shop`, `slack`. */
  readonly about: string;
  readonly address: string;
}

export const ENCRYPTION_ADVICE =
  'use https (amqps for RabbitMQ) unless nobody else is on the way: credentials, purchases and signatures can be read and changed there';

const PLAIN = /^(?:http|amqp):\/\//i;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

/** Whether what is sent there leaves this machine without encryption. NATS is not judged: its servers ask for TLS themselves. */
export function isUnencrypted(address: string): boolean {
  if (!PLAIN.test(address)) return false;
  const [, hosts = ''] = /^[a-z]+:\/\/([^/?#]*)/i.exec(shownAddress(address)) ?? [];
  return hosts.split(',').some((host) => !LOOPBACK.test(host.replace(/:\d+$/, '')));
}

/** The addresses without encryption that the settings name. */
export function unencrypted(settings: Parameters<typeof namedAddresses>[0]): Unencrypted[] {
  return namedAddresses(settings)
    .filter(({ address }) => isUnencrypted(address))
    .map(({ about, address }) => ({ about, address: shownAddress(address) }));
}
