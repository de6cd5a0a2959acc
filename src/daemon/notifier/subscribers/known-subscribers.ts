/**
 * The subscribers to which this replica delivers, read from the database now and then and after each change. A new
 * subscriber gets a queue, a changed address gets a new channel, and a deleted subscriber leaves memory.
 */

import { allowedDigest } from '../../../channels/webhook/open.ts';
import type { Settings } from '../../../config/settings.ts';
import { SCHEDULE_WITH_PEOPLE } from '../../../domain/deliveries/delivery-plan.ts';
import { WITH_PEOPLE, WITH_SYSTEMS } from '../../../domain/deliveries/subscriber-health.ts';
import type { Sql } from '../../../postgres/connection/database.ts';
import { bringForward } from '../../../postgres/deliveries/bring-forward.ts';
import { eraseHealth, pausedUnderOtherAddresses } from '../../../postgres/deliveries/subscriber-health.ts';
import { readSubscribers, type StoredSubscriber } from '../../../postgres/subscribers/subscribers.ts';
import type { FoundHealth } from './found-health.ts';
import { beginAgain, type StoredHealth, storedIn } from './health-in-memory.ts';
import { createOpenChannels, type OpenChannelsOptions, type Placed } from './open-channels.ts';
import { createSubscriber, type Recipient, type Subscriber, unload } from './subscriber.ts';

export type KnownSubscribers = ReturnType<typeof createKnownSubscribers>;

/** A subscriber with the version and the place of its address. */
interface Entry {
  readonly subscriber: Subscriber;
  /** The name, and the hash of the address and keys with which the channel was opened; null until the change is complete. */
  version: string | null;
  place: string | null;
}

const NOTHING: StoredHealth = { health: null, unreached: null };

export function createKnownSubscribers(options: OpenChannelsOptions) {
  const { sql, settings } = options;
  const channels = createOpenChannels(options);
  const entries = new Map<number, Entry>();
  let off: ReadonlySet<number> = new Set();
  /** Subscribers that were switched off since the last read. */
  const switchedSince = new Set<number>();
  /** Whether pauses that began under other settings were ended (once, at the start). */
  let hasCured = false;

  const forget = (id: number): void => {
    const entry = entries.get(id);
    entries.delete(id);
    if (entry) channels.close(entry.subscriber.recipient.channel);
  };
  /** All subscribers, those that are off included. */
  const all = (): Subscriber[] => [...entries.values()].map(({ subscriber }) => subscriber);
  /** Drops every subscriber; the next refresh reads all of them. */
  const forgetAll = (): void => [...entries.keys()].forEach(forget);
  /** Replaces a known subscriber's channel, or adds the subscriber. */
  const place = async (row: StoredSubscriber, opened: Placed): Promise<Entry> => {
    const recipient = recipientOf(row, opened, settings);
    const known = entries.get(row.id);
    if (known === undefined) {
      const added: Entry = { subscriber: createSubscriber(recipient), version: null, place: opened.place };
      entries.set(row.id, added);
      return added;
    }
    // Attempts under way end on the old channel.
    channels.close(known.subscriber.recipient.channel);
    known.subscriber.recipient = recipient;
    // A new address begins without failures; new keys, headers or formats keep the health.
    if (known.place !== opened.place) await loseHealth(sql, known.subscriber);
    known.place = opened.place;
    return known;
  };

  const bringInLine = async (row: StoredSubscriber): Promise<void> => {
    const version = versionOf(row);
    if (entries.get(row.id)?.version === version) return;
    const opened = channels.open(row, version);
    if (opened === null) forget(row.id);
    // Last: if an earlier step fails, the next read repeats all of them.
    else (await place(row, opened)).version = version;
  };

  return {
    /** Brings memory in line with the database. Answers the health of each subscriber, and what was known of it before the read. */
    refresh: async (): Promise<readonly FoundHealth[]> => {
      const before = new Map(all().map((subscriber) => [subscriber, storedIn(subscriber.health)]));
      switchedSince.clear();
      if (!hasCured) await endCuredPauses(options);
      hasCured = true;
      const rows = await readSubscribers(sql);
      // A subscriber may have been switched off here after the database was read.
      off = new Set([...rows.filter(({ status }) => status === 'off').map(({ id }) => id), ...switchedSince]);
      // No subscriber changes its name: a database that went back gives an id to another one, which nothing in memory is of.
      const names = new Map(rows.map(({ id, name }) => [id, name]));
      for (const [id, { subscriber }] of [...entries]) if (names.get(id) !== subscriber.recipient.name) forget(id);
      for (const row of rows) await bringInLine(row);
      await channels.noteUntried(rows);
      return rows.flatMap(({ id, ...is }) => {
        const subscriber = entries.get(id)?.subscriber;
        return subscriber === undefined ? [] : [{ subscriber, is, was: before.get(subscriber) ?? NOTHING }];
      });
    },
    all,
    active: (): Subscriber[] => all().filter(({ recipient }) => !off.has(recipient.id)),
    count: (): number => {
      // Called for every delivery; hardly any subscriber is off.
      let count = entries.size;
      for (const id of off) if (entries.has(id)) count -= 1;
      return count;
    },
    isActive: (subscriber: Subscriber): boolean =>
      entries.get(subscriber.recipient.id)?.subscriber === subscriber && !off.has(subscriber.recipient.id),
    /** Sends the subscriber nothing more until the database says that the subscriber is active. */
    switchedOff: (subscriber: Subscriber): void => {
      switchedSince.add(subscriber.recipient.id);
      off = new Set(off).add(subscriber.recipient.id);
      // A subscriber that is off takes no memory; when it is switched on, its deliveries are read from the beginning.
      unload(subscriber);
    },
    forgetAll,
    /** Closes every channel after its attempts under way have ended. */
    close: async (): Promise<void> => {
      forgetAll();
      await channels.closed();
    },
  };
}

/** Subscribers of the settings do not change while the daemon runs; the hash in the row may be that of another daemon. */
function versionOf({ name, origin, audience, addressHash }: StoredSubscriber): string {
  return `${name} ${origin === 'api' || audience === 'people' ? addressHash : 'configuration'}`;
}

function recipientOf(
  { id, name, audience }: StoredSubscriber,
  { place: _place, ...opened }: Placed,
  settings: Settings,
): Recipient {
  return audience === 'people'
    ? { id, name, ...opened, schedule: SCHEDULE_WITH_PEOPLE, patience: WITH_PEOPLE }
    : { id, name, ...opened, schedule: settings.webhooks.schedule, patience: WITH_SYSTEMS };
}

async function loseHealth(sql: Sql, { recipient, health: known }: Subscriber): Promise<void> {
  const { health, unreached } = storedIn(known);
  if (health !== null || unreached !== null) await eraseHealth(sql, recipient.id);
  beginAgain(known, recipient.concurrency);
}

/** Once, at the start: two daemons with different settings must not end each other's pauses by turns. */
async function endCuredPauses({ sql, clock, log, settings }: OpenChannelsOptions): Promise<void> {
  for (const { id, name } of await pausedUnderOtherAddresses(sql, allowedDigest(settings.webhooks))) {
    await eraseHealth(sql, id);
    await bringForward(sql, id, { kind: 'all' }, clock.now());
    log.info({ subscriber: name, detail: 'Its address was refused, and other addresses are allowed now.' }, 'subscriber.resumed');
  }
}
