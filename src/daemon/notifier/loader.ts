/** Fills the memory of subscribers from the outbox: for all that have room in one statement, because it follows every commit. */

import type { Ownership } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type LaneHead, loadDueDeliveries, REPLAYED, type Wanted } from '../../postgres/deliveries/deliveries.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { SubscriberPauses } from './subscriber-pauses.ts';
import type { SubscriberQueue } from './subscriber-queue.ts';

/** Deliveries in memory, of one subscriber and of all, at most. */
const MOST_OF_ONE = 4_096;
const MOST_IN_MEMORY = 16_384;
/** Read at once for one, alone or beside others: whoever has a backlog must not keep the others' news waiting. */
const MOST_AT_ONCE = 2_048;
const MOST_BESIDE = 512;
/** One that is tried, or begins slowly, needs no more than this many for each delivery it may have in flight. */
const PER_FLIGHT = 64;
const LEAST = 16;
/** An event is due from when it was made, and is there only with its commit. The sweep finds what takes longer. */
const LATE_COMMITS: Milliseconds = 2_000;

export interface Loader {
  /**
   * Reads what is due for those who have room; what is not new with `late`, and of those who may hold more. Answers what
   * has to be put off, because something before it in its lane is due later, and how many were taken into memory.
   */
  load(queues: readonly SubscriberQueue[], late: boolean): Promise<{ blocked: LaneHead[]; added: number }>;
  /** Whether there is something to read for it, and room. */
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
    // In halves: a little room is not worth a question.
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
        // Whoever makes room looks again; gaining a shard does too.
        if (free === 0) queue.mayHoldMore = shards.length > 0;
        else {
          // Now and then from the beginning, whatever is believed to be read: due is due for ever.
          const dueSince = late ? 0 : queue.readUntil;
          const isLate = late || queue.mayHoldMore;
          queue.mayHoldMore = false;
          chosen.set(queue.recipient.id, queue);
          looks.set(queue, queue.looks);
          const { id } = queue.recipient;
          wanted.push({ subscriber: id, room: isLate ? Math.ceil((free * 7) / 8) : free, from: 0, upTo: 0, dueSince });
          // A part of the room is for what is not new, or a backlog would keep it out for ever.
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
        // It was paused meanwhile, and forgot what waits; or another replica had the shard meanwhile, and may have sent it.
        if (subscriberPauses.pausedUntil(queue) !== null || ownership.epochOf(row.shard) !== epochs.get(row.shard))
          queue.lookFromStart();
        else if (queue.has(row.id)) continue;
        else if (row.behind === null || queue.has(row.behind.id)) {
          queue.add(row);
          added += 1;
        } else {
          // Its blocker was settled just now, or is due itself and was beyond the limit.
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
        // Something happened meanwhile, or was met, that only a reading from the beginning finds.
        if (queue.looks !== looks.get(queue)) continue;
        // What commits now may have been due a moment ago; and Postgres counts in parts of a millisecond.
        queue.readUntil = Math.max(Math.floor(Math.min(until ?? now, now - LATE_COMMITS)) - 1, 0);
      }
      return { blocked, added };
    },
  };
}
