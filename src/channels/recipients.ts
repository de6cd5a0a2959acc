/** Who the settings name, as the store knows them, and how each is opened. */

import { createHash } from 'node:crypto';
import { channelAddress, channelSetting, channelSubscriber } from '../config/channels.ts';
import { PEOPLE_KINDS } from '../config/kinds/people-kinds.ts';
import type { ChannelSettings, Settings, SubscriberSettings } from '../config/settings.ts';
import type { Secrets } from '../runtime/secrets/secrets.ts';
import type { ConfiguredSubscriber } from './outgoing/channel-kind.ts';
import { audienceOfKind, openSystem, peopleKind } from './registry.ts';

/** The configured subscribers. `secrets` is the key of the installation, where there is one. */
export function configuredSubscribers(settings: Settings, secrets: Secrets | null = null): ConfiguredSubscriber[] {
  const named = settings.subscribers.map((subscriber): ConfiguredSubscriber => {
    const { name, kind, format, types, sites, states } = subscriber;
    const addressHash = hashOf(subscriber, secrets);
    return {
      definition: { name, kind, audience: audienceOfKind(kind), format, types, sites, states, addressHash },
      open: () => openSystem(subscriber, settings),
    };
  });
  return [...named, ...settings.channels.map((channel) => channelForPeople(channel, settings))];
}

/** A channel for people. Which incidents it gets is chosen when their events are written; it gets no other events. */
function channelForPeople(channel: ChannelSettings, settings: Settings): ConfiguredSubscriber {
  const { kind, sites } = channel;
  const address = channelAddress(channel);
  const addressHash = hash('secret' in channel ? `${address} ${channel.secret}` : address);
  const { audience, open } = peopleKind(kind);
  const name = channelSubscriber(channel);
  const setting = channelSetting(settings, channel);
  return {
    definition: { name, kind, audience, format: 'standard', types: null, states: null, sites, addressHash },
    showsPresent: PEOPLE_KINDS[kind].showsPresent ?? false,
    open: () => open(channel, { setting, settings }),
  };
}

/** The longest that any attempt may take, also for subscribers that are made while the daemon runs. */
export function longestAttempt({ webhooks, channels }: Pick<Settings, 'webhooks' | 'channels'>): number {
  return Math.max(webhooks.timeout, ...channels.map(({ kind }) => peopleKind(kind).longestAttempt));
}

/**
 * Tells an address with its secrets from the next. A signing secret in the text is too long to guess; without one the password of a
 * broker could be guessed from a plain hash, so the hash is keyed, or leaves the password out where there is no key.
 */
function hashOf(subscriber: SubscriberSettings, secrets: Secrets | null): string {
  if (subscriber.secret !== null) return hash(whatMatters(subscriber));
  if (secrets !== null) return secrets.fingerprint(`subscriber ${whatMatters(subscriber)}`).toString('hex');
  return hash(whatMatters({ ...subscriber, url: subscriber.url.replaceAll(/[^/,@]*@/g, '') }));
}

/**
 * Everything about a subscriber that may be what made it fail, as text. What has nothing but an address and a secret is
 * known by these two alone, so that a field that is new to the settings does not switch anybody on again.
 */
function whatMatters(subscriber: SubscriberSettings): string {
  const { name: _name, types: _types, sites: _sites, states: _states, ...given } = subscriber;
  const oldSecrets = given.oldSecrets.length === 0 ? undefined : given.oldSecrets;
  const rest = { ...given, oldSecrets };
  const { url, secret } = rest;
  const isPlain =
    rest.kind === 'webhook' &&
    rest.format === 'standard' &&
    oldSecrets === undefined &&
    rest.signingKey === null &&
    rest.clientCertificate === null &&
    Object.keys(rest.headers).length === 0;
  return isPlain ? `${url} ${secret}` : JSON.stringify(rest);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
