/**
 * The deliveries in memory of one subscriber: lanes, each sent in order and one delivery at a time, and the order among
 * the lanes. A bounded part of the outbox; the rows stay the truth.
 */

import type { Opened } from '../../channels/outgoing/channel-kind.ts';
import type { Patience, SubscriberHealth, Unreached } from '../../domain/deliveries/subscriber-health.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { type DueDelivery, RANKS, type Rank, REPLAYED } from '../../postgres/deliveries/deliveries.ts';
import { createQueue } from './queue.ts';

/** A subscriber with its open channel. */
export interface Recipient extends Opened {
  readonly id: number;
  readonly name: string;
  /** The hash of the subscriber's address and keys. */
  readonly addressHash: string;
  /** Waits after the first, second, … failure. */
  readonly schedule: readonly Milliseconds[];
  readonly patience: Patience;
}

/** A subscriber's health and allowance; written by `subscriber-pauses.ts` alone. */
export interface Standing {
  health: SubscriberHealth | null;
  /** The health in the database, as this replica knows it. */
  saved: SubscriberHealth | null;
  /** Deliveries in flight at most: small after a pause, grows with successes, shrinks with failures. */
  allowance: number;
  /** Failures on this replica's side in a row, since when, until when this replica waits, and what the database has of them. */
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
  /** Replaced when the subscriber's address or keys change. */
  recipient: Recipient;
  readonly standing: Standing;
  inFlight: number;
  /** How many of them are retries or replays. */
  lateInFlight: number;
  /** Nothing is sent before this moment (monotonic clock). */
  notBefore: Milliseconds;
  /** Until when the subscriber is held back by its messages of this hour; null: it is not. */
  heldUntil: Instant | null;
  /** The last message whose spacing this replica has kept or knows to be over. */
  takenAt: Instant;
  /** The outbox may hold more for the subscriber than memory. */
  mayHoldMore: boolean;
  /** New deliveries that were due before this moment were read: they are in memory, put off or settled. */
  readUntil: Instant;
  /** Generation number, raised by `lookFromStart`; a load that began in an older generation does not move the place. */
  readonly looks: number;
  /** The next load reads from the beginning. */
  lookFromStart(): void;
  /** Ids of the deliveries in memory. */
  ids(): Iterable<number>;
  readonly size: number;
  /** Whether a delivery could be sent now. */
  readonly isReady: boolean;
  has(id: number): boolean;
  /** Adds a delivery to its lane, in the order of events and behind the deliveries being sent. */
  add(delivery: DueDelivery): void;
  /** The first delivery of the next lane that may be sent; it stays in memory until `done` or `dropLane`. `late`: how many retries or replays may start. */
  next(late: number): DueDelivery | null;
  /** The deliveries behind a delivery in its lane, in order. */
  behind(delivery: DueDelivery): readonly DueDelivery[];
  /** Marks up to so many of these as sent in the same message as a delivery; answers them. They are settled with it. */
  takeAlong(delivery: DueDelivery, most: number): readonly DueDelivery[];
  /** Puts a delivery that was taken but not sent back to the front. */
  putBack(delivery: DueDelivery): void;
  /** The delivery and those of the same message were sent: the lane continues. */
  done(delivery: DueDelivery): void;
  /** Drops the delivery's lane, which is loaded from the outbox again; not when the lane was loaded again since. */
  giveUp(delivery: DueDelivery): void;
  /** Drops a lane, which is loaded from the outbox again. */
  dropLane(lane: number): void;
  dropShards(shards: ReadonlySet<number>): void;
  /** Drops all but the deliveries being sent. */
  dropWaiting(): void;
}

interface Lane {
  readonly id: number;
  readonly waiting: DueDelivery[];
  /** How many deliveries at the front are being sent. */
  sending: number;
  /** The list of ready lanes in which the lane stands; null while it is being sent, or dropped. */
  readyAt: Rank | null;
}

/** One in so many deliveries is a retry or replay, if one waits, so that new ones never starve them. */
const TURN_OF_THE_LATE = 8;

/** No failures on this replica's side. */
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
  /** Lanes whose first delivery is not in flight, in the order in which they became ready. Some entries are stale: see `readyAt`. */
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
    // A stale entry in the list of ready lanes may keep the lane in memory for a while, so it is emptied.
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
      // A new delivery is nearly always the last; a retry may be older than those that wait.
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
      // The lane was dropped meanwhile, and may have been loaded again.
      if (lane?.waiting[0]?.id !== delivery.id) return;
      // At least the delivery itself, in case the lane was loaded again.
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

/** Whether `waiting` comes after `other` in their lane: replays come last, the rest in the order of events. */
function isBehind(waiting: DueDelivery, other: DueDelivery): boolean {
  const [one, two] = [waiting.rank === REPLAYED, other.rank === REPLAYED];
  return one === two ? waiting.position > other.position : one;
}
