/** Loads due deliveries into the subscribers' queues: all queues with room in one statement, because every commit triggers a load. */

import type { Ownership } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type LaneHead, loadDueDeliveries, REPLAYED, type Wanted } from '../../postgres/deliveries/deliveries.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { SubscriberPauses } from './subscriber-pauses.ts';
import type { SubscriberQueue } from './subscriber-queue.ts';

/** Deliveries in memory at most: of one subscriber, and of all. */
const MOST_OF_ONE = 4_096;
const MOST_IN_MEMORY = 16_384;
/** Rows read at once for one subscriber, alone and beside others: a backlog must not delay the new events of others. */
const MOST_AT_ONCE = 2_048;
const MOST_BESIDE = 512;
/** A subscriber with a small allowance needs no more rows than this for each delivery it may have in flight. */
const PER_FLIGHT = 64;
const LEAST = 16;
/** An event is due from the moment it was made, but visible only after its commit, usually within this time. The sweep finds later ones. */
const LATE_COMMITS: Milliseconds = 2_000;

export interface Loader {
  /**
   * Reads due deliveries for the queues with room; with `late`, retries and replays too. Answers which deliveries to put off,
   * because an earlier one of their lane is due later, and how many were taken into memory.
   */
  load(queues: readonly SubscriberQueue[], late: boolean): Promise<{ blocked: LaneHead[]; added: number }>;
  /** Whether the outbox may hold more for this queue, and the queue has room. */
  wants(queue: SubscriberQueue, parties: number): boolean;
}

export function createLoader({
  sql,
  clock,
  ownership,
  subscriberPauses,
}: {
  sql: Sql;
  clock: Clock;
  ownership: Ownership;
  subscriberPauses: SubscriberPauses;
}): Loader {
  const capacity = (parties: number): number => Math.min(MOST_OF_ONE, Math.max(Math.floor(MOST_IN_MEMORY / parties), 2 * LEAST));
  const room = (queue: SubscriberQueue, parties: number): number => {
    const most = capacity(parties);
    // Only from half of the room on: less is not worth a query.
    if (subscriberPauses.pausedUntil(queue) !== null || queue.size >= most / 2) return 0;
    const atOnce = parties > 1 ? MOST_BESIDE : MOST_AT_ONCE;
    return Math.min(most - queue.size, Math.max(PER_FLIGHT * queue.standing.allowance, LEAST), atOnce);
  };

  return {
    wants: (queue, parties) => queue.mayHoldMore && room(queue, parties) > 0,
    load: async (queues, late) => {
      const shards = ownership.owned();
      const epochs = new Map(shards.map((shard) => [shard, ownership.epochOf(shard)]));
      const parties = Math.max(queues.length, 1);
      const chosen = new Map<number, SubscriberQueue>();
      const looks = new Map<SubscriberQueue, number>();
      const wanted: Wanted[] = [];
      for (const queue of queues) {
        const free = shards.length === 0 ? 0 : room(queue, parties);
        // A queue that gets room triggers another load, as a gained shard does.
        if (free === 0) queue.mayHoldMore = shards.length > 0;
        else {
          // Now and then from the beginning, so that no due delivery is missed for good.
          const dueSince = late ? 0 : queue.readUntil;
          const isLate = late || queue.mayHoldMore;
          queue.mayHoldMore = false;
          chosen.set(queue.recipient.id, queue);
          looks.set(queue, queue.looks);
          const { id } = queue.recipient;
          wanted.push({ subscriber: id, room: isLate ? Math.ceil((free * 7) / 8) : free, from: 0, upTo: 0, dueSince });
          // A part of the room is reserved for retries and replays, or new events would keep them out for good.
          if (isLate) wanted.push({ subscriber: id, room: Math.ceil(free / 8), from: 1, upTo: REPLAYED, dueSince: 0 });
        }
      }
      const now = clock.now();
      const except = [...chosen.values()].flatMap((queue) => [...queue.ids()]);
      const { rows, more } = await loadDueDeliveries(sql, { wanted, except }, { shards, now });
      const blocked: LaneHead[] = [];
      let added = 0;
      for (const row of rows) {
        const queue = chosen.get(row.subscriber)!;
        // The subscriber was paused during the read and dropped its queue, or another replica held the shard meanwhile and may have sent the delivery.
        if (subscriberPauses.pausedUntil(queue) !== null || ownership.epochOf(row.shard) !== epochs.get(row.shard))
          queue.lookFromStart();
        else if (queue.has(row.id)) continue;
        else if (row.behind === null || queue.has(row.behind.id)) {
          queue.add(row);
          added += 1;
        } else {
          // The earlier delivery was settled just now, or is due as well and was beyond the limit of the read.
          if (row.behind.dueAt <= now) queue.lookFromStart();
          const { subscriber, lane, rank, position, behind } = row;
          const isReplayed = rank === REPLAYED;
          const { id: head, dueAt, rank: behindRank } = behind;
          blocked.push({ head, subscriber, lane, position: position - 1, isReplayed, dueAt, rank: behindRank });
        }
      }
      for (const [id, queue] of chosen) {
        const until = more.get(id);
        if (until !== undefined) queue.mayHoldMore = true;
        // Something changed during the read that only a read from the beginning finds.
        if (queue.looks !== looks.get(queue)) continue;
        // A row that is committed now may have been due a moment ago, and Postgres keeps microseconds.
        queue.readUntil = Math.max(Math.floor(Math.min(until ?? now, now - LATE_COMMITS)) - 1, 0);
      }
      return { blocked, added };
    },
  };
}
