/** Subscribers and deliveries as programs see them, in the API and in the commands' JSON. */
import type { SubscriberSettings } from '../config/settings.ts';
import { isoTime, isoTimeOrNull } from '../core/events.ts';
import type { AttemptRow, DeliveryRow } from '../store/delivery-list.ts';
import type { StoredSubscriber } from '../store/subscribers.ts';
import { deliveryName } from './replay.ts';
import { shownUrl, stateWord } from './rules.ts';
import { openReach } from './sealed.ts';
import { type Means, unreachableReason } from './subscribers.ts';

/** What is needed to show addresses: without their queries, and Slack's never. */
export interface Addresses extends Pick<Means, 'secrets'> {
  /** Those that the settings at hand name. */
  readonly configured: readonly Pick<SubscriberSettings, 'name' | 'url'>[];
}

/** A subscriber, without anything secret. */
export function subscriberBody(row: StoredSubscriber, addresses: Addresses) {
  const { name, kind, origin, types, sites, states, description, status, statusReason, oldKeysUntil, createdAt } = row;
  return {
    name,
    kind,
    origin,
    url: urlOf(row, addresses),
    types: types === null ? null : [...types],
    sites: sites === null ? null : [...sites],
    states: states === null ? null : states.map(stateWord),
    description,
    status,
    statusReason: statusReason ?? unreachableReason(addresses, row),
    oldSecretsUntil: isoTimeOrNull(oldKeysUntil),
    createdAt: isoTime(createdAt),
  };
}

function urlOf(row: StoredSubscriber, { secrets, configured }: Addresses): string | null {
  if (row.kind === 'slack') return null;
  const url = row.origin === 'api' ? openReach(secrets, row)?.url : configured.find(({ name }) => name === row.name)?.url;
  return url === undefined ? null : shownUrl(url);
}

/** One event for one subscriber. */
export function deliveryBody(row: DeliveryRow) {
  const { id, status, subscriber, eventId, type, purchaseId, site, sequence, attempts, lastError } = row;
  return {
    id: deliveryName(id),
    status,
    subscriber,
    event: { id: eventId, type },
    purchaseId,
    site: site === '' ? null : site,
    sequence,
    tries: attempts,
    lastError,
    createdAt: isoTime(row.createdAt),
    dueAt: status === 'pending' ? isoTime(row.dueAt) : null,
    settledAt: isoTimeOrNull(row.settledAt),
  };
}

/** The same with every attempt, first to last. */
export function deliveryDetails({ tries, ...row }: DeliveryRow & { readonly tries: readonly AttemptRow[] }) {
  return { ...deliveryBody(row), attempts: tries.map(({ at, ...attempt }) => ({ ...attempt, at: isoTime(at) })) };
}
