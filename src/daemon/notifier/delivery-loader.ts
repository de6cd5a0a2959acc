/** Loads due deliveries into the subscribers' queues: all queues with room in one statement, because every commit triggers a load. */

import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import {
  type DueDelivery,
  type LaneHead,
  loadDueDeliveries,
  REPLAYED,
  type Wanted,
} from '../../postgres/deliveries/deliveries.ts';
import type { NewDeliveries } from '../../postgres/deliveries/new-deliveries.ts';
import type { Deps } from '../deps.ts';
import { pausedUntil } from './subscribers/health-in-memory.ts';
import type { Subscriber } from './subscribers/subscriber.ts';

/** Deliveries in memory at most: of one subscriber, and of all. */
const MOST_OF_ONE = 4_096;
const MOST_IN_MEMORY = 16_384;
/** Rows read at once for one subscriber, alone and beside others: a backlog must not delay the new events of others. */
const MOST_AT_ONCE = 2_048;
const MOST_BESIDE = 512;
/** Each subscriber's part of the memory, however many there are. */
const LEAST_OF_ONE = 32;
/** A subscriber with a small allowance needs no more rows than this for each delivery it may have in flight. */
const PER_FLIGHT = 64;
/** An event is due from the moment it was made, but visible only after its commit, usually within this time. The sweep finds later ones. */
const LATE_COMMITS: Milliseconds = 2_000;

export type DeliveryLoader = ReturnType<typeof createDeliveryLoader>;

/** One read of the outbox. */
interface Load {
  readonly now: Instant;
  readonly wanted: readonly Wanted[];
  /** By subscriber. `end` takes where the read ended. */
  readonly reads: Map<number, { readonly subscriber: Subscriber; readonly end: ReturnType<Subscriber['reading']['begin']> }>;
}

export function createDeliveryLoader({ sql, clock, ownership }: Pick<Deps, 'sql' | 'clock' | 'ownership'>) {
  /** Ids that `takeNew` took since the last load began: such a delivery may be settled before that load's rows arrive. */
  const takenMeanwhile = new Set<number>();

  const plan = (subscribers: readonly Subscriber[], late: boolean, hasShards: boolean): Load => {
    const now = clock.now();
    const wanted: Wanted[] = [];
    const reads: Load['reads'] = new Map();
    for (const subscriber of subscribers) {
      const { reading, recipient } = subscriber;
      const free = hasShards ? roomOf(subscriber, subscribers.length, now) : 0;
      // A queue that gets room triggers another load, as a gained shard does.
      if (free === 0) reading.expectMore(hasShards);
      else {
        wanted.push(...wantedOf(subscriber, free, late));
        reads.set(recipient.id, { subscriber, end: reading.begin() });
      }
    }
    return { now, wanted, reads };
  };

  /** Takes a row into memory; answers whether it did, or the row's lane where an earlier delivery keeps it back. */
  const take = (row: DueDelivery, { queue, reading, health }: Subscriber, isHeld: boolean, now: Instant): boolean | LaneHead => {
    // The subscriber was paused during the read and dropped its queue, or another replica held the shard meanwhile and may have sent the delivery.
    if (!isHeld || pausedUntil(health, clock.now()) !== null) reading.restart();
    else if (isInMemory(row, { queue, reading })) return false;
    else if (takenMeanwhile.has(row.id)) reading.restart();
    else if (row.behind === null || isBefore(queue.get(row.behind.id), row.behind, row.lane)) {
      queue.add(row);
      return true;
    } else {
      const { subscriber, lane, rank, position, behind } = row;
      // The earlier delivery was settled just now, or is due as well and was beyond the limit of the read.
      if (behind.dueAt <= now) reading.restart();
      const isReplayed = rank === REPLAYED;
      return { head: behind.id, subscriber, lane, position: position - 1, isReplayed, dueAt: behind.dueAt, rank: behind.rank };
    }
    return false;
  };

  /** Whether the delivery is in memory now. One that a load may have taken before is left to the next load. */
  const takeOne = (delivery: DueDelivery, subscriber: Subscriber | undefined, parties: number, now: Instant): boolean => {
    if (subscriber === undefined || subscriber.recipient.channel.sendAll !== undefined) return false;
    const { reading } = subscriber;
    if (isInMemory(delivery, subscriber)) return true;
    // Older ones that wait outside of memory come first.
    if (delivery.id <= reading.highestRead || !reading.isCaughtUp || roomOf(subscriber, parties, now) === 0) return false;
    if (take(delivery, subscriber, true, now) !== true) return false;
    takenMeanwhile.add(delivery.id);
    return true;
  };

  return {
    /** Takes deliveries that were committed just now; answers whether it took all. A load finds the others. `subscribers`: the active ones. */
    takeNew: ({ rows, isComplete }: NewDeliveries, subscribers: readonly Subscriber[]): boolean => {
      const known = new Map(subscribers.map((subscriber) => [subscriber.recipient.id, subscriber]));
      const now = clock.now();
      // After one that stays outside, a later one could be of the same lane.
      const left = new Set<number>();
      for (const delivery of rows) {
        const { subscriber } = delivery;
        if (left.has(subscriber) || !takeOne(delivery, known.get(subscriber), subscribers.length, now)) left.add(subscriber);
      }
      for (const id of left) known.get(id)?.reading.expectMore(true);
      return isComplete && left.size === 0;
    },
    wants: (subscriber: Subscriber, parties: number): boolean =>
      subscriber.reading.mayHoldMore && roomOf(subscriber, parties, clock.now()) > 0,
    /** Reads due deliveries; with `late`, retries and replays too. Answers which to put off behind an earlier one, and how many are in memory now. */
    load: async (subscribers: readonly Subscriber[], late: boolean): Promise<{ blocked: LaneHead[]; added: number }> => {
      const shards = ownership.owned();
      const epochs = new Map(shards.map((shard) => [shard, ownership.epochOf(shard)]));
      const { now, wanted, reads } = plan(subscribers, late, shards.length > 0);
      const except = [...reads.values()].flatMap(({ subscriber: { queue } }) => [...queue.ids()]);
      takenMeanwhile.clear();
      const { rows, more } = await loadDueDeliveries(sql, { wanted, except }, { shards, now });
      const taken = rows.map((row) => {
        const { subscriber } = reads.get(row.subscriber)!;
        subscriber.reading.found(row.id);
        return take(row, subscriber, ownership.epochOf(row.shard) === epochs.get(row.shard), now);
      });
      for (const [id, { end }] of reads) {
        const until = more.get(id);
        // A row that is committed now may have been due a moment ago, and Postgres keeps microseconds.
        end(Math.max(Math.floor(Math.min(until ?? now, now - LATE_COMMITS)) - 1, 0), until !== undefined);
      }
      const blocked = taken.filter((each) => typeof each !== 'boolean');
      return { blocked, added: taken.filter((each) => each === true).length };
    },
  };
}

/**
 * Whether memory holds this delivery. Another one with the same id was lost by a database that went back and handed the id out
 * again: it leaves memory.
 */
function isInMemory({ id, event }: DueDelivery, { queue, reading }: Pick<Subscriber, 'queue' | 'reading'>): boolean {
  const known = queue.get(id);
  if (known?.event.id === event.id) return true;
  if (known === undefined) return false;
  queue.dropLane(known.lane);
  reading.restart();
  return false;
}

/** Whether a delivery in memory is the one that a row of a lane must wait for. */
const isBefore = (known: DueDelivery | undefined, { position }: { readonly position: number }, lane: number): boolean =>
  known?.lane === lane && known.position === position;

/** How many more deliveries the subscriber's queue takes; 0: none that are worth a query. `parties`: how many share the memory. */
function roomOf({ queue, health }: Subscriber, parties: number, now: Instant): number {
  const most = Math.min(MOST_OF_ONE, Math.max(Math.floor(MOST_IN_MEMORY / parties), LEAST_OF_ONE));
  // Only from half of the room on: less is not worth a query.
  if (pausedUntil(health, now) !== null || queue.size >= most / 2) return 0;
  const atOnce = parties > 1 ? MOST_BESIDE : MOST_AT_ONCE;
  return Math.min(most - queue.size, PER_FLIGHT * health.allowance, atOnce);
}

/** The reads for a subscriber with so much room. */
function wantedOf({ recipient, reading }: Subscriber, free: number, late: boolean): Wanted[] {
  // Now and then from the beginning, so that no due delivery is missed for good.
  const dueSince = late ? 0 : reading.readUntil;
  const { id } = recipient;
  const newOnes = { subscriber: id, from: 0, upTo: 0, dueSince } as const;
  if (!late && !reading.mayHoldMore) return [{ ...newOnes, room: free }];
  // A part of the room is reserved for retries and replays, or new events would keep them out for good.
  const lateOnes = { subscriber: id, room: Math.ceil(free / 8), from: 1, upTo: REPLAYED, dueSince: 0 } as const;
  return [{ ...newOnes, room: Math.ceil((free * 7) / 8) }, lateOnes];
}
