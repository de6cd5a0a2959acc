/** Starts attempts: whatever may leave now, for each subscriber within its limits, in the order that its memory gives. */
import type { Ownership } from '../core/ownership.ts';
import type { Milliseconds } from '../core/purchase.ts';
import type { Clock } from '../runtime/clock.ts';
import type { DueDelivery } from '../store/deliveries.ts';
import type { SendResult } from './channel.ts';
import type { Ladder } from './ladder.ts';
import type { Outlet } from './outlet.ts';
import type { Roster } from './roster.ts';
import { createSlots } from './slots.ts';
import type { UnderWayNotes } from './under-way.ts';

/** An attempt's end. */
export interface Ended {
  readonly outlet: Outlet;
  readonly delivery: DueDelivery;
  readonly epoch: number;
  readonly result: SendResult;
  /** Why the subscriber is told nothing any more, or null. */
  readonly off: string | null;
}

export interface Sender {
  /** Starts what may start for a subscriber. */
  pump(outlet: Outlet): void;
  /** Starts nothing while held. */
  hold(held: boolean): void;
}

export interface SenderOptions {
  readonly clock: Clock;
  readonly ownership: Ownership;
  readonly roster: Roster;
  readonly ladder: Ladder;
  readonly notes: UnderWayNotes;
  onEnded(ended: Ended): void;
}

/** Deliveries in flight in all, at most. */
const MOST_IN_FLIGHT = 512;
/** Time to settle after an attempt's end: an attempt begins only if the lease outlasts both. */
const TIME_TO_SETTLE: Milliseconds = 2_000;
/** When a lease is too short for an attempt. */
const RENEWAL_REST: Milliseconds = 250;

export function createSender({ clock, ownership, roster, ladder, notes, onEnded }: SenderOptions): Sender {
  const slots = createSlots<Outlet>(MOST_IN_FLIGHT, () => roster.count());
  /** Who waits for a borrowed slot, in the order they came. */
  const waiting = new Set<Outlet>();
  /** Who looks again by itself, so that it does so once. */
  const resting = new Set<Outlet>();
  /** Stopped, or while nothing can be settled: what is sent then is sent again. */
  let isHeld = false;

  const pumpIn = (outlet: Outlet, wait: Milliseconds): void => {
    if (resting.has(outlet)) return;
    resting.add(outlet);
    setTimeout(() => {
      resting.delete(outlet);
      pump(outlet);
    }, wait);
  };

  const mayBegin = (outlet: Outlet): boolean => {
    if (isHeld || !outlet.isReady || !roster.mayTell(outlet)) return false;
    const wait = outlet.notBefore - clock.monotonic();
    if (wait <= 0) return ladder.mayBegin(outlet, () => pump(outlet));
    if (outlet.inFlight === 0) pumpIn(outlet, wait);
    return false;
  };

  const pump = (outlet: Outlet): void => {
    const { recipient, standing } = outlet;
    while (mayBegin(outlet)) {
      if (!slots.take(outlet)) {
        waiting.add(outlet);
        return;
      }
      // What is not new has half of what there is, so that it never keeps out what is.
      const late = Math.max(Math.floor(Math.min(recipient.concurrency, standing.allowance) / 2), 1) - outlet.lateInFlight;
      const delivery = outlet.next(late);
      const epoch = delivery && ownership.epochOf(delivery.shard);
      if (delivery === null || epoch === null) {
        slots.give(outlet);
        if (delivery === null) return;
        outlet.dropLane(delivery.lane);
        outlet.lookFromStart();
      } else if (ownership.mayBegin(delivery.shard, recipient.timeout + TIME_TO_SETTLE)) {
        outlet.notBefore = clock.monotonic() + recipient.spacing;
        void send(outlet, delivery, epoch);
      } else if (!ownership.owned().includes(delivery.shard)) {
        // It is being given away: whoever gets it sends this, and the others must not wait for that.
        slots.give(outlet);
        outlet.dropLane(delivery.lane);
        outlet.lookFromStart();
      } else {
        // The lease is too short: the next renewal makes it longer.
        slots.give(outlet);
        outlet.putBack(delivery);
        outlet.notBefore = clock.monotonic() + RENEWAL_REST;
        pumpIn(outlet, RENEWAL_REST);
        return;
      }
    }
  };

  const send = async (outlet: Outlet, delivery: DueDelivery, epoch: number): Promise<void> => {
    const { recipient } = outlet;
    const isLate = delivery.rank > 0;
    const began = clock.now();
    outlet.inFlight += 1;
    if (isLate) outlet.lateInFlight += 1;
    ownership.begin(delivery.shard);
    notes.began(delivery, epoch);
    const answer = await recipient.channel.send(delivery.event, { attempt: delivery.attempts + 1, now: began });
    // An address that was replaced meanwhile speaks for nobody any more: the next attempt goes to the new one.
    const isReplaced = outlet.recipient !== recipient;
    const result =
      answer.kind === 'gone' && isReplaced
        ? { ...answer, kind: 'failed' as const, retryAfter: null, fault: 'receiver' as const }
        : answer;
    notes.ended(delivery.id);
    outlet.inFlight -= 1;
    if (isLate) outlet.lateInFlight -= 1;
    const isFree = slots.give(outlet);
    const tooMany = isReplaced ? null : ladder.ended(outlet, began, result);
    const off = result.kind === 'gone' ? result.detail : tooMany;
    // At once, so that nothing else leaves for somebody who wants nothing any more.
    if (off !== null) roster.switchedOff(outlet);
    onEnded({ outlet, delivery, epoch, result, off });
    const [next] = isFree ? waiting : [];
    if (next !== undefined) {
      waiting.delete(next);
      pump(next);
    }
    pump(outlet);
  };

  return {
    pump,
    hold: (held) => {
      isHeld = held;
    },
  };
}
