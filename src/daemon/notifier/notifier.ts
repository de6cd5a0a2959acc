/** Delivers due events: to each subscriber, each purchase's events in order, one after the other. */

import type { Ownership } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import type { NewDeliveries } from '../../postgres/deliveries/new-deliveries.ts';
import type { Clock, FollowingClock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Writes } from '../../runtime/loops/health.ts';
import { createIdle } from '../../runtime/loops/idle.ts';
import { createRest } from '../../runtime/loops/rest.ts';
import type { Meters } from '../../runtime/meters.ts';
import type { Traces } from '../../runtime/traces/traces.ts';
import { createDeliveryLoader } from './delivery-loader.ts';
import { createLoading, SWEEP } from './loading.ts';
import { createReceiverOutside, type ReceiverOutside } from './receiver-outside.ts';
import { createRetryTimes } from './retry-times.ts';
import { createMessageBatching } from './sending/message-batching.ts';
import { createSender } from './sending/sender.ts';
import { createStartList, type StartList } from './sending/start-list.ts';
import { createUnderWayNotes } from './sending/under-way.ts';
import { createSettling } from './settling.ts';
import { pausedUntil } from './subscribers/health-in-memory.ts';
import type { KnownSubscribers } from './subscribers/known-subscribers.ts';
import { isHeldBack } from './subscribers/pace.ts';
import type { Subscriber } from './subscribers/subscriber.ts';
import { createSubscriberPauses } from './subscribers/subscriber-pauses.ts';

export interface NotifierOptions {
  readonly sql: Sql;
  readonly clock: Clock & Partial<Pick<FollowingClock, 'wall'>>;
  readonly log: Logger;
  readonly ownership: Ownership;
  readonly meters: Meters;
  readonly traces: Traces | null;
  /** Whether results of attempts can be written. */
  readonly writes: Writes;
  readonly knownSubscribers: KnownSubscribers;
  /** Jitter in [0, 1]. */
  spread(): number;
  /** Wakes the notifier's loop. */
  wake(): void;
}

export interface Notifier {
  /** Loads due deliveries and starts sending; answers how long the loop may rest. */
  tick(): Promise<Milliseconds>;
  /** Takes deliveries that were committed just now, and starts attempts; answers whether it took all. A tick finds the others. */
  takeNew(deliveries: NewDeliveries): boolean;
  /** A subscriber changed: the next tick reads the subscribers again. */
  subscribersChanged(): void;
  /** Retries or replays were requested: the next tick loads them too. */
  replayed(): void;
  /** A purchase was erased: its deliveries leave memory unsent. */
  forget(purchase: number): void;
  /** Another database answers than before: subscribers and their health are read again. */
  forgetAll(): void;
  /** Whether this replica reaches receivers, for the decision to give its shards away. */
  readonly outside: ReceiverOutside;
  /** Sends everything that is due now and waits until the results are written; `renew` renews the lease while that lasts. For tests. */
  deliverDue(renew?: () => Promise<unknown>): Promise<void>;
  /** Starts no more attempts, and waits for those under way. */
  stop(): Promise<void>;
}

export function createNotifier(options: NotifierOptions): Notifier {
  const { clock, ownership, knownSubscribers, wake } = options;
  const stopping = new AbortController();
  const stopped = stopping.signal;
  /** Of the loop that starts attempts. */
  const rest = createRest(clock);
  const startList = createStartList(rest);
  const { notes, idle, subscriberPauses, outside, settling, loading, startAttempts } = createParts(options, startList, stopped);

  const startUntilStopped = async (): Promise<void> => {
    while (!stopped.aborted) {
      for (let next = startList.take(); next !== undefined; next = startList.take()) startAttempts(next);
      await rest.take(Number.POSITIVE_INFINITY);
    }
  };
  const starting = startUntilStopped();

  ownership.onChange(({ gained, lost }) => {
    const isLost = new Set(lost);
    for (const { queue, reading } of knownSubscribers.all()) {
      queue.dropShards(isLost);
      if (gained.length > 0) reading.restart();
    }
    if (gained.length > 0) wake();
  });

  /** Resolves when no attempt is under way and all results are written. */
  const quiet = async (): Promise<void> => {
    while (notes.count > 0 || settling.pending() > 0) {
      await idle.wait();
      await settling.drain();
    }
    await subscriberPauses.quiet();
  };

  const isDone = ({ queue, reading, health, pace }: Subscriber): boolean => {
    const now = clock.now();
    if (pausedUntil(health, now) !== null || isHeldBack(pace, now)) return true;
    return queue.size === 0 && !reading.mayHoldMore;
  };

  return {
    tick: loading.tick,
    takeNew: loading.takeNew,
    subscribersChanged: loading.subscribersChanged,
    replayed: loading.replayed,
    outside,
    forget: (purchase) => {
      for (const { queue } of knownSubscribers.all()) queue.dropLane(purchase);
    },
    forgetAll: () => {
      knownSubscribers.forgetAll();
      loading.subscribersChanged();
      loading.replayed();
    },
    deliverDue: async (renew = async () => undefined) => {
      for (;;) {
        await loading.loadAll();
        await quiet();
        if (knownSubscribers.active().every(isDone)) return;
        // Waits for subscribers whose deliveries are spaced, and goes on where the lease had become too short for an attempt.
        await renew();
        await clock.sleep(20, new AbortController().signal);
      }
    },
    stop: async () => {
      stopping.abort();
      rest.wake();
      await starting;
      await quiet();
      await notes.stop();
    },
  };
}

/** The notifier's parts, each built from those before it. */
function createParts(options: NotifierOptions, startList: StartList, stopped: AbortSignal) {
  const { sql, clock, log, ownership } = options;
  const { replica } = ownership;
  const notes = createUnderWayNotes({ sql, clock, log, replica });
  const idle = createIdle(() => notes.count);
  const subscriberPauses = createSubscriberPauses({ sql, clock, log, replica });
  const loader = createDeliveryLoader({ sql, clock, ownership });
  const retryTimes = createRetryTimes(clock, SWEEP);
  const outside = createReceiverOutside({ sql, clock });
  const settling = createSettling({ ...options, subscriberPauses, loader, startList, retryTimes, outside, stopped });
  const read = oneAtATime();
  const startAttempts = createSender({
    ...options,
    ...{ subscriberPauses, notes, startList },
    batching: createMessageBatching({ sql, clock, log, read }),
    isHeld: () => stopped.aborted || settling.isStuck(),
    settle: (ended) => {
      settling.add(ended);
      idle.rouse();
    },
    onStayed: idle.rouse,
  });
  const loading = createLoading({ ...options, loader, startList, retryTimes, read });
  return { notes, idle, subscriberPauses, outside, settling, loading, startAttempts };
}

/**
 * Reads of the outbox run one after the other: a second one could load again what the first one's deliveries have settled
 * meanwhile.
 */
function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let reading: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = reading.then(work);
    reading = next.catch(() => undefined);
    return next;
  };
}
