/** Loads due deliveries and the subscribers, and knows when to load again. */

import type { Milliseconds } from '../../domain/values/time.ts';
import { nextDue, putOff } from '../../postgres/deliveries/deliveries.ts';
import type { NewDeliveries } from '../../postgres/deliveries/new-deliveries.ts';
import type { Deps } from '../deps.ts';
import type { DeliveryLoader } from './delivery-loader.ts';
import type { RetryTimes } from './retry-times.ts';
import type { StartList } from './sending/start-list.ts';
import { takeOverHealth } from './subscribers/found-health.ts';
import { pausedUntil } from './subscribers/health-in-memory.ts';
import type { KnownSubscribers } from './subscribers/known-subscribers.ts';

interface LoadingOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'ownership'> {
  readonly knownSubscribers: KnownSubscribers;
  readonly loader: DeliveryLoader;
  readonly startList: StartList;
  readonly retryTimes: RetryTimes;
  /** Runs a read of the outbox between the others. */
  read<T>(work: () => Promise<T>): Promise<T>;
}

/** Without a wake-up, the loop loads this often. */
export const SWEEP: Milliseconds = 5_000;
/** While there is more to load, the loop runs again after this. */
const WHILE_MORE: Milliseconds = 5;
const WAITING_FOR_EARLIER: Milliseconds = 50;

export function createLoading(options: LoadingOptions) {
  const { sql, clock, ownership, knownSubscribers, loader, startList, retryTimes, read } = options;
  /** The subscribers must be read before the next load; true at the start. */
  let isChanged = true;
  /** Until the loop runs, the passes of a test decide when deliveries leave. */
  let isRunning = false;
  /** Retries or replays were requested since the last load. */
  let isReplay = false;

  /** Loads for all subscribers and starts attempts; a subscriber that was off or paused continues with its queue. Answers how many deliveries were loaded. */
  const load = (late: boolean): Promise<number> =>
    read(async () => {
      const subscribers = knownSubscribers.active();
      const { blocked, added } = await loader.load(subscribers, late);
      for (const subscriber of subscribers) startList.add(subscriber);
      await putOff(sql, blocked);
      return added;
    });

  const readSubscribers = async (): Promise<void> => {
    isChanged = false;
    try {
      for (const found of await knownSubscribers.refresh()) takeOverHealth(found, options);
    } catch (error) {
      isChanged = true;
      throw error;
    }
  };
  /** Reads the subscribers and when the next retry is due: now and then, not with every wake-up. */
  const lookAround = async (): Promise<void> => {
    await readSubscribers();
    const now = clock.now();
    // The end of a pause wakes the loop for what is due by then.
    const subscribers = knownSubscribers
      .active()
      .map(({ recipient: { id }, health }) => ({ id, after: pausedUntil(health, now) ?? now }));
    await retryTimes.refresh(() => nextDue(sql, { subscribers, shards: ownership.owned() }));
  };

  const restAfterLoad = (added: number): Milliseconds => {
    const active = knownSubscribers.active();
    const parties = knownSubscribers.count();
    // More is waiting but nothing could be loaded: earlier deliveries are being put off or sent.
    if (active.some((subscriber) => loader.wants(subscriber, parties))) return added > 0 ? WHILE_MORE : WAITING_FOR_EARLIER;
    const now = clock.now();
    const pauses = active.map(({ health }) => pausedUntil(health, now) ?? Number.POSITIVE_INFINITY);
    return Math.min(Math.max(Math.min(retryTimes.next(), ...pauses) - now, WHILE_MORE), SWEEP);
  };

  return {
    /** Loads due deliveries; answers how long the loop may rest. */
    tick: async (): Promise<Milliseconds> => {
      isRunning = true;
      if (isChanged) await readSubscribers();
      const isLate = isReplay || retryTimes.isDue();
      isReplay = false;
      const added = await load(isLate);
      if (isLate) await lookAround();
      return restAfterLoad(added);
    },
    /** Loads everything that is due, and the subscribers. */
    loadAll: async (): Promise<void> => {
      await lookAround();
      await load(true);
    },
    /** Takes deliveries that were committed just now, and starts attempts; answers whether it took all. A tick finds the others. */
    takeNew: (deliveries: NewDeliveries): boolean => {
      if (!isRunning) return false;
      const subscribers = knownSubscribers.active();
      const isAll = loader.takeNew(deliveries, subscribers);
      const concerned = new Set(deliveries.rows.map(({ subscriber }) => subscriber));
      for (const subscriber of subscribers) if (concerned.has(subscriber.recipient.id)) startList.add(subscriber);
      return isAll;
    },
    /** A subscriber changed: the next tick reads the subscribers again. */
    subscribersChanged: (): void => {
      isChanged = true;
    },
    /** Retries or replays were requested: the next tick loads them too. */
    replayed: (): void => {
      isReplay = true;
    },
  };
}
