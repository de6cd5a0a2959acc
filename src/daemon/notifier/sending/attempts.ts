/** Makes attempts: each goes from its slot to its result. */

import type { SendOptions, SendResult } from '../../../channels/outgoing/channel.ts';
import type { Instant, Milliseconds } from '../../../domain/values/time.ts';
import { type DueDelivery, REPLAYED } from '../../../postgres/deliveries/deliveries.ts';
import type { SwitchedOff } from '../../../postgres/subscribers/subscribers.ts';
import type { Deps } from '../../deps.ts';
import type { KnownSubscribers } from '../subscribers/known-subscribers.ts';
import { begin, end, holdBack, restUntil } from '../subscribers/pace.ts';
import type { Recipient, Subscriber } from '../subscribers/subscriber.ts';
import type { SubscriberPauses } from '../subscribers/subscriber-pauses.ts';
import { RENEWAL_REST, timeFor } from './choosing.ts';
import type { BatchPlan, MessageBatching } from './message-batching.ts';
import type { Slots } from './slots.ts';
import type { StartList } from './start-list.ts';
import type { UnderWayNotes } from './under-way.ts';

/** An attempt under way: to this recipient, whatever becomes of the subscriber's address meanwhile. */
export interface Attempt {
  readonly subscriber: Subscriber;
  readonly recipient: Recipient;
  readonly delivery: DueDelivery;
  readonly epoch: number;
}

export interface EndedAttempt extends Omit<Attempt, 'recipient'> {
  readonly result: SendResult;
  readonly at: Instant;
  /** Why the subscriber is switched off, or null. */
  readonly off: SwitchedOff | null;
  /** Deliveries that were sent in the same message. */
  readonly along: readonly DueDelivery[];
  /** The attempt went to an address that the subscriber has no more. */
  readonly isReplaced: boolean;
}

export interface AttemptsOptions extends Pick<Deps, 'clock' | 'ownership' | 'traces'> {
  readonly knownSubscribers: KnownSubscribers;
  readonly subscriberPauses: SubscriberPauses;
  readonly notes: UnderWayNotes;
  readonly batching: MessageBatching;
  readonly startList: StartList;
  readonly slots: Slots;
  /** Whether nothing may leave: the notifier stops, or results cannot be written and every delivery would be sent again. */
  isHeld(): boolean;
  /** Takes an attempt's end. */
  settle(ended: EndedAttempt): void;
  /** Called when a delivery was taken from its lane but not sent. */
  onStayed(): void;
}

type Going = Extract<BatchPlan, { kind: 'go' }>;

/** Pause after the database did not answer what may be sent. */
const UNKNOWN_REST: Milliseconds = 1_000;
const ALONE = { kind: 'go', along: [], together: null } as const satisfies BatchPlan;

/** A function that makes one attempt, whose slot is taken, and hands its end on. Never rejects. */
export function createAttempts(options: AttemptsOptions): (attempt: Attempt) => Promise<void> {
  const { clock, ownership, traces, knownSubscribers, subscriberPauses, notes, batching, startList, slots } = options;
  const { isHeld, settle, onStayed } = options;
  const restFor = ({ pace }: Subscriber, wait: Milliseconds): void => restUntil(pace, clock.monotonic() + wait);

  const mayStillGo = ({ subscriber, recipient, delivery, epoch }: Attempt): boolean =>
    !isHeld() && knownSubscribers.isActive(subscriber) && ownership.mayGoOn(delivery.shard, epoch, timeFor(recipient));

  /** Makes the attempt; null when it did not leave because the lease was too short. */
  const leave = async ({ recipient, delivery, epoch }: Attempt, plan: Going, began: Instant): Promise<SendResult | null> => {
    const until = clock.monotonic() + timeFor(recipient);
    let isWithheld = false;
    const mayLeave = (): boolean => {
      // Never less than no time: a process that stood still may have lost the lease, however little is left of the attempt.
      isWithheld = !ownership.mayGoOn(delivery.shard, epoch, Math.max(until - clock.monotonic(), 0));
      return !isWithheld;
    };
    // The timestamp is this machine's: receivers compare it with their clocks and would refuse all events when the database's clock is minutes off.
    const { event, attempts } = delivery;
    const trace = traces?.beginAttempt({ event, subscriber: recipient.name, attempt: attempts + 1 });
    const result = await call(recipient, delivery, plan, { now: clock.wall?.() ?? began, mayLeave, trace });
    trace?.end(result.kind === 'delivered' ? null : result.reason);
    return isWithheld ? null : result;
  };

  const finish = (attempt: Attempt, along: readonly DueDelivery[], began: Instant, answer: SendResult): void => {
    const { subscriber, recipient, delivery, epoch } = attempt;
    const { pace } = subscriber;
    // The address was replaced meanwhile: its answer does not count, and the next attempt goes to the new address.
    const isReplaced = subscriber.recipient !== recipient;
    const result = isReplaced ? notGone(answer) : answer;
    const at = clock.now();
    giveBack(subscriber, delivery);
    const { hold, switchOff: reason } = isReplaced
      ? { hold: 0, switchOff: null }
      : subscriberPauses.ended(subscriber, { began, at }, result);
    if (hold > 0) restUntil(pace, Math.max(pace.notBefore, clock.monotonic() + hold));
    const off = reason === null ? null : { reason, addressHash: recipient.addressHash };
    // At once, so that nothing else is sent to a subscriber that is switched off.
    if (off !== null) knownSubscribers.switchedOff(subscriber);
    settle({ subscriber, delivery, epoch, result, at, off, along, isReplaced });
    startList.add(subscriber);
  };

  /** Ends an attempt. */
  const giveBack = (subscriber: Subscriber, delivery: DueDelivery): void => {
    notes.ended(delivery.id);
    end(subscriber.pace, delivery.rank > 0);
    if (slots.give(subscriber)) startList.slotFreed();
  };

  /** Puts a delivery that was not sent back to the front of its lane. */
  const stay = ({ subscriber, delivery, epoch }: Attempt, plan: BatchPlan): void => {
    subscriber.queue.putBack(delivery);
    ownership.end(delivery.shard, epoch);
    giveBack(subscriber, delivery);
    if (plan.kind === 'wait') {
      // The next tick starts it; nothing was sent, so no spacing applies.
      holdBack(subscriber.pace, plan.until);
      restFor(subscriber, 0);
    } else {
      const rest = plan.kind === 'rest' ? plan.wait : plan.kind === 'unknown' ? UNKNOWN_REST : RENEWAL_REST;
      restFor(subscriber, rest);
      startList.addIn(subscriber, rest);
    }
    onStayed();
  };

  return async (attempt) => {
    const { subscriber, recipient, delivery, epoch } = attempt;
    begin(subscriber.pace, delivery.rank > 0);
    ownership.begin(delivery.shard);
    notes.began(delivery, epoch);
    const isAlone = recipient.channel.sendAll === undefined;
    const plan = isAlone ? ALONE : await batching.plan(subscriber, delivery);
    // Planning waited for the database, so everything is checked again.
    if (plan.kind !== 'go' || !(isAlone || mayStillGo(attempt))) return stay(attempt, plan);
    if (!isAlone) {
      holdBack(subscriber.pace, null);
      restFor(subscriber, recipient.spacing);
    }
    const began = clock.now();
    const result = await leave(attempt, plan, began);
    // The lease ended while the connection was made, so another replica may be sending this delivery.
    if (result === null) return stay(attempt, plan);
    // Spacing counts from the end of one attempt to the start of the next, however long the attempt took.
    if (!isAlone) restFor(subscriber, recipient.spacing);
    finish(attempt, plan.along, began, result);
  };
}

function call(
  { channel }: Recipient,
  { event, attempts, attemptsBefore, rank }: DueDelivery,
  { along, together }: Going,
  when: Pick<SendOptions, 'now' | 'mayLeave' | 'trace'>,
): Promise<SendResult> {
  const options = { ...when, attempt: attempts + 1, ...(rank === REPLAYED && { again: attemptsBefore }) };
  if (together === null || channel.sendAll === undefined) return channel.send(event, options);
  const all = [event, ...along.map((delivery) => delivery.event)];
  const made = all.map(({ createdAt }) => createdAt);
  return channel.sendAll(all, { ...options, since: Math.min(...made), until: Math.max(...made), ...together });
}

/** A receiver that has gone says nothing about its subscriber's new address. */
function notGone(result: SendResult): SendResult {
  return result.kind === 'gone' ? { ...result, kind: 'failed', retryAfter: null, fault: 'receiver' } : result;
}
