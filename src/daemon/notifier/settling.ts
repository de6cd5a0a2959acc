/** Settles attempts that ended: decides the next state of each delivery, writes the results in batches, and applies what was written. */

import type { Milliseconds } from '../../domain/values/time.ts';
import type { Settlement } from '../../postgres/deliveries/settle.ts';
import { createBatcher } from '../../runtime/loops/batch.ts';
import type { Deps } from '../deps.ts';
import type { DeliveryLoader } from './delivery-loader.ts';
import { report, type Settled, settlementOf, settleSurely } from './delivery-results.ts';
import { type AttemptResult, createRestingResults } from './locked-results.ts';
import type { ReceiverOutside } from './receiver-outside.ts';
import type { RetryTimes } from './retry-times.ts';
import type { EndedAttempt } from './sending/attempts.ts';
import type { StartList } from './sending/start-list.ts';
import { pausedUntil } from './subscribers/health-in-memory.ts';
import type { KnownSubscribers } from './subscribers/known-subscribers.ts';
import { noteMessage } from './subscribers/pace.ts';
import type { Subscriber } from './subscribers/subscriber.ts';
import type { SubscriberPauses } from './subscribers/subscriber-pauses.ts';

interface SettlingOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'ownership' | 'meters' | 'writes' | 'spread'> {
  readonly knownSubscribers: KnownSubscribers;
  readonly subscriberPauses: SubscriberPauses;
  readonly loader: DeliveryLoader;
  readonly startList: StartList;
  readonly retryTimes: RetryTimes;
  readonly outside: ReceiverOutside;
  /** The notifier stops: results that cannot be written are given up. */
  readonly stopped: AbortSignal;
  /** Wakes the notifier's loop, which loads deliveries. */
  wake(): void;
}

/** Results written in one statement at most, and the pause between two statements under load: larger batches cost less per result. */
const BATCHES = { most: 1_000, spacing: (): Milliseconds => 30, parallel: 1 };

/** Answers what ends the present pause between two tries: the daemon stops, or the database confirms renewals again. */
function createPauseEnd({ ownership, stopped }: Pick<SettlingOptions, 'ownership' | 'stopped'>): () => AbortSignal {
  let back = new AbortController();
  ownership.onBack(() => {
    back.abort();
    back = new AbortController();
  });
  return () => AbortSignal.any([stopped, back.signal]);
}

export function createSettling(options: SettlingOptions) {
  const { log, meters, ownership, knownSubscribers, loader, startList, retryTimes, outside, stopped, spread } = options;
  const pauseEnd = createPauseEnd(options);
  let isStuck = false;
  const onTrouble = (): void => {
    isStuck = true;
  };

  const resultOf = ({ subscriber, delivery, epoch, result, at: now, off, along, isReplaced }: EndedAttempt): AttemptResult => {
    const settlement = settlementOf(subscriber, delivery, result, { now, spread: spread(), isReplaced });
    const shared = along.map((each) => settlementOf(subscriber, each, result, { now, spread: 0, isReplaced }));
    return { subscriber, delivery, epoch, off, settlement, along: shared };
  };

  const count = ({ subscriber, delivery, result, along }: EndedAttempt, { at, status }: Settlement): void => {
    const { name } = subscriber.recipient;
    const meter = meters.subscriber(name);
    if (along.length > 0) log.info({ subscriber: name, events: 1 + along.length }, 'delivery.together');
    for (const { event } of along) meter.attempted('delivered', at - event.createdAt, event.id);
    const outcome = status === 'exhausted' ? status : result.kind;
    meter.attempted(outcome, at - delivery.event.createdAt, delivery.event.id);
  };

  /** Takes a written result over into memory. */
  const apply = ({ subscriber, delivery, settlement, along }: AttemptResult, { written, unwritable }: Settled): void => {
    const { queue, reading } = subscriber;
    // The delivery stays in memory as sent, so that it is not sent again; after a restart it is loaded from the outbox.
    if (unwritable.has(delivery.id)) return;
    if (written.has(delivery.id) && settlement.status !== 'pending') {
      queue.done(delivery);
      // Deliveries behind it became due.
      if (settlement.number > 1 || along.length > 0) reading.expectMore(true);
      return;
    }
    // The delivery waits for a retry, or its shard was lost: the outbox has to be read again.
    queue.giveUp(delivery);
    reading.restart();
  };

  const flush = async (results: readonly AttemptResult[]): Promise<void> => {
    const settled = await settleSurely(results, { ...options, onTrouble, pauseEnd });
    const wasStuck = isStuck && !stopped.aborted;
    if (wasStuck) isStuck = false;
    resting.add(settled.locked);
    const waiting = new Set(settled.locked.map(({ delivery }) => delivery));
    const subscribers = new Set<Subscriber>();
    for (const result of results) {
      if (waiting.has(result.delivery)) continue;
      subscribers.add(result.subscriber);
      ownership.end(result.delivery.shard, result.epoch);
      apply(result, settled);
    }
    const parties = knownSubscribers.count();
    let isWanted = wasStuck;
    for (const subscriber of subscribers) {
      startList.add(subscriber);
      isWanted ||= loader.wants(subscriber, parties);
    }
    // All subscribers waited for the database, or there is room for more.
    if (isWanted) options.wake();
  };
  const batcher = createBatcher(flush, BATCHES);
  const resting = createRestingResults(options, batcher.add);

  return {
    add: (ended: EndedAttempt): void => {
      const { subscriber, delivery, result, off } = ended;
      outside.ended(subscriber, result);
      // Deliveries of the same message share its success. A failure counts for the first one; the others wait behind it.
      const counted = result.kind === 'delivered' ? ended : { ...ended, along: [] };
      const settled = resultOf(counted);
      const { settlement } = settled;
      if (result.kind === 'delivered') noteMessage(subscriber.pace, settlement.at);
      count(counted, settlement);
      report(log, subscriber, delivery, settlement, off);
      // A pause that begins here ends for the subscriber's other deliveries, too.
      const until = pausedUntil(subscriber.health, settlement.at) ?? settlement.dueAt;
      if (settlement.status === 'pending' && off === null && retryTimes.note(Math.min(settlement.dueAt, until))) options.wake();
      batcher.add(settled);
    },
    /** Results that are not written yet. */
    pending: (): number => batcher.pending() + resting.count(),
    drain: async (): Promise<void> => {
      await resting.over();
      await batcher.drain();
    },
    /** Whether results cannot be written at present, so that nothing more should be sent. */
    isStuck: (): boolean => isStuck,
  };
}
