/**
 * What waits in memory for one subscriber: lanes, each sent in order and one at a time, and the order among them. A
 * bounded part of the outbox; the rows stay the truth.
 */

import type { Opened } from '../../channels/recipients.ts';
import type { Patience, SubscriberHealth, Unreached } from '../../domain/deliveries/subscriber-health.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { type DueDelivery, RANKS, type Rank, REPLAYED } from '../../postgres/deliveries/deliveries.ts';
import { createQueue } from './queue.ts';

/** A subscriber with the means to reach it. */
export interface Recipient extends Opened {
  readonly id: number;
  readonly name: string;
  /** The hash of the address and key by which it is reached. */
  readonly addressHash: string;
  /** Waits after the first, second, … failure. */
  readonly schedule: readonly Milliseconds[];
  readonly patience: Patience;
}

/** How it stands with a subscriber, as `ladder.ts` keeps it. */
export interface Standing {
  health: SubscriberHealth | null;
  /** As the database has it, as far as this replica knows. */
  saved: SubscriberHealth | null;
  /** Deliveries in flight at most, by what was seen lately: it begins small after a pause and shrinks with failures. */
  allowance: number;
  /** Failures of ours in a row, since when, until when they make us wait, and what the database says of them. */
  readonly ours: {
    failures: number;
    failedAt: Instant;
    until: Instant;
    since: Instant | null;
    error: string | null;
    saved: Unreached | null;
  };
  /** Whether this replica may try a subscriber whose pause is over. */
  trying: 'no' | 'asking' | 'yes';
}

export interface SubscriberQueue {
  /** Another one when its address or keys change. */
  recipient: Recipient;
  readonly standing: Standing;
  inFlight: number;
  /** How many of them are not what is new. */
  lateInFlight: number;
  /** Moment of the monotonic clock before which nothing more is sent. */
  notBefore: Milliseconds;
  /** Until when it has had enough messages; null while it may have more. */
  heldUntil: Instant | null;
  /** The last message it took, as far as the wait after it was kept or is known to be. */
  takenAt: Instant;
  /** The outbox may hold more for it than is in memory. */
  mayHoldMore: boolean;
  /** What is new and was due before this was read, and is in memory, put off or settled. */
  readUntil: Instant;
  /** Grows with each `lookFromStart`: a reading that was under way then does not know better. */
  readonly looks: number;
  /** The outbox may hold more, and anywhere. */
  lookFromStart(): void;
  /** Ids in memory. */
  ids(): Iterable<number>;
  readonly size: number;
  /** Whether anything could be sent now. */
  readonly isReady: boolean;
  has(id: number): boolean;
  /** Takes a delivery into its lane, in the order of events and behind what is being sent. */
  add(delivery: DueDelivery): void;
  /** The next lane's first delivery that may be sent; it stays in memory until `done` or `dropLane`. `late` is room for what is not new. */
  next(late: number): DueDelivery | null;
  /** What waits behind a delivery in its lane, in order. */
  behind(delivery: DueDelivery): readonly DueDelivery[];
  /** Sends up to so many of these along with a delivery that is being sent; answers them. They share its end. */
  takeAlong(delivery: DueDelivery, most: number): readonly DueDelivery[];
  /** Puts a delivery that was taken back to the front. */
  putBack(delivery: DueDelivery): void;
  /** It was sent, with what was taken along: its lane goes on. */
  done(delivery: DueDelivery): void;
  /** Its lane is forgotten, and found in the outbox again; unless the lane was read anew since, and is not its any more. */
  giveUp(delivery: DueDelivery): void;
  /** Forgets a lane; what is in it is found in the outbox again. */
  dropLane(lane: number): void;
  dropShards(shards: ReadonlySet<number>): void;
  /** Forgets all but what is being sent. */
  dropWaiting(): void;
}

interface Lane {
  readonly id: number;
  readonly waiting: DueDelivery[];
  /** How many at its front are being sent. */
  sending: number;
  /** Among which ready ones it stands; null while it is sent or forgotten. */
  readyAt: Rank | null;
}

/** So often what is not new goes first, so that it is never starved. */
const TURN_OF_THE_LATE = 8;

/** How it stands with our failures while there are none. */
export const NEVER_FAILED: Standing['ours'] = {
  failures: 0,
  failedAt: Number.NEGATIVE_INFINITY,
  until: Number.NEGATIVE_INFINITY,
  since: null,
  error: null,
  saved: null,
};

export function createSubscriberQueue(recipient: Recipient): SubscriberQueue {
  const lanes = new Map<number, Lane>();
  const ids = new Set<number>();
  /** Lanes whose first delivery is not in flight, in the order they became so. Some entries are stale: see `readyAt`. */
  const ready = RANKS.map(() => createQueue<Lane>());
  let readyCount = 0;
  let turn = 0;
  let looks = 0;

  const setReady = (lane: Lane, front = false): void => {
    const rank = lane.waiting[0]!.rank;
    if (lane.readyAt === rank) return;
    if (lane.readyAt === null) readyCount += 1;
    lane.readyAt = rank;
    if (front) ready[rank]!.unshift(lane);
    else ready[rank]!.push(lane);
  };
  const unready = (lane: Lane): void => {
    if (lane.readyAt !== null) readyCount -= 1;
    lane.readyAt = null;
  };
  const take = (rank: Rank): DueDelivery | null => {
    for (let lane = ready[rank]!.shift(); lane !== undefined; lane = ready[rank]!.shift()) {
      if (lane.readyAt !== rank) continue;
      unready(lane);
      lane.sending = 1;
      return lane.waiting[0]!;
    }
    return null;
  };
  const drop = (lane: Lane): void => {
    for (const { id } of lane.waiting) ids.delete(id);
    // Its place among the ready ones may hold on to it for a while.
    lane.waiting.length = 0;
    unready(lane);
    lanes.delete(lane.id);
  };

  return {
    recipient,
    standing: {
      health: null,
      saved: null,
      allowance: recipient.concurrency,
      ours: { ...NEVER_FAILED },
      trying: 'no',
    },
    inFlight: 0,
    lateInFlight: 0,
    notBefore: Number.NEGATIVE_INFINITY,
    heldUntil: null,
    takenAt: Number.NEGATIVE_INFINITY,
    mayHoldMore: true,
    readUntil: 0,
    get looks() {
      return looks;
    },
    lookFromStart() {
      looks += 1;
      this.mayHoldMore = true;
      this.readUntil = 0;
    },
    ids: () => ids,
    get size() {
      return ids.size;
    },
    get isReady() {
      return readyCount > 0;
    },
    has: (id) => ids.has(id),
    add: (delivery) => {
      ids.add(delivery.id);
      const lane = lanes.get(delivery.lane);
      if (lane === undefined) {
        const made: Lane = { id: delivery.lane, waiting: [delivery], sending: 0, readyAt: null };
        lanes.set(delivery.lane, made);
        setReady(made);
        return;
      }
      const { waiting, sending } = lane;
      // Nearly always the last; one that is sent again may be older than what waits.
      let place = waiting.length;
      while (place > sending && isBehind(waiting[place - 1]!, delivery)) place -= 1;
      waiting.splice(place, 0, delivery);
      if (sending === 0) setReady(lane);
    },
    next: (late) => {
      turn += 1;
      if (late <= 0) return take(0);
      const order = turn % TURN_OF_THE_LATE === 0 ? [1, 2, 0] : RANKS;
      for (const rank of order) {
        const delivery = take(rank as Rank);
        if (delivery) return delivery;
      }
      return null;
    },
    behind: (delivery) => {
      const lane = lanes.get(delivery.lane);
      return lane?.waiting[0] === delivery ? lane.waiting.slice(1) : [];
    },
    takeAlong: (delivery, most) => {
      const lane = lanes.get(delivery.lane);
      if (lane?.waiting[0] !== delivery) return [];
      lane.sending = Math.min(1 + most, lane.waiting.length);
      return lane.waiting.slice(1, lane.sending);
    },
    putBack: (delivery) => {
      const lane = lanes.get(delivery.lane);
      if (lane?.waiting[0] !== delivery) return;
      lane.sending = 0;
      setReady(lane, true);
    },
    done: (delivery) => {
      const lane = lanes.get(delivery.lane);
      // The lane was dropped meanwhile, and may have been read anew.
      if (lane?.waiting[0]?.id !== delivery.id) return;
      // Itself at least, should the lane have been read anew.
      for (const { id } of lane.waiting.splice(0, Math.max(lane.sending, 1))) ids.delete(id);
      lane.sending = 0;
      if (lane.waiting.length > 0) return setReady(lane);
      unready(lane);
      lanes.delete(lane.id);
    },
    giveUp: (delivery) => {
      const lane = lanes.get(delivery.lane);
      if (lane?.waiting[0] === delivery) drop(lane);
    },
    dropLane: (id) => {
      const lane = lanes.get(id);
      if (lane) drop(lane);
    },
    dropShards: (shards) => {
      for (const lane of [...lanes.values()]) if (shards.has(lane.waiting[0]!.shard)) drop(lane);
    },
    dropWaiting: () => {
      for (const lane of [...lanes.values()]) {
        if (lane.sending === 0) drop(lane);
        else for (const { id } of lane.waiting.splice(lane.sending)) ids.delete(id);
      }
    },
  };
}

/** Whether `waiting` comes after `other` in their lane: what is replayed comes last, the rest in the order of events. */
function isBehind(waiting: DueDelivery, other: DueDelivery): boolean {
  const [one, two] = [waiting.rank === REPLAYED, other.rank === REPLAYED];
  return one === two ? waiting.position > other.position : one;
}
