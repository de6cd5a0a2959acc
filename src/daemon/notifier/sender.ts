/** Starts attempts: whatever may leave now, for each subscriber within its limits, in the order that its memory gives. */

import type { SendOptions, SendResult } from '../../channels/outgoing/channel.ts';
import type { Ownership } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { type DueDelivery, REPLAYED } from '../../postgres/deliveries/deliveries.ts';
import type { SwitchedOff } from '../../postgres/subscribers/subscribers.ts';
import type { Clock, FollowingClock } from '../../runtime/clock.ts';
import { type Departure, type Departures, isHeldBack } from './departure.ts';
import type { Ladder } from './ladder.ts';
import type { Outlet, Recipient } from './outlet.ts';
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
  readonly off: SwitchedOff | null;
  /** What left with it in the same message. */
  readonly along: readonly DueDelivery[];
  /** It went to an address that is not the subscriber's any more. */
  readonly isReplaced: boolean;
}

export interface Sender {
  /** Starts what may start for a subscriber. */
  pump(outlet: Outlet): void;
  /** Starts nothing while held. */
  hold(held: boolean): void;
}

export interface SenderOptions {
  readonly clock: Clock & Partial<Pick<FollowingClock, 'wall'>>;
  readonly ownership: Ownership;
  readonly roster: Roster;
  readonly ladder: Ladder;
  readonly notes: UnderWayNotes;
  readonly departures: Departures;
  /** An attempt was not made after all. */
  onStayed(): void;
  onEnded(ended: Ended): void;
}

type Going = Extract<Departure, { kind: 'go' }>;

/** Deliveries in flight in all, at most. */
const MOST_IN_FLIGHT = 512;
/** Time to settle after an attempt's end: an attempt begins only if the lease outlasts both. */
const TIME_TO_SETTLE: Milliseconds = 2_000;
/** When a lease is too short for an attempt. */
const RENEWAL_REST: Milliseconds = 250;
/** When the database did not say what may leave. */
const UNKNOWN_REST: Milliseconds = 1_000;
const ALONE = { kind: 'go', along: [], together: null } as const satisfies Departure;

export function createSender({ clock, ownership, roster, ladder, notes, departures, onEnded, onStayed }: SenderOptions): Sender {
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
    if (isHeldBack(outlet, clock.now())) return false;
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
    outlet.inFlight += 1;
    if (isLate) outlet.lateInFlight += 1;
    ownership.begin(delivery.shard);
    notes.began(delivery, epoch);
    const departure = recipient.channel.sendAll === undefined ? ALONE : await departures.plan(outlet, delivery);
    // Planning took its time.
    const mayGo =
      departure === ALONE ||
      (!isHeld && roster.mayTell(outlet) && ownership.mayGoOn(delivery.shard, epoch, recipient.timeout + TIME_TO_SETTLE));
    if (departure.kind !== 'go' || !mayGo) return stay(outlet, delivery, epoch, departure);
    if (departure !== ALONE) {
      outlet.heldUntil = null;
      outlet.notBefore = clock.monotonic() + recipient.spacing;
    }
    const { along } = departure;
    const began = clock.now();
    const until = clock.monotonic() + recipient.timeout + TIME_TO_SETTLE;
    let isWithheld = false;
    const mayLeave = (): boolean => {
      isWithheld = !ownership.mayGoOn(delivery.shard, epoch, until - clock.monotonic());
      return !isWithheld;
    };
    // Receivers compare the timestamp with their own clocks, and refuse all events when a database's clock is minutes off.
    const answer = await attempt(recipient, delivery, departure, { now: clock.wall?.() ?? began, mayLeave });
    // The lease ended while the connection was made: another replica may be sending this.
    if (isWithheld) return stay(outlet, delivery, epoch, departure);
    // An address that was replaced meanwhile speaks for nobody any more: the next attempt goes to the new one.
    const isReplaced = outlet.recipient !== recipient;
    const result =
      answer.kind === 'gone' && isReplaced
        ? { ...answer, kind: 'failed' as const, retryAfter: null, fault: 'receiver' as const }
        : answer;
    // It counts from the end of one to the beginning of the next, however slow the way was.
    if (departure !== ALONE) outlet.notBefore = clock.monotonic() + recipient.spacing;
    const isFree = giveBack(outlet, delivery);
    const tooMany = isReplaced ? null : ladder.ended(outlet, began, result);
    const reason = result.kind === 'gone' ? result.detail : tooMany;
    const off = reason === null ? null : { reason, addressHash: recipient.addressHash };
    // At once, so that nothing else leaves for somebody who wants nothing any more.
    if (off !== null) roster.switchedOff(outlet);
    onEnded({ outlet, delivery, epoch, result, off, along, isReplaced });
    if (isFree) pumpNext();
    pump(outlet);
  };

  const attempt = (
    { channel }: Recipient,
    { event, attempts, attemptsBefore, rank }: DueDelivery,
    { along, together }: Going,
    when: Pick<SendOptions, 'now' | 'mayLeave'>,
  ) => {
    const options = { ...when, attempt: attempts + 1, ...(rank === REPLAYED && { again: attemptsBefore }) };
    if (together === null || channel.sendAll === undefined) return channel.send(event, options);
    const all = [event, ...along.map((delivery) => delivery.event)];
    const made = all.map(({ createdAt }) => createdAt);
    return channel.sendAll(all, { ...options, since: Math.min(...made), until: Math.max(...made), ...together });
  };

  /** Its attempt is over. Answers whether somebody who waits may have its slot. */
  const giveBack = (outlet: Outlet, delivery: DueDelivery): boolean => {
    notes.ended(delivery.id);
    outlet.inFlight -= 1;
    if (delivery.rank > 0) outlet.lateInFlight -= 1;
    return slots.give(outlet);
  };
  const pumpNext = (): void => {
    const [next] = waiting;
    if (next === undefined) return;
    waiting.delete(next);
    pump(next);
  };

  /** Nothing left: it goes back to where it waited. */
  const stay = (outlet: Outlet, delivery: DueDelivery, epoch: number, departure: Departure): void => {
    outlet.putBack(delivery);
    ownership.end(delivery.shard, epoch);
    const isFree = giveBack(outlet, delivery);
    if (departure.kind === 'wait') {
      // The next tick looks again; nothing left, so nothing has to be spaced out.
      outlet.heldUntil = departure.until;
      outlet.notBefore = clock.monotonic();
    } else {
      const rest = departure.kind === 'rest' ? departure.wait : departure.kind === 'unknown' ? UNKNOWN_REST : RENEWAL_REST;
      outlet.notBefore = clock.monotonic() + rest;
      if (!isHeld) pumpIn(outlet, rest);
    }
    onStayed();
    if (isFree) pumpNext();
  };

  return {
    pump,
    hold: (held) => {
      isHeld = held;
    },
  };
}
