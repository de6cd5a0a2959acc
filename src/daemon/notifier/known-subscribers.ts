/**
 * The subscribers to which this replica delivers, read from the database now and then and after each change. A new
 * subscriber gets a queue, a changed address gets a new channel, and a deleted subscriber leaves memory.
 */

import { resumeSubscriber } from '../../actions/subscribers/outlook.ts';
import { unreadable } from '../../actions/subscribers/subscribers.ts';
import type { Channel } from '../../channels/outgoing/channel.ts';
import type { Opened } from '../../channels/outgoing/channel-kind.ts';
import { openReach } from '../../channels/outgoing/sealed.ts';
import type { ConfiguredSubscriber } from '../../channels/recipients.ts';
import { allowedDigest, openWebhook } from '../../channels/webhook/open.ts';
import type { Settings } from '../../config/settings.ts';
import { SCHEDULE_WITH_PEOPLE } from '../../domain/deliveries/delivery-plan.ts';
import {
  isUntried,
  type SubscriberHealth,
  type Unreached,
  WITH_PEOPLE,
  WITH_SYSTEMS,
} from '../../domain/deliveries/subscriber-health.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import {
  eraseHealth,
  eraseUnreached,
  pausedUnderOtherAddresses,
  saveUntried,
} from '../../postgres/deliveries/subscriber-health.ts';
import { readSubscribers, type StoredSubscriber } from '../../postgres/subscribers/subscribers.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Secrets } from '../../runtime/secrets/secrets.ts';
import { createSubscriberQueue, NEVER_FAILED, type SubscriberQueue } from './subscriber-queue.ts';

export interface KnownSubscribers {
  /** Brings the queues in line with the database. `heard` is called with the health of each subscriber, and with what was known before the read. */
  refresh(heard: Heard): Promise<void>;
  /** All queues, those of subscribers that are off too. */
  all(): Iterable<SubscriberQueue>;
  /** Queues of active subscribers. */
  active(): SubscriberQueue[];
  /** The number of active subscribers. */
  count(): number;
  /** Whether the queue's subscriber is still active. */
  mayTell(queue: SubscriberQueue): boolean;
  /** Sends the subscriber nothing more until the database says that the subscriber is active. */
  switchedOff(queue: SubscriberQueue): void;
  /** Closes every channel after its attempts under way have ended. */
  close(): Promise<void>;
}

/** A subscriber's row, as this replica read it last. */
export interface Known {
  readonly health: SubscriberHealth | null;
  readonly unreached: Unreached | null;
}
const NOTHING: Known = { health: null, unreached: null };
type Heard = (queue: SubscriberQueue, is: Known, was: Known) => void;

/** An open channel and its address. */
type Placed = Opened & { readonly addressHash: string; readonly place: string | null };

export interface KnownSubscribersOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: Settings;
  readonly secrets: Secrets | null;
  /** This replica's id: an address that this replica cannot use, another may. */
  readonly replica: string;
  readonly configured: readonly ConfiguredSubscriber[];
}

export function createKnownSubscribers({
  sql,
  clock,
  log,
  settings,
  secrets,
  replica,
  configured,
}: KnownSubscribersOptions): KnownSubscribers {
  const queues = new Map<number, SubscriberQueue>();
  /** The hash of the address and keys with which each channel was opened. */
  const versions = new Map<number, string>();
  /** The stored address of each subscriber; null for subscribers of the settings, whose address does not change. */
  const places = new Map<number, string | null>();
  /** Subscribers whose channel could not be opened, with the reason; each is logged once. */
  const unopened = new Map<number, { readonly version: string; readonly detail: string }>();
  let off: ReadonlySet<number> = new Set();
  /** Subscribers that were switched off since the last read. */
  const switchedSince = new Set<number>();
  const closing = new Set<Promise<void>>();
  /** Whether pauses that began under other settings were ended (once, at the start). */
  let hasCured = false;

  const close = (channel: Channel): void => {
    const closed = channel.close().catch((error: unknown) => log.warn({ error }, 'channel.not_closed'));
    closing.add(closed);
    void closed.finally(() => closing.delete(closed));
  };

  /** Opens the subscriber's channel, or logs once why the channel cannot be opened. */
  const open = (row: StoredSubscriber, version: string): Placed | null => {
    const opened = openOrSay(row);
    if ('channel' in opened) {
      unopened.delete(row.id);
      return opened;
    }
    const { detail } = opened;
    if (unopened.get(row.id)?.version !== version)
      log.error({ subscriber: row.name, detail: `${detail} What is for it waits.` }, 'subscriber.unreachable');
    unopened.set(row.id, { version, detail });
    return null;
  };
  const openOrSay = (row: StoredSubscriber): Placed | { detail: string } => {
    try {
      return row.origin === 'api' ? openStored(row) : openConfigured(row);
    } catch (error) {
      // A subscriber without a channel must not keep the others from getting their deliveries.
      if (error instanceof AppError) return { detail: `It cannot be called: ${error.message}.` };
      throw error;
    }
  };
  const openStored = (row: StoredSubscriber): Placed | { detail: string } => {
    const reach = openReach(secrets, row);
    if (reach !== null) return { ...openWebhook(reach, settings, 'api'), addressHash: row.addressHash, place: reach.url };
    return { detail: unreadable(secrets) };
  };
  const openConfigured = (row: StoredSubscriber): Placed | { detail: string } => {
    const ours = configured.find(({ definition }) => definition.name === row.name);
    // What is sent to an old address of a channel for people may be lost, and a refusal of the old address says nothing about the new one.
    if (ours !== undefined && row.audience === 'people' && ours.definition.addressHash !== row.addressHash) {
      return { detail: 'Another daemon was started later with another address for it.' };
    }
    if (ours !== undefined) return { ...ours.open(), addressHash: ours.definition.addressHash, place: null };
    return { detail: 'It is in the configuration of another daemon, not in that of this one.' };
  };

  /** Writes which API-made subscribers this replica cannot open, and erases that once it can. */
  const tellUntried = async ({ id, origin, status, unreached }: StoredSubscriber): Promise<void> => {
    const why = unopened.get(id);
    if (why === undefined) {
      if (isUntried(unreached)) await eraseUnreached(sql, id, replica, { untried: true });
    } else if (origin === 'api' && status === 'active' && !(isUntried(unreached) && unreached?.error === why.detail)) {
      await saveUntried(sql, id, { since: clock.now(), error: why.detail, replica });
    }
  };

  /** Once, at the start: two daemons with different settings must not end each other's pauses by turns. */
  const endCuredPauses = async (): Promise<void> => {
    if (hasCured) return;
    for (const subscriber of await pausedUnderOtherAddresses(sql, allowedDigest(settings.webhooks))) {
      await resumeSubscriber(sql, subscriber);
      log.info({ subscriber, detail: 'Its address was refused, and other addresses are allowed now.' }, 'subscriber.resumed');
    }
    hasCured = true;
  };

  const forget = (id: number): void => {
    const queue = queues.get(id);
    queues.delete(id);
    versions.delete(id);
    places.delete(id);
    if (queue) close(queue.recipient.channel);
  };

  return {
    refresh: async (heard) => {
      const before = new Map(
        [...queues].map(([id, { standing }]) => [id, { health: standing.saved, unreached: standing.ours.saved }]),
      );
      switchedSince.clear();
      await endCuredPauses();
      const rows = await readSubscribers(sql);
      // A subscriber may have been switched off here after the database was read.
      off = new Set([...rows.filter(({ status }) => status === 'off').map(({ id }) => id), ...switchedSince]);
      for (const row of rows) {
        const { id, name } = row;
        const isPeople = row.audience === 'people';
        // Subscribers of the settings do not change while the daemon runs; the hash in the row may be that of another daemon.
        const version = row.origin === 'api' || isPeople ? row.addressHash : 'configuration';
        if (versions.get(id) === version) continue;
        const opened = open(row, version);
        const queue = queues.get(id);
        if (opened === null) forget(id);
        else {
          const patience = isPeople ? WITH_PEOPLE : WITH_SYSTEMS;
          const schedule = isPeople ? SCHEDULE_WITH_PEOPLE : settings.webhooks.schedule;
          const { place, ...means } = opened;
          const recipient = { id, name, ...means, schedule, patience };
          if (queue) {
            // Attempts under way end on the old channel.
            close(queue.recipient.channel);
            queue.recipient = recipient;
            // A new address begins without failures; new keys, headers or formats keep the health.
            if (places.get(id) !== place) {
              const { standing } = queue;
              if (standing.saved !== null || standing.ours.saved !== null) await eraseHealth(sql, id);
              Object.assign(standing, { health: null, saved: null, allowance: recipient.concurrency, trying: 'no' });
              Object.assign(standing.ours, NEVER_FAILED);
            }
          } else queues.set(id, createSubscriberQueue(recipient));
          places.set(id, place);
          // Last: if an earlier step failed, the next read repeats all of them.
          versions.set(id, version);
        }
      }
      for (const { id, health, unreached } of rows) {
        const queue = queues.get(id);
        if (queue) heard(queue, { health, unreached }, before.get(id) ?? NOTHING);
      }
      const told = new Set(rows.map(({ id }) => id));
      for (const id of [...queues.keys()]) if (!told.has(id)) forget(id);
      for (const id of [...unopened.keys()]) if (!told.has(id)) unopened.delete(id);
      for (const row of rows) await tellUntried(row);
    },
    all: () => queues.values(),
    active: () => [...queues.values()].filter(({ recipient }) => !off.has(recipient.id)),
    count: () => {
      // Called for every delivery; hardly any subscriber is off.
      let count = queues.size;
      for (const id of off) if (queues.has(id)) count -= 1;
      return count;
    },
    mayTell: (queue) => queues.get(queue.recipient.id) === queue && !off.has(queue.recipient.id),
    switchedOff: (queue) => {
      switchedSince.add(queue.recipient.id);
      off = new Set(off).add(queue.recipient.id);
      // A subscriber that is off takes no memory; when it is switched on, its deliveries are read from the beginning.
      queue.dropWaiting();
      queue.lookFromStart();
    },
    close: async () => {
      for (const id of [...queues.keys()]) forget(id);
      await Promise.all(closing);
    },
  };
}
