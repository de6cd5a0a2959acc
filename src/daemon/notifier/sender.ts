/** Starts attempts: for each subscriber within its limits, in the order of its queue. */

import type { SendOptions, SendResult } from '../../channels/outgoing/channel.ts';
import type { Ownership } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { type DueDelivery, REPLAYED } from '../../postgres/deliveries/deliveries.ts';
import type { SwitchedOff } from '../../postgres/subscribers/subscribers.ts';
import type { Clock, FollowingClock } from '../../runtime/clock.ts';
import type { KnownSubscribers } from './known-subscribers.ts';
import { type BatchPlan, isHeldBack, type MessageBatching } from './message-batching.ts';
import { createSlots } from './slots.ts';
import type { SubscriberPauses } from './subscriber-pauses.ts';
import type { Recipient, SubscriberQueue } from './subscriber-queue.ts';
import type { UnderWayNotes } from './under-way.ts';

/** An attempt's end. */
export interface Ended {
  readonly queue: SubscriberQueue;
  readonly delivery: DueDelivery;
  readonly epoch: number;
  readonly result: SendResult;
  /** Why the subscriber is switched off, or null. */
  readonly off: SwitchedOff | null;
  /** Deliveries that were sent in the same message. */
  readonly along: readonly DueDelivery[];
  /** The attempt went to an address that the subscriber has no more. */
  readonly isReplaced: boolean;
}

export interface Sender {
  /** Starts the attempts that a subscriber may have now. */
  pump(queue: SubscriberQueue): void;
  /** While held, no attempt starts. */
  hold(held: boolean): void;
}

export interface SenderOptions {
  readonly clock: Clock & Partial<Pick<FollowingClock, 'wall'>>;
  readonly ownership: Ownership;
  readonly knownSubscribers: KnownSubscribers;
  readonly subscriberPauses: SubscriberPauses;
  readonly notes: UnderWayNotes;
  readonly batching: MessageBatching;
  /** A delivery was taken from its lane but not sent. */
  onStayed(): void;
  onEnded(ended: Ended): void;
}

type Going = Extract<BatchPlan, { kind: 'go' }>;

/** Deliveries in flight at most, of all subscribers. */
const MOST_IN_FLIGHT = 512;
/** Time to write the result after an attempt: an attempt starts only if the lease outlasts both. */
const TIME_TO_SETTLE: Milliseconds = 2_000;
/** Pause while the lease is too short for an attempt. */
const RENEWAL_REST: Milliseconds = 250;
/** Pause after the database did not answer what may be sent. */
const UNKNOWN_REST: Milliseconds = 1_000;
const ALONE = { kind: 'go', along: [], together: null } as const satisfies BatchPlan;

export function createSender({
  clock,
  ownership,
  knownSubscribers,
  subscriberPauses,
  notes,
  batching,
  onEnded,
  onStayed,
}: SenderOptions): Sender {
  const slots = createSlots<SubscriberQueue>(MOST_IN_FLIGHT, () => knownSubscribers.count());
  /** Subscribers that wait for a borrowed slot, in the order in which they asked. */
  const waiting = new Set<SubscriberQueue>();
  /** Subscribers with a timer that starts attempts later, so that each has one timer. */
  const resting = new Set<SubscriberQueue>();
  /** No attempt starts: the notifier stops, or results cannot be written and every delivery would be sent again. */
  let isHeld = false;

  const pumpIn = (queue: SubscriberQueue, wait: Milliseconds): void => {
    if (resting.has(queue)) return;
    resting.add(queue);
    setTimeout(() => {
      resting.delete(queue);
      pump(queue);
    }, wait);
  };

  const mayBegin = (queue: SubscriberQueue): boolean => {
    if (isHeld || !queue.isReady || !knownSubscribers.mayTell(queue)) return false;
    if (isHeldBack(queue, clock.now())) return false;
    const wait = queue.notBefore - clock.monotonic();
    if (wait <= 0) return subscriberPauses.mayBegin(queue, () => pump(queue));
    if (queue.inFlight === 0) pumpIn(queue, wait);
    return false;
  };

  const pump = (queue: SubscriberQueue): void => {
    const { recipient, standing } = queue;
    while (mayBegin(queue)) {
      if (!slots.take(queue)) {
        waiting.add(queue);
        return;
      }
      // Retries and replays may take half of the slots, so that they never keep new events out.
      const late = Math.max(Math.floor(Math.min(recipient.concurrency, standing.allowance) / 2), 1) - queue.lateInFlight;
      const delivery = queue.next(late);
      const epoch = delivery && ownership.epochOf(delivery.shard);
      if (delivery === null || epoch === null) {
        slots.give(queue);
        if (delivery === null) return;
        queue.dropLane(delivery.lane);
        queue.lookFromStart();
      } else if (ownership.mayBegin(delivery.shard, recipient.timeout + TIME_TO_SETTLE)) {
        queue.notBefore = clock.monotonic() + recipient.spacing;
        void send(queue, delivery, epoch);
      } else if (!ownership.owned().includes(delivery.shard)) {
        // The shard is being given away: its next owner sends this delivery, and other shards' deliveries must not wait for that.
        slots.give(queue);
        queue.dropLane(delivery.lane);
        queue.lookFromStart();
      } else {
        // The lease is too short; its next renewal extends it.
        slots.give(queue);
        queue.putBack(delivery);
        queue.notBefore = clock.monotonic() + RENEWAL_REST;
        pumpIn(queue, RENEWAL_REST);
        return;
      }
    }
  };

  const send = async (queue: SubscriberQueue, delivery: DueDelivery, epoch: number): Promise<void> => {
    const { recipient } = queue;
    const isLate = delivery.rank > 0;
    queue.inFlight += 1;
    if (isLate) queue.lateInFlight += 1;
    ownership.begin(delivery.shard);
    notes.began(delivery, epoch);
    const batch = recipient.channel.sendAll === undefined ? ALONE : await batching.plan(queue, delivery);
    // Planning waited for the database, so everything is checked again.
    const mayGo =
      batch === ALONE ||
      (!isHeld &&
        knownSubscribers.mayTell(queue) &&
        ownership.mayGoOn(delivery.shard, epoch, recipient.timeout + TIME_TO_SETTLE));
    if (batch.kind !== 'go' || !mayGo) return stay(queue, delivery, epoch, batch);
    if (batch !== ALONE) {
      queue.heldUntil = null;
      queue.notBefore = clock.monotonic() + recipient.spacing;
    }
    const { along } = batch;
    const began = clock.now();
    const until = clock.monotonic() + recipient.timeout + TIME_TO_SETTLE;
    let isWithheld = false;
    const mayLeave = (): boolean => {
      isWithheld = !ownership.mayGoOn(delivery.shard, epoch, until - clock.monotonic());
      return !isWithheld;
    };
    // The timestamp is this machine's: receivers compare it with their clocks and would refuse all events when the database's clock is minutes off.
    const answer = await attempt(recipient, delivery, batch, { now: clock.wall?.() ?? began, mayLeave });
    // The lease ended while the connection was made, so another replica may be sending this delivery.
    if (isWithheld) return stay(queue, delivery, epoch, batch);
    // The address was replaced meanwhile: its answer does not count, and the next attempt goes to the new address.
    const isReplaced = queue.recipient !== recipient;
    const result =
      answer.kind === 'gone' && isReplaced
        ? { ...answer, kind: 'failed' as const, retryAfter: null, fault: 'receiver' as const }
        : answer;
    // Spacing counts from the end of one attempt to the start of the next, however long the attempt took.
    if (batch !== ALONE) queue.notBefore = clock.monotonic() + recipient.spacing;
    const isFree = giveBack(queue, delivery);
    const tooMany = isReplaced ? null : subscriberPauses.ended(queue, began, result);
    const reason = result.kind === 'gone' ? result.detail : tooMany;
    const off = reason === null ? null : { reason, addressHash: recipient.addressHash };
    // At once, so that nothing else is sent to a subscriber that is switched off.
    if (off !== null) knownSubscribers.switchedOff(queue);
    onEnded({ queue, delivery, epoch, result, off, along, isReplaced });
    if (isFree) pumpNext();
    pump(queue);
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

  /** Ends an attempt. Answers whether a waiting subscriber may have the slot. */
  const giveBack = (queue: SubscriberQueue, delivery: DueDelivery): boolean => {
    notes.ended(delivery.id);
    queue.inFlight -= 1;
    if (delivery.rank > 0) queue.lateInFlight -= 1;
    return slots.give(queue);
  };
  const pumpNext = (): void => {
    const [next] = waiting;
    if (next === undefined) return;
    waiting.delete(next);
    pump(next);
  };

  /** Puts a delivery that was not sent back to the front of its lane. */
  const stay = (queue: SubscriberQueue, delivery: DueDelivery, epoch: number, batch: BatchPlan): void => {
    queue.putBack(delivery);
    ownership.end(delivery.shard, epoch);
    const isFree = giveBack(queue, delivery);
    if (batch.kind === 'wait') {
      // The next tick starts it; nothing was sent, so no spacing applies.
      queue.heldUntil = batch.until;
      queue.notBefore = clock.monotonic();
    } else {
      const rest = batch.kind === 'rest' ? batch.wait : batch.kind === 'unknown' ? UNKNOWN_REST : RENEWAL_REST;
      queue.notBefore = clock.monotonic() + rest;
      if (!isHeld) pumpIn(queue, rest);
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
