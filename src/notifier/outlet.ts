/**
 * What waits in memory for one subscriber: lanes, each sent in order and one at a time. A bounded part of the outbox;
 * the rows stay the truth.
 */
import type { Milliseconds } from '../core/purchase.ts';
import type { DueDelivery } from '../store/deliveries.ts';
import type { Channel } from './channel.ts';

/** A subscriber with the means to reach it. */
export interface Recipient {
  readonly id: number;
  readonly name: string;
  readonly channel: Channel;
  /** Deliveries in flight at most. */
  readonly concurrency: number;
  /** From one delivery to the next; Slack wants a second. */
  readonly spacing: Milliseconds;
  /** One attempt, headers and body. */
  readonly timeout: Milliseconds;
  /** Waits after the first, second, … failure. */
  readonly schedule: readonly Milliseconds[];
}

export interface Outlet {
  /** Another one when its address or keys change. */
  recipient: Recipient;
  inFlight: number;
  /** Moment of the monotonic clock before which nothing more is sent. */
  notBefore: Milliseconds;
  /** The outbox may hold more for it than is in memory. */
  mayHoldMore: boolean;
  /** Ids in memory. */
  ids(): number[];
  readonly size: number;
  has(id: number): boolean;
  /** Takes a delivery into its lane, in the order of events and behind what is being sent. */
  add(delivery: DueDelivery): void;
  /** The next lane's first delivery that may be sent; it stays in memory until `done` or `dropLane`. */
  next(): DueDelivery | null;
  /** Puts a delivery that was taken back to the front. */
  putBack(delivery: DueDelivery): void;
  /** Its lane goes on. */
  done(delivery: DueDelivery): void;
  /** Its lane is forgotten, and found in the outbox again; unless the lane was read anew since, and is not its any more. */
  giveUp(delivery: DueDelivery): void;
  /** Forgets a lane; what is in it is found in the outbox again. */
  dropLane(lane: number): void;
  dropShards(shards: ReadonlySet<number>): void;
}

export function createOutlet(recipient: Recipient): Outlet {
  const lanes = new Map<number, DueDelivery[]>();
  const ids = new Set<number>();
  /** Lanes whose first delivery is not in flight, in the order they became so. */
  let ready: number[] = [];

  const dropLane = (lane: number): void => {
    for (const delivery of lanes.get(lane) ?? []) ids.delete(delivery.id);
    // Left among the ready ones, a lane that is read again would stand there twice, and be sent twice at once.
    if (lanes.delete(lane)) ready = ready.filter((other) => other !== lane);
  };
  return {
    recipient,
    inFlight: 0,
    notBefore: Number.NEGATIVE_INFINITY,
    mayHoldMore: true,
    ids: () => [...ids],
    get size() {
      return ids.size;
    },
    has: (id) => ids.has(id),
    add: (delivery) => {
      ids.add(delivery.id);
      const lane = lanes.get(delivery.lane);
      if (lane) {
        // Nearly always the last; one that is sent again may be older than what waits.
        const isSending = !ready.includes(delivery.lane);
        let place = lane.length;
        while (place > (isSending ? 1 : 0) && lane[place - 1]!.position > delivery.position) place -= 1;
        lane.splice(place, 0, delivery);
        return;
      }
      lanes.set(delivery.lane, [delivery]);
      ready.push(delivery.lane);
    },
    next: () => {
      while (ready.length > 0) {
        const first = lanes.get(ready.shift()!)?.[0];
        if (first) return first;
      }
      return null;
    },
    putBack: (delivery) => {
      ready.unshift(delivery.lane);
    },
    done: (delivery) => {
      const lane = lanes.get(delivery.lane);
      // The lane was dropped meanwhile, and may have been read anew.
      if (lane?.[0]?.id !== delivery.id) return;
      lane.shift();
      ids.delete(delivery.id);
      if (lane.length === 0) lanes.delete(delivery.lane);
      else ready.push(delivery.lane);
    },
    giveUp: (delivery) => {
      if (lanes.get(delivery.lane)?.[0] === delivery) dropLane(delivery.lane);
    },
    dropLane,
    dropShards: (shards) => {
      for (const [lane, [first]] of lanes) if (first && shards.has(first.shard)) dropLane(lane);
      ready = ready.filter((lane) => lanes.has(lane));
    },
  };
}
