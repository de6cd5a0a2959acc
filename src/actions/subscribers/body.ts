/** Subscribers and deliveries as programs see them, in the API and in the commands' JSON. */

import { openStored } from '../../channels/outgoing/sealed.ts';
import { publicKeyOf } from '../../config/kinds/signing-key.ts';
import type { SubscriberSettings } from '../../config/settings.ts';
import { healthStatus } from '../../domain/deliveries/subscriber-state.ts';
import { shownAddress } from '../../domain/values/shown-address.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { ReceiverAnswer } from '../../postgres/deliveries/answers.ts';
import type { DeliveryRow, DeliveryWithAttempts } from '../../postgres/deliveries/delivery-list.ts';
import type { StoredSubscriber } from '../../postgres/subscribers/subscribers.ts';
import { deliveryName } from './names.ts';
import { stateWord } from './rules.ts';
import { type SubscriberDeps, unreachableReason } from './subscribers.ts';

/** The key and the settings that show subscribers' addresses; those of people's channels are never shown. */
export interface Addresses extends Pick<SubscriberDeps, 'secrets'> {
  /** The subscribers of the settings at hand. */
  readonly configured: readonly SubscriberSettings[];
}

/** A subscriber, without anything secret. */
export function subscriberBody(row: StoredSubscriber, addresses: Addresses) {
  const { name, kind, origin, types, sites, states, description, status, statusReason, oldKeysUntil, createdAt } = row;
  return {
    name,
    kind,
    origin,
    ...reachBody(row, addresses),
    types: types === null ? null : [...types],
    sites: sites === null ? null : [...sites],
    states: states === null ? null : states.map(stateWord),
    description,
    status,
    statusReason: statusReason ?? unreachableReason(addresses, row),
    health: healthBody(row),
    oldSecretsUntil: isoTimeOrNull(oldKeysUntil),
    createdAt: isoTime(createdAt),
  };
}

/** Whether a subscriber takes its deliveries, and until when it is left alone. */
export function healthBody({ status, health, unreached }: Pick<StoredSubscriber, 'status' | 'health' | 'unreached'>) {
  return {
    status: healthStatus({ status, health, unreached }),
    failures: health?.failures ?? 0,
    failingSince: isoTimeOrNull(health?.failingSince ?? null),
    pausedUntil: isoTimeOrNull(health?.pausedUntil ?? null),
    lastError: health?.lastError ?? null,
    ourFailures: unreached?.failures ?? 0,
    ourFailingSince: isoTimeOrNull(unreached?.since ?? null),
    ourError: unreached?.error ?? null,
  };
}

/** Address and format of a subscriber, the names of its headers, and its public key. */
function reachBody(row: StoredSubscriber, { secrets, configured }: Addresses) {
  const found =
    row.origin === 'api' ? storedReach(row, secrets) : configuredReach(configured.find(({ name }) => name === row.name));
  const { url = null, headers = [], signingKey = null } = found ?? {};
  const publicKey = signingKey === null ? null : publicKeyOf(signingKey);
  return { url: url === null ? null : shownAddress(url), format: row.format, headers, publicKey };
}

function storedReach(row: StoredSubscriber, secrets: Addresses['secrets']) {
  const opened = openStored(secrets, row);
  if (opened === null) return null;
  const { headers, signingKey } = opened.options;
  return { url: opened.url, headers: Object.keys(headers), signingKey };
}

function configuredReach(settings: SubscriberSettings | undefined) {
  if (settings === undefined) return null;
  const { url, signingKey } = settings;
  return { url, headers: settings.kind === 'webhook' ? Object.keys(settings.headers) : [], signingKey };
}

/** One event for one subscriber. */
export function deliveryBody(row: DeliveryRow) {
  const { id, status, reason, subscriber, eventId, type, purchaseId, site, sequence, attempts, lastError, replayed } = row;
  return {
    id: deliveryName(id),
    status,
    reason,
    subscriber,
    event: { id: eventId, type },
    purchaseId,
    site: site === '' ? null : site,
    sequence,
    tries: attempts,
    replayed,
    lastError,
    createdAt: isoTime(row.createdAt),
    dueAt: row.settledAt === null ? isoTime(row.dueAt) : null,
    settledAt: isoTimeOrNull(row.settledAt),
  };
}

/** A delivery with every attempt, first to last. */
export function deliveryDetails({ tries, answer, ...row }: DeliveryWithAttempts) {
  return {
    ...deliveryBody(row),
    attempts: tries.map(({ at, ...attempt }) => ({ ...attempt, at: isoTime(at) })),
    answer: answer === null ? null : answerBody(answer),
  };
}

/** The whole answer to a failed attempt. */
export function answerBody({ number, at, text }: ReceiverAnswer) {
  return { number, at: isoTime(at), text };
}
