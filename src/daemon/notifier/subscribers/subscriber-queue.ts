/**
 * The deliveries in memory of one subscriber: lanes, each sent in order and one delivery at a time. A bounded part of the
 * outbox; the rows stay the truth.
 */

import { type DueDelivery, REPLAYED } from '../../../postgres/deliveries/deliveries.ts';
import { createReadyLanes, type Lane } from './ready-lanes.ts';

export type SubscriberQueue = ReturnType<typeof createSubscriberQueue>;

/** No deliveries. */
export function createSubscriberQueue() {
  const lanes = new Map<number, Lane>();
  const known = new Map<number, DueDelivery>();
  /** Lanes whose first delivery is not in flight. */
  const ready = createReadyLanes();

  /** The lane whose first delivery this is; undefined when the lane was dropped, or loaded again since. */
  const laneOf = (delivery: DueDelivery): Lane | undefined => {
    const lane = lanes.get(delivery.lane);
    return lane?.waiting[0] === delivery ? lane : undefined;
  };
  const drop = (lane: Lane): void => {
    for (const { id } of lane.waiting) known.delete(id);
    // A stale entry in the list of ready lanes may keep the lane in memory for a while, so it is emptied.
    lane.waiting.length = 0;
    ready.remove(lane);
    lanes.delete(lane.id);
  };

  return {
    ids: (): Iterable<number> => known.keys(),
    get size() {
      return known.size;
    },
    /** Whether a delivery could be sent now. */
    get isReady() {
      return !ready.isEmpty;
    },
    get: (id: number): DueDelivery | undefined => known.get(id),
    /** Adds a delivery to its lane, in the order of events and behind the deliveries being sent. */
    add: (delivery: DueDelivery): void => {
      known.set(delivery.id, delivery);
      let lane = lanes.get(delivery.lane);
      if (lane === undefined) {
        lane = { id: delivery.lane, waiting: [], sending: 0, readyAt: null };
        lanes.set(delivery.lane, lane);
      }
      insert(delivery, lane);
      if (lane.sending === 0) ready.add(lane);
    },
    /** The first delivery of the next lane that may be sent; it stays in memory until `done` or `dropLane`. `late`: how many retries or replays may start. */
    next: (late: number): DueDelivery | null => {
      const lane = ready.next(late);
      if (lane === null) return null;
      lane.sending = 1;
      return lane.waiting[0]!;
    },
    /** The deliveries behind a delivery in its lane, in order. */
    behind: (delivery: DueDelivery): readonly DueDelivery[] => laneOf(delivery)?.waiting.slice(1) ?? [],
    /** Marks up to so many of these as sent in the same message as a delivery; answers them. They are settled with it. */
    takeAlong: (delivery: DueDelivery, most: number): readonly DueDelivery[] => {
      const lane = laneOf(delivery);
      if (lane === undefined) return [];
      lane.sending = Math.min(1 + most, lane.waiting.length);
      return lane.waiting.slice(1, lane.sending);
    },
    /** Puts a delivery that was taken but not sent back to the front. */
    putBack: (delivery: DueDelivery): void => {
      const lane = laneOf(delivery);
      if (lane === undefined) return;
      lane.sending = 0;
      ready.add(lane, true);
    },
    /** The delivery and those of the same message were sent: the lane continues. */
    done: (delivery: DueDelivery): void => {
      const lane = lanes.get(delivery.lane);
      // The lane was dropped meanwhile, and may have been loaded again.
      if (lane?.waiting[0]?.event.id !== delivery.event.id) return;
      // At least the delivery itself, in case the lane was loaded again.
      for (const { id } of lane.waiting.splice(0, Math.max(lane.sending, 1))) known.delete(id);
      lane.sending = 0;
      if (lane.waiting.length > 0) {
        ready.add(lane);
        return;
      }
      ready.remove(lane);
      lanes.delete(lane.id);
    },
    /** Drops the delivery's lane, which is loaded from the outbox again; not when the lane was loaded again since. */
    giveUp: (delivery: DueDelivery): void => {
      const lane = laneOf(delivery);
      if (lane) drop(lane);
    },
    dropLane: (id: number): void => {
      const lane = lanes.get(id);
      if (lane) drop(lane);
    },
    dropShards: (shards: ReadonlySet<number>): void => {
      for (const lane of [...lanes.values()]) if (shards.has(lane.waiting[0]!.shard)) drop(lane);
    },
    /** Drops all but the deliveries being sent. */
    dropWaiting: (): void => {
      for (const lane of [...lanes.values()]) {
        if (lane.sending === 0) drop(lane);
        else for (const { id } of lane.waiting.splice(lane.sending)) known.delete(id);
      }
    },
  };
}

function insert(delivery: DueDelivery, { waiting, sending }: Lane): void {
  // A new delivery is nearly always the last; a retry may be older than those that wait.
  let place = waiting.length;
  while (place > sending && isBehind(waiting[place - 1]!, delivery)) place -= 1;
  waiting.splice(place, 0, delivery);
}

/** Whether `waiting` comes after `other` in their lane: replays come last, the rest in the order of events. */
function isBehind(waiting: DueDelivery, other: DueDelivery): boolean {
  const [one, two] = [waiting.rank === REPLAYED, other.rank === REPLAYED];
  return one === two ? waiting.position > other.position : one;
}
