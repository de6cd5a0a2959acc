/** From what is known of a subscriber to what reaches it: configured ones by the settings, others by what is stored. */
import { createHash } from 'node:crypto';
import type { Settings } from '../config/settings.ts';
import type { SubscriberDefinition } from '../store/subscribers.ts';
import type { Reach } from '../subscription/sealed.ts';
import type { Recipient } from './outlet.ts';
import { createSlackChannel } from './slack.ts';
import { createWebhookChannel } from './webhook.ts';

const SLACK_TIMEOUT = 10_000;
const WEBHOOK_CONCURRENCY = 64;
/** No configured subscriber can be named so. */
const SLACK = '@slack';

/** What a channel brings to a recipient. */
export type Opened = Pick<Recipient, 'channel' | 'spacing' | 'timeout' | 'concurrency'>;

/** A subscriber that the settings name, with what opens its channel. */
export interface ConfiguredSubscriber {
  readonly definition: SubscriberDefinition;
  open(): Opened;
}

/** The configured subscribers. */
export function configuredSubscribers(settings: Settings): ConfiguredSubscriber[] {
  const { slack } = settings;
  const webhooks = settings.subscribers.map(
    ({ name, url, secret, types, sites, states }): ConfiguredSubscriber => ({
      definition: { name, kind: 'webhook', format: 'standard', types, sites, states, addressHash: hash(`${url} ${secret}`) },
      open: () => openWebhook({ url, keys: [{ key: secret, until: null }] }, settings),
    }),
  );
  const url = slack.webhookUrl;
  if (url === null) return webhooks;
  const everything = { types: null, sites: null, states: null };
  return [
    ...webhooks,
    {
      definition: { name: SLACK, kind: 'slack', format: 'standard', ...everything, addressHash: hash(url) },
      // Slack drops messages that come faster than one a second, even when it answers 200.
      open: () => ({
        channel: createSlackChannel({ url, consoleUrl: null, timeout: SLACK_TIMEOUT }),
        concurrency: 1,
        spacing: 1_000,
        timeout: 2 * SLACK_TIMEOUT,
      }),
    },
  ];
}

/** A channel to a webhook, wherever its address comes from. */
export function openWebhook({ url, keys }: Reach, { webhooks: { timeout, allowAddresses } }: Pick<Settings, 'webhooks'>): Opened {
  const concurrency = WEBHOOK_CONCURRENCY;
  const channel = createWebhookChannel({ url, keys, timeout, allowAddresses, concurrency, userAgent: 'purchase-watch' });
  return { channel, concurrency, spacing: 0, timeout };
}

/** The longest that any attempt may take, also for subscribers that are made while the daemon runs. */
export function longestAttempt({ webhooks, slack }: Pick<Settings, 'webhooks' | 'slack'>): number {
  return Math.max(webhooks.timeout, slack.webhookUrl === null ? 0 : 2 * SLACK_TIMEOUT);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
