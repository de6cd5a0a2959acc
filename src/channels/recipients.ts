/** From what is known of a subscriber to what reaches it: configured ones by the settings, others by what is stored. */

import { createHash } from 'node:crypto';
import type { ChannelSettings, Settings, SubscriberSettings, WebhookSettings } from '../config/settings.ts';
import { channelSetting, channelSubscriber } from '../config/slack.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import type { SubscriberDefinition } from '../postgres/subscribers/subscribers.ts';
import { createNatsChannel } from './brokers/nats.ts';
import { createRabbitChannel } from './brokers/rabbitmq.ts';
import { allowedFor, type NamedBy } from './http/address.ts';
import type { Channel } from './outgoing/channel.ts';
import { foreverKeys, type Reach } from './outgoing/sealed.ts';
import { BETWEEN_MESSAGES, createSlackChannel } from './slack/slack.ts';
import { createWebhookChannel } from './webhook/webhook.ts';

const SLACK_TIMEOUT = 10_000;

/** A channel that is open, and how it may be used. */
export interface Opened {
  readonly channel: Channel;
  /** Deliveries in flight at most. */
  readonly concurrency: number;
  /** From one delivery to the next; Slack wants a second. */
  readonly spacing: Milliseconds;
  /** One attempt, headers and body. */
  readonly timeout: Milliseconds;
  /** A digest of the addresses that are not public and may be called; of webhooks. */
  readonly allowed?: string;
  /** Messages within an hour, at most; without it there is no such limit. */
  readonly maxPerHour?: number;
}

/** A subscriber that the settings name, with what opens its channel. */
export interface ConfiguredSubscriber {
  readonly definition: SubscriberDefinition;
  open(): Opened;
}

/** The configured subscribers. */
export function configuredSubscribers(settings: Settings): ConfiguredSubscriber[] {
  const named = settings.subscribers.map((subscriber): ConfiguredSubscriber => {
    const { name, kind, format, types, sites, states } = subscriber;
    return {
      definition: { name, kind, format, types, sites, states, addressHash: hash(whatMatters(subscriber)) },
      open: () => openNamed(subscriber, settings),
    };
  });
  return [...named, ...settings.slack.channels.map((channel) => slackSubscriber(channel, settings))];
}

/** A channel of Slack. What it hears of incidents is chosen when they are told; of other events it hears nothing. */
function slackSubscriber(
  { name, webhookUrl: url, sites, maxPerHour }: ChannelSettings,
  settings: Settings,
): ConfiguredSubscriber {
  const definition = { name: channelSubscriber(name), kind: 'slack', format: 'standard', types: null, states: null } as const;
  const setting = channelSetting(settings, name);
  return {
    definition: { ...definition, sites, addressHash: hash(url) },
    open: () => ({
      channel: createSlackChannel({ url, setting, consoleUrl: null, timeout: SLACK_TIMEOUT }),
      concurrency: 1,
      spacing: BETWEEN_MESSAGES,
      timeout: 2 * SLACK_TIMEOUT,
      maxPerHour,
    }),
  };
}

function openNamed(subscriber: SubscriberSettings, settings: Settings): Opened {
  if (subscriber.kind === 'webhook') return openWebhook(configuredReach(subscriber), settings, 'configuration');
  const { timeout, concurrency } = settings.webhooks;
  const { name, url, format, secret, oldSecrets, signingKey } = subscriber;
  const clientCertificate = pairOf(subscriber);
  const common = { name, url, clientCertificate, format, keys: foreverKeys(secret, ...oldSecrets, signingKey), timeout };
  const channel =
    subscriber.kind === 'nats'
      ? createNatsChannel({ ...common, subject: subscriber.subject, credentials: subscriber.credentials })
      : createRabbitChannel({ ...common, exchange: subscriber.exchange, routingKey: subscriber.routingKey });
  return { channel, concurrency, spacing: 0, timeout };
}

function pairOf({ clientCertificate, clientKey }: { clientCertificate?: string; clientKey?: string }) {
  return clientCertificate === undefined || clientKey === undefined
    ? undefined
    : { certificate: clientCertificate, key: clientKey };
}

/** How a webhook of the settings is reached. */
export function configuredReach({
  url,
  secret,
  oldSecrets,
  signingKey,
  format,
  headers,
  clientCertificate,
  clientKey,
}: WebhookSettings): Reach {
  const pair = clientCertificate === null || clientKey === null ? null : { certificate: clientCertificate, key: clientKey };
  return { url, keys: foreverKeys(secret, ...oldSecrets, signingKey), format, headers, clientCertificate: pair };
}

/** A channel to a webhook. Whoever named its address, that one's list says which addresses may be called. */
export function openWebhook(reach: Reach, { webhooks }: Pick<Settings, 'webhooks'>, namedBy: NamedBy): Opened {
  const { timeout, concurrency, proxy } = webhooks;
  const allowed = { allowAddresses: allowedFor(namedBy, webhooks), namedBy };
  const channel = createWebhookChannel({ ...reach, ...allowed, timeout, concurrency, proxy, userAgent: 'purchase-watch' });
  return { channel, concurrency, spacing: 0, timeout, allowed: allowedDigest(webhooks) };
}

/** Tells these lists of allowed addresses from others. */
export function allowedDigest({
  allowAddresses,
  apiAllowAddresses,
}: Pick<Settings['webhooks'], 'allowAddresses' | 'apiAllowAddresses'>): string {
  return hash(JSON.stringify([allowAddresses, apiAllowAddresses])).slice(0, 16);
}

/** The longest that any attempt may take, also for subscribers that are made while the daemon runs. */
export function longestAttempt({ webhooks, slack }: Pick<Settings, 'webhooks' | 'slack'>): number {
  return Math.max(webhooks.timeout, slack.channels.length === 0 ? 0 : 2 * SLACK_TIMEOUT);
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
