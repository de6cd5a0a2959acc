/** The way to each address: a setting of its own says it, or the environment as curl and Node read it. */

import { DIRECT, type Way } from '../domain/values/way.ts';
import { addressSetting, channelTitle } from './channels.ts';
import { isListed, readAddressRange } from './kinds/address-range.ts';
import { proxy } from './kinds/kinds.ts';
import type { ChannelSettings, EnvironmentProxies, Settings } from './settings.ts';
import type { Environment } from './sources/environment.ts';

type Known = Pick<Settings, 'proxies' | 'origins'>;

/** `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; in small letters they win. */
export function environmentProxies({ lookUp }: Environment, problems: string[]): EnvironmentProxies {
  const given = (name: string): [name: string, value: string] => {
    const small = lookUp(name.toLowerCase(), problems) ?? '';
    return small === '' ? [name, lookUp(name, problems) ?? ''] : [name.toLowerCase(), small];
  };
  const wayOf = (name: string): Way => {
    const [by, value] = given(name);
    if (value === '') return DIRECT;
    const address = proxy.read(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
    if (address !== undefined) return { proxy: address, by };
    problems.push(
      `${by}: ${shownProxy(value)} is not the http or https address of a proxy such as http://user:password@proxy.example:3128; set one, or unset ${by}`,
    );
    return DIRECT;
  };
  const entries = given('NO_PROXY')[1]
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
  const ranges = entries.map(readAddressRange);
  const hosts = entries
    .filter((_, place) => ranges[place] === null)
    .map((entry) => {
      const [, name = '', port] = /^(?:\*?\.)?(.*?)\.?(?::(\d+))?$/.exec(entry)!;
      return { name, port: port === undefined ? null : Number(port) };
    });
  return {
    http: wayOf('HTTP_PROXY'),
    https: wayOf('HTTPS_PROXY'),
    exempt: { hosts, ranges: ranges.filter((range) => range !== null) },
  };
}

/** A wrong address without credentials, if what is left can be nothing but a host with its port: a mistyped address may hold its password anywhere. */
function shownProxy(value: string): string {
  const rest = value.replace(/^([a-z0-9+.-]{1,10}:\/\/)?.*@/is, '$1…@');
  const isHost = /^(?:[a-z0-9+.-]{1,10}:\/\/)?(?:…@)?[^:/?#]{0,100}(?::\d{1,9})?\/?$/i.test(rest);
  return isHost ? JSON.stringify(rest) : 'its value (not shown)';
}

/** The way to an address; `setting` is that of its own, null where it has none. */
export function wayTo(
  address: string,
  { proxies }: Pick<Known, 'proxies'>,
  setting: { readonly value: string | null; readonly by: string } | null = null,
): Way {
  const { protocol, host, port, isThisMachine } = placeOf(address);
  const own = setting?.value ?? null;
  const way =
    own !== null
      ? { proxy: own === 'direct' ? null : own, by: setting!.by }
      : protocol === 'https:'
        ? proxies.https
        : proxies.http;
  if (way.proxy === null) return way;
  if (isThisMachine) return { proxy: null, by: 'an address of this machine' };
  const isExempt =
    own === null &&
    (isListed(host, port, proxies.exempt.ranges) ||
      proxies.exempt.hosts.some(
        ({ name, port: only }) => (only === null || only === port) && (name === '*' || `.${host}`.endsWith(`.${name}`)),
      ));
  return isExempt ? { proxy: null, by: 'NO_PROXY' } : way;
}

export function wayToSite(
  { name, baseUrl, proxy: value }: Pick<Settings['sites'][number], 'name' | 'baseUrl' | 'proxy'>,
  settings: Known,
): Way {
  const path = `sites.${name}.proxy`;
  return wayTo(baseUrl, settings, { value, by: settings.origins.has(path) ? path : 'CHECKOUT_PROXY' });
}

/**
 * The way to a webhook. Without encryption only listed addresses are ever called, and these are this network's own, so both
 * are called directly. `allowed`: the list for it.
 */
export function wayToWebhook(address: string, allowed: readonly string[], settings: Known & Pick<Settings, 'webhooks'>): Way {
  const by = settings.origins.has('WEBHOOK_PROXY') ? 'WEBHOOK_PROXY' : 'webhooks.proxy';
  const way = wayTo(address, settings, { value: settings.webhooks.proxy, by });
  if (way.proxy === null) return way;
  const { protocol, host, port } = placeOf(address);
  if (protocol === 'http:') return { proxy: null, by: 'http webhooks use no proxy' };
  const ranges = allowed.map((entry) => readAddressRange(entry)!);
  return isListed(host, port, ranges) ? { proxy: null, by: 'an allowed address' } : way;
}

/** The way to a channel for people. */
export function wayToChannel(
  { kind, webhookUrl }: Pick<ChannelSettings, 'kind' | 'webhookUrl'>,
  settings: Known & Pick<Settings, 'webhooks'>,
): Way {
  if (kind === 'email') return DIRECT;
  return kind === 'alerts' ? wayToWebhook(webhookUrl, settings.webhooks.allowAddresses, settings) : wayTo(webhookUrl, settings);
}

function placeOf(address: string) {
  const { protocol, hostname, port } = new URL(address);
  const host = hostname.replace(/^\[|\]$|\.$/g, '');
  const isThisMachine = /(?:^|\.)localhost$/.test(host) || isListed(host, 0, LOOPBACK);
  return { protocol, host, port: Number(port || (protocol === 'https:' ? 443 : 80)), isThisMachine };
}

const LOOPBACK = ['127.0.0.0/8', '::1'].map((range) => readAddressRange(range)!);

export type NamedAddress = ReturnType<typeof namedAddresses>[number];

/**
 * The addresses that the settings name: of sites, receivers, channels for people and the dead man's switch, each with where it is set and the
 * way to it. `about` is `site se`, `receiver shop` or `slack`. Brokers and mail servers use no proxy.
 */
export function namedAddresses(settings: Known & Pick<Settings, 'sites' | 'subscribers' | 'channels' | 'slack' | 'webhooks'>) {
  const { sites, subscribers, channels, slack, webhooks } = settings;
  const toWebhook = (address: string): Way => wayToWebhook(address, webhooks.allowAddresses, settings);
  const named = (about: string, setting: string, address: string, way: Way) => ({ about, setting, address, way });
  return [
    ...sites.map((site) => named(`site ${site.name}`, `sites.${site.name}.baseUrl`, site.baseUrl, wayToSite(site, settings))),
    ...subscribers.map(({ name, url, kind }) =>
      named(`receiver ${name}`, `subscribers.${name}.url`, url, kind === 'webhook' ? toWebhook(url) : DIRECT),
    ),
    ...channels.map((channel) => {
      const { webhookUrl } = channel;
      return named(channelTitle(channel), addressSetting(channel), webhookUrl, wayToChannel(channel, settings));
    }),
    ...(slack.deadMansSwitch === null
      ? []
      : [named("dead man's switch", 'slack.deadMansSwitch', slack.deadMansSwitch, wayTo(slack.deadMansSwitch, settings))]),
  ];
}
