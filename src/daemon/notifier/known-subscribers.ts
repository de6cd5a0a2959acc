/**
 * Who is told by this replica, as the database says: looked up now and then and whenever somebody changes it. A new
 * subscriber gets a queue, a changed address another channel, and one that is gone is forgotten.
 */

import { resumeSubscriber } from '../../actions/subscribers/outlook.ts';
import { unreadable } from '../../actions/subscribers/subscribers.ts';
import type { Channel } from '../../channels/outgoing/channel.ts';
import { openReach } from '../../channels/outgoing/sealed.ts';
import { allowedDigest, type ConfiguredSubscriber, type Opened, openWebhook } from '../../channels/recipients.ts';
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
  /** Makes the queues what the database says. `heard` is told how it stands with each, and what was known before asking. */
  refresh(heard: Heard): Promise<void>;
  /** Every queue, of those that are switched off too. */
  all(): Iterable<SubscriberQueue>;
  /** Those that may be sent something now. */
  active(): SubscriberQueue[];
  /** How many these are. */
  count(): number;
  /** Whether its subscriber is still told. */
  mayTell(queue: SubscriberQueue): boolean;
  /** Sends it nothing more, until the database says that it is active. */
  switchedOff(queue: SubscriberQueue): void;
  /** Closes every channel after what is under way. */
  close(): Promise<void>;
}

/** What the database says of one, as far as a replica knows it. */
export interface Known {
  readonly health: SubscriberHealth | null;
  readonly unreached: Unreached | null;
}
const NOTHING: Known = { health: null, unreached: null };
type Heard = (queue: SubscriberQueue, is: Known, was: Known) => void;

/** What reaches it, and the address behind that. */
type Placed = Opened & { readonly addressHash: string; readonly place: string | null };

export interface KnownSubscribersOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: Settings;
  readonly secrets: Secrets | null;
  /** This replica's id: what one cannot use, another may. */
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
  /** Which address and keys each channel was opened with. */
  const versions = new Map<number, string>();
  /** The address behind each; null for those of the configuration, which do not change. */
  const places = new Map<number, string | null>();
  /** What could not be opened, said once, and why. */
  const unopened = new Map<number, { readonly version: string; readonly detail: string }>();
  let off: ReadonlySet<number> = new Set();
  /** Those of them that were switched off since the database was last asked. */
  const switchedSince = new Set<number>();
  const closing = new Set<Promise<void>>();
  /** Pauses that the settings of this process cure were ended. */
  let hasCured = false;

  const close = (channel: Channel): void => {
    const closed = channel.close().catch((error: unknown) => log.warn({ error }, 'channel.not_closed'));
    closing.add(closed);
    void closed.finally(() => closing.delete(closed));
  };

  /** Opens a channel to it, or says once why that cannot be. */
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
      // One that cannot be told must not keep the others from being told.
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
    // What an old address of Slack's is sent is lost, and its refusal says nothing of the new one.
    if (ours !== undefined && row.kind === 'slack' && ours.definition.addressHash !== row.addressHash) {
      return { detail: 'Another daemon was started later with another address for it.' };
    }
    if (ours !== undefined) return { ...ours.open(), addressHash: ours.definition.addressHash, place: null };
    return { detail: 'It is in the configuration of another daemon, not in that of this one.' };
  };

  /** Has everybody know of those of the API that could not be opened here, and that it is over. */
  const tellUntried = async ({ id, origin, status, unreached }: StoredSubscriber): Promise<void> => {
    const why = unopened.get(id);
    if (why === undefined) {
      if (isUntried(unreached)) await eraseUnreached(sql, id, replica, { untried: true });
    } else if (origin === 'api' && status === 'active' && !(isUntried(unreached) && unreached?.error === why.detail)) {
      await saveUntried(sql, id, { since: clock.now(), error: why.detail, replica });
    }
  };

  /** Once, at the start: a daemon with other settings that runs beside this one must not end pauses by turns with it. */
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
      // The database may not know yet who wants nothing any more since it was asked.
      off = new Set([...rows.filter(({ status }) => status === 'off').map(({ id }) => id), ...switchedSince]);
      for (const row of rows) {
        const { id, name } = row;
        const isPeople = row.kind === 'slack';
        // Ours do not change while the daemon runs; the row's hash may be another daemon's.
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
            // What is under way ends on the old channel.
            close(queue.recipient.channel);
            queue.recipient = recipient;
            // Another address begins as one that is well; other keys, headers or another body end none here.
            if (places.get(id) !== place) {
              const { standing } = queue;
              if (standing.saved !== null || standing.ours.saved !== null) await eraseHealth(sql, id);
              Object.assign(standing, { health: null, saved: null, allowance: recipient.concurrency, trying: 'no' });
              Object.assign(standing.ours, NEVER_FAILED);
            }
          } else queues.set(id, createSubscriberQueue(recipient));
          places.set(id, place);
          // Last: what failed before is done again.
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
      // Asked for with every delivery, and hardly anybody is off.
      let count = queues.size;
      for (const id of off) if (queues.has(id)) count -= 1;
      return count;
    },
    mayTell: (queue) => queues.get(queue.recipient.id) === queue && !off.has(queue.recipient.id),
    switchedOff: (queue) => {
      switchedSince.add(queue.recipient.id);
      off = new Set(off).add(queue.recipient.id);
      // It takes no memory; switched on again, it is read from the beginning.
      queue.dropWaiting();
      queue.lookFromStart();
    },
    close: async () => {
      for (const id of [...queues.keys()]) forget(id);
      await Promise.all(closing);
    },
  };
}
