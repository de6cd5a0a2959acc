/** Addresses at which anyone on the line reads along: credentials, purchases, people's data. */
import { shownAddress } from '../domain/values/shown-address.ts';
import { channelTitle } from './channels.ts';
import type { Settings } from './settings.ts';

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

/** Those that the settings name: of sites, receivers, channels for people and the dead man's switch. */
export function unencrypted({
  sites,
  subscribers,
  channels,
  slack,
}: Pick<Settings, 'sites' | 'subscribers' | 'channels' | 'slack'>): Unencrypted[] {
  const all = [
    ...sites.map(({ name, baseUrl }) => ({ about: `site ${name}`, address: baseUrl })),
    ...subscribers.map(({ name, url }) => ({ about: `receiver ${name}`, address: url })),
    ...channels.map((channel) => ({ about: channelTitle(channel), address: channel.webhookUrl })),
    ...(slack.deadMansSwitch === null ? [] : [{ about: "dead man's switch", address: slack.deadMansSwitch }]),
  ];
  return all
    .filter(({ address }) => isUnencrypted(address))
    .map(({ about, address }) => ({ about, address: shownAddress(address) }));
}
