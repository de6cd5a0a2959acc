/** Opens a channel to a webhook of the settings, of the API or of alerts. */

import { createHash } from 'node:crypto';
import type { Settings, WebhookSettings } from '../../config/settings.ts';
import { wayToWebhook } from '../../config/ways.ts';
import { allowedFor, type NamedBy } from '../http/address.ts';
import type { Opened } from '../outgoing/channel-kind.ts';
import { foreverKeys, type Reach } from '../outgoing/sealed.ts';
import { createWebhookChannel } from './webhook.ts';

/** How a webhook of the settings is reached. */
export function configuredReach({ url, secret, oldSecrets, signingKey, format, headers, ...pair }: WebhookSettings): Reach {
  const { clientCertificate: certificate, clientKey: key } = pair;
  const clientCertificate = certificate === null || key === null ? null : { certificate, key };
  return { url, keys: foreverKeys(secret, ...oldSecrets, signingKey), format, headers, clientCertificate };
}

/** A channel to a webhook. `namedBy` says whose list of allowed addresses holds for it. */
export function openWebhook(
  reach: Reach,
  settings: Pick<Settings, 'webhooks' | 'proxies' | 'origins'>,
  namedBy: NamedBy,
): Opened {
  const { webhooks } = settings;
  const { timeout, concurrency } = webhooks;
  const allowAddresses = allowedFor(namedBy, webhooks);
  const way = wayToWebhook(reach.url, allowAddresses, settings);
  const limits = { timeout, concurrency, allowAddresses, namedBy };
  const channel = createWebhookChannel({ ...reach, ...limits, way, userAgent: 'purchase-watch' });
  return { channel, concurrency, spacing: 0, timeout, allowed: allowedDigest(webhooks) };
}

/** Tells these lists of allowed addresses from others. */
export function allowedDigest({
  allowAddresses,
  apiAllowAddresses,
}: Pick<Settings['webhooks'], 'allowAddresses' | 'apiAllowAddresses'>): string {
  return createHash('sha256')
    .update(JSON.stringify([allowAddresses, apiAllowAddresses]))
    .digest('hex')
    .slice(0, 16);
}
