/** Delivers due events: to each subscriber, each purchase's events in order, one after the other. */

import { createIdle } from '../../runtime/loops/idle.ts';
import { createRest } from '../../runtime/loops/rest.ts';
import type { Deps } from '../deps.ts';
import { createDeliveryLoader } from './delivery-loader.ts';
import { createLoading, SWEEP } from './loading.ts';
import { createReceiverOutside } from './receiver-outside.ts';
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

interface NotifierOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'ownership' | 'meters' | 'traces' | 'writes' | 'spread'> {
  readonly knownSubscribers: KnownSubscribers;
  /** Wakes the notifier's loop. */
  wake(): void;
}

export type Notifier = ReturnType<typeof createNotifier>;

export function createNotifier(options: NotifierOptions) {
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
    ...loading,
    /** Whether this replica reaches receivers, for the decision to give its shards away. */
    outside,
    /** A purchase was erased: its deliveries leave memory unsent. */
    forget: (purchase: number): void => {
      for (const { queue } of knownSubscribers.all()) queue.dropLane(purchase);
    },
    /** Another database answers than before: subscribers and their health are read again. */
    forgetAll: (): void => {
      knownSubscribers.forgetAll();
      loading.subscribersChanged();
      loading.replayed();
    },
    /** Sends everything that is due now and waits until the results are written; `renew` renews the lease while that lasts. For tests. */
    deliverDue: async (renew: () => Promise<unknown> = async () => undefined): Promise<void> => {
      for (;;) {
        await loading.loadAll();
        await quiet();
        if (knownSubscribers.active().every(isDone)) return;
        // Waits for subscribers whose deliveries are spaced, and goes on where the lease had become too short for an attempt.
        await renew();
        await clock.sleep(20, new AbortController().signal);
      }
    },
    /** Starts no more attempts, and waits for those under way. */
    stop: async (): Promise<void> => {
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
    subscriberPauses,
    notes,
    startList,
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
