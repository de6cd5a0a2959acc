/** From the settings to whoever is told: each configured subscriber, and what opens its channel. */
import { createHash } from 'node:crypto';
import type { Settings } from '../config/settings.ts';
import type { SubscriberDefinition, SubscriberRow } from '../store/subscribers.ts';
import type { Recipient } from './outlet.ts';
import { createSlackChannel } from './slack.ts';
import { createWebhookChannel } from './webhook.ts';

const SLACK_TIMEOUT = 10_000;
const WEBHOOK_CONCURRENCY = 64;
/** No configured subscriber can be named so. */
const SLACK = '@slack';

/** What a channel brings to a recipient. */
type Opened = Pick<Recipient, 'channel' | 'spacing' | 'timeout' | 'concurrency'>;

/** The configured subscribers, each with what opens its channel. */
export function subscriberDefinitions(settings: Settings): { definition: SubscriberDefinition; open: () => Opened }[] {
  const { webhooks, slack } = settings;
  const definitions: { definition: SubscriberDefinition; open: () => Opened }[] = settings.subscribers.map(
    ({ name, url, secret, types, sites, states }) => ({
      definition: { name, kind: 'webhook' as const, types, sites, states, addressHash: hash(`${url} ${secret}`) },
      open: (): Opened => ({
        channel: createWebhookChannel({
          url,
          keys: [secret],
          timeout: webhooks.timeout,
          allowAddresses: webhooks.allowAddresses,
          concurrency: WEBHOOK_CONCURRENCY,
          userAgent: 'purchase-watch',
        }),
        concurrency: WEBHOOK_CONCURRENCY,
        spacing: 0,
        timeout: webhooks.timeout,
      }),
    }),
  );
  const url = slack.webhookUrl;
  if (url === null) return definitions;
  const everything = { types: null, sites: null, states: null };
  return [
    ...definitions,
    {
      definition: { name: SLACK, kind: 'slack' as const, ...everything, addressHash: hash(url) },
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

/** A subscriber's row with its open channel. */
export function recipientOf(row: SubscriberRow, opened: Opened, settings: Settings): Recipient {
  return { id: row.id, name: row.name, off: row.status === 'off', ...opened, schedule: settings.webhooks.schedule };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
