/** Delivers due events: to each subscriber, each purchase's events in order, one after the other. */

import type { Ownership } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { nextDue, putOff } from '../../postgres/deliveries/deliveries.ts';
import type { Clock, FollowingClock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createBatcher } from '../../runtime/loops/batch.ts';
import type { Writes } from '../../runtime/loops/health.ts';
import { createIdle } from '../../runtime/loops/idle.ts';
import type { Meters } from '../../runtime/meters.ts';
import { type Job, report, settlementOf, settleSurely } from './delivery-results.ts';
import type { KnownSubscribers } from './known-subscribers.ts';
import { createLoader } from './loader.ts';
import { createMessageBatching, isHeldBack } from './message-batching.ts';
import { createReceiverOutside, type ReceiverOutside } from './receiver-outside.ts';
import { createSender, type Ended } from './sender.ts';
import { createSubscriberPauses } from './subscriber-pauses.ts';
import { createUnderWayNotes } from './under-way.ts';

export interface NotifierOptions {
  readonly sql: Sql;
  readonly clock: Clock & Partial<Pick<FollowingClock, 'wall'>>;
  readonly log: Logger;
  readonly ownership: Ownership;
  readonly meters: Meters;
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
  /** A subscriber changed: the next tick reads the subscribers again. */
  subscribersChanged(): void;
  /** Retries or replays were requested: the next tick loads them too. */
  replayed(): void;
  /** A purchase was erased: its deliveries leave memory unsent. */
  forget(purchase: number): void;
  /** Whether this replica reaches receivers, for the decision to give its shards away. */
  readonly outside: ReceiverOutside;
  /** Sends everything that is due now and waits until the results are written. For tests. */
  deliverDue(): Promise<void>;
  /** Starts no more attempts, and waits for those under way. */
  stop(): Promise<void>;
}

/** Without a wake-up, the loop loads this often. */
const SWEEP: Milliseconds = 5_000;
/** While there is more to load, the loop runs again after this. */
const SOON: Milliseconds = 5;
const WAITING_FOR_EARLIER: Milliseconds = 50;
/** Retries that fall due within this time are loaded together. */
const BETWEEN_RETRIES: Milliseconds = 250;
/** Results written in one statement at most, and the pause between two statements under load: larger batches cost less per result. */
const MOST_SETTLED = 1_000;
const BETWEEN_SETTLINGS: Milliseconds = 30;

export function createNotifier(options: NotifierOptions): Notifier {
  const { sql, clock, log, ownership, meters, writes, knownSubscribers, spread, wake } = options;
  /** When the next known retry is due, and when to ask the database again (monotonic clock). */
  let nextRetryAt = Number.POSITIVE_INFINITY;
  let lookAgainAt = Number.NEGATIVE_INFINITY;
  /** The subscribers must be read before the next load; true at the start. */
  let changed = true;
  /** Retries or replays were requested since the last load. */
  let isReplay = false;
  const stopping = new AbortController();
  const stopped = stopping.signal;
  /** Results cannot be written, so nothing is sent. */
  let isUnsettled = false;
  const notes = createUnderWayNotes({ sql, clock, log, replica: ownership.replica });
  const idle = createIdle(() => notes.count);
  const subscriberPauses = createSubscriberPauses({ sql, clock, log, replica: ownership.replica });
  const loader = createLoader({ sql, clock, ownership, subscriberPauses });

  const outside = createReceiverOutside({ sql, clock });
  const onEnded = ({ queue, delivery, epoch, result, off, along, isReplaced }: Ended): void => {
    const { recipient } = queue;
    outside.ended(queue, result);
    const now = clock.now();
    const settlement = settlementOf(queue, delivery, result, { now, spread: spread(), isReplaced });
    // Deliveries of the same message share its success. A failure counts for the first one; the others wait behind it.
    const others = result.kind === 'delivered' ? along : [];
    const shared = others.map((each) => settlementOf(queue, each, result, { now, spread: 0, isReplaced }));
    if (result.kind === 'delivered') queue.takenAt = Math.max(queue.takenAt, now);
    if (others.length > 0) log.info({ subscriber: recipient.name, events: 1 + others.length }, 'delivery.together');
    for (const { event } of others) meters.subscriber(recipient.name).attempted('delivered', now - event.createdAt);
    report(log, queue, delivery, settlement, off);
    const outcome = result.kind === 'failed' && settlement.status === 'exhausted' ? 'exhausted' : result.kind;
    meters.subscriber(recipient.name).attempted(outcome, settlement.at - delivery.event.createdAt);
    if (settlement.status === 'pending' && off === null) nextRetryAt = Math.min(nextRetryAt, settlement.dueAt);
    settlements.add({ queue, delivery, epoch, off, settlement, along: shared });
    idle.rouse();
  };
  /** Reads of the outbox run one after the other: a second one could load again what the first one's deliveries have settled meanwhile. */
  let reading: Promise<unknown> = Promise.resolve();
  const read = <T>(work: () => Promise<T>): Promise<T> => {
    const next = reading.then(work);
    reading = next.catch(() => undefined);
    return next;
  };
  const batching = createMessageBatching({ sql, clock, log, read });
  const sender = createSender({
    clock,
    ownership,
    knownSubscribers,
    subscriberPauses,
    notes,
    batching,
    onEnded,
    onStayed: idle.rouse,
  });

  ownership.onChange(({ gained, lost }) => {
    for (const queue of knownSubscribers.all()) {
      queue.dropShards(new Set(lost));
      if (gained.length > 0) queue.lookFromStart();
    }
    if (gained.length > 0) wake();
  });

  const flush = async (jobs: readonly Job[]): Promise<void> => {
    const onTrouble = (): void => {
      isUnsettled = true;
      sender.hold(true);
    };
    const { written, unwritable } = await settleSurely(jobs, {
      sql,
      clock,
      log,
      ownership,
      subscriberPauses,
      writes,
      stopped,
      onTrouble,
    });
    if (isUnsettled && !stopped.aborted) {
      isUnsettled = false;
      sender.hold(false);
      // All subscribers waited for the database, so all may send again.
      wake();
    }
    const queues = new Set<Job['queue']>();
    for (const { queue, delivery, settlement, epoch, along } of jobs) {
      queues.add(queue);
      ownership.end(delivery.shard, epoch);
      // The delivery stays in memory as sent, so that it is not sent again; after a restart it is loaded from the outbox.
      if (unwritable.has(delivery.id)) continue;
      const isSettled = written.has(delivery.id) && settlement.status !== 'pending';
      if (isSettled) queue.done(delivery);
      else queue.giveUp(delivery);
      // The delivery waits for a retry, its shard was lost, or deliveries behind it became due: the outbox has to be read again.
      if (!isSettled) queue.lookFromStart();
      else if (settlement.number > 1 || along.length > 0) queue.mayHoldMore = true;
    }
    const parties = knownSubscribers.count();
    for (const queue of queues) {
      sender.pump(queue);
      if (loader.wants(queue, parties)) wake();
    }
  };
  const settlements = createBatcher<Job>(flush, { most: MOST_SETTLED, linger: 0, spacing: BETWEEN_SETTLINGS, parallel: 1 });

  /** Loads for all subscribers and starts attempts; a subscriber that was off or paused continues with its queue. Answers how many deliveries were loaded. */
  const readAndStart = async (late: boolean): Promise<number> => {
    const queues = knownSubscribers.active();
    const { blocked, added } = await loader.load(queues, late);
    // The database answered, so the pause after failures ends.
    sender.hold(stopped.aborted || isUnsettled);
    for (const queue of queues) sender.pump(queue);
    await putOff(sql, blocked);
    return added;
  };
  const load = (late: boolean): Promise<number> => read(() => readAndStart(late));

  /** Resolves when no attempt is under way and all results are written. */
  const quiet = async (): Promise<void> => {
    while (notes.count > 0 || settlements.pending() > 0) {
      await idle.wait();
      await settlements.drain();
    }
    await subscriberPauses.quiet();
  };

  const lookWhoIsTold = async (): Promise<void> => {
    changed = false;
    try {
      await knownSubscribers.refresh(subscriberPauses.heard);
    } catch (error) {
      changed = true;
      throw error;
    }
  };
  /** Reads the subscribers and when the next retry is due: now and then, not with every wake-up. */
  const lookAround = async (): Promise<void> => {
    await lookWhoIsTold();
    const now = clock.now();
    const due = knownSubscribers.active().filter((queue) => subscriberPauses.pausedUntil(queue) === null);
    const subscribers = due.map(({ recipient }) => recipient.id);
    // Failures during the query are noted as well, and the earlier moment wins.
    nextRetryAt = Number.POSITIVE_INFINITY;
    const next = (await nextDue(sql, { subscribers, shards: ownership.owned(), now })) ?? now + SWEEP;
    nextRetryAt = Math.min(nextRetryAt, Math.max(next, now + BETWEEN_RETRIES));
    lookAgainAt = clock.monotonic() + SWEEP;
  };

  return {
    tick: async () => {
      if (changed) await lookWhoIsTold();
      const isLate = isReplay || clock.monotonic() >= lookAgainAt || clock.now() >= nextRetryAt;
      isReplay = false;
      const added = await load(isLate);
      if (isLate) await lookAround();
      const parties = knownSubscribers.count();
      // More is waiting but nothing could be loaded: earlier deliveries are being put off or sent.
      if (knownSubscribers.active().some((queue) => loader.wants(queue, parties))) return added > 0 ? SOON : WAITING_FOR_EARLIER;
      const pauses = knownSubscribers.active().map((queue) => subscriberPauses.pausedUntil(queue) ?? Number.POSITIVE_INFINITY);
      return Math.min(Math.max(Math.min(nextRetryAt, ...pauses) - clock.now(), SOON), SWEEP);
    },
    outside,
    forget: (purchase) => {
      for (const queue of knownSubscribers.all()) queue.dropLane(purchase);
    },
    replayed: () => {
      isReplay = true;
    },
    subscribersChanged: () => {
      changed = true;
    },
    deliverDue: async () => {
      for (;;) {
        await lookAround();
        await load(true);
        await quiet();
        const rest = knownSubscribers
          .active()
          .filter((queue) => subscriberPauses.pausedUntil(queue) === null && !isHeldBack(queue, clock.now()));
        if (rest.every((queue) => queue.size === 0 && !queue.mayHoldMore)) break;
        // Waits for subscribers whose deliveries are spaced.
        await clock.sleep(20, new AbortController().signal);
      }
    },
    stop: async () => {
      stopping.abort();
      sender.hold(true);
      await quiet();
      await notes.stop();
    },
  };
}
