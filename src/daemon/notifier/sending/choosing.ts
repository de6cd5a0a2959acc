/** Chooses the next delivery that a subscriber may be sent, within the limits of the subscriber, the slots and the lease. */

import type { Milliseconds } from '../../../domain/values/time.ts';
import type { DueDelivery } from '../../../postgres/deliveries/deliveries.ts';
import type { Deps } from '../../deps.ts';
import { mayStart } from '../subscribers/health-in-memory.ts';
import type { KnownSubscribers } from '../subscribers/known-subscribers.ts';
import { isHeldBack } from '../subscribers/pace.ts';
import type { Recipient, Subscriber } from '../subscribers/subscriber.ts';
import type { Slots } from './slots.ts';

interface ChoiceContext extends Pick<Deps, 'clock' | 'ownership'> {
  readonly knownSubscribers: KnownSubscribers;
  readonly slots: Slots;
}

export type DeliveryChoice =
  /** The delivery leaves; its slot is taken. */
  | { readonly kind: 'send'; readonly delivery: DueDelivery; readonly epoch: number }
  /** The pause is over: the right to try has to be claimed. */
  | { readonly kind: 'claim' }
  /** All slots are taken. */
  | { readonly kind: 'full' }
  /** Nothing may be sent for so long. */
  | { readonly kind: 'rest'; readonly wait: Milliseconds }
  /** A delivery left memory, because its shard is no longer this replica's: there may be another one. */
  | { readonly kind: 'dropped' }
  | { readonly kind: 'none' };

/** Time to write the result after an attempt: an attempt starts only if the lease outlasts both. */
const TIME_TO_SETTLE: Milliseconds = 2_000;
/** Pause while the lease is too short for an attempt. */
export const RENEWAL_REST: Milliseconds = 250;
const [NONE, CLAIM, FULL, DROPPED] = [{ kind: 'none' }, { kind: 'claim' }, { kind: 'full' }, { kind: 'dropped' }] as const;

/** How long an attempt and writing its result may take. */
export function timeFor({ timeout }: Recipient): Milliseconds {
  return timeout + TIME_TO_SETTLE;
}

export function choose(subscriber: Subscriber, context: ChoiceContext): DeliveryChoice {
  const obstacle = obstacleFor(subscriber, context);
  if (obstacle !== null) return obstacle;
  const { ownership, slots } = context;
  if (!slots.take(subscriber)) return FULL;
  const { queue, recipient, reading } = subscriber;
  const delivery = queue.next(lateOnes(subscriber));
  const epoch = delivery === null ? null : ownership.epochOf(delivery.shard);
  if (delivery !== null && epoch !== null && ownership.mayBegin(delivery.shard, timeFor(recipient)))
    return { kind: 'send', delivery, epoch };
  slots.give(subscriber);
  if (delivery === null) return NONE;
  if (epoch !== null && ownership.owned().includes(delivery.shard)) {
    // The lease is too short; its next renewal extends it.
    queue.putBack(delivery);
    return { kind: 'rest', wait: RENEWAL_REST };
  }
  // The next owner of the shard sends this delivery, and other shards' deliveries must not wait for that.
  queue.dropLane(delivery.lane);
  reading.restart();
  return DROPPED;
}

/** The obstacle that keeps the subscriber from getting anything now; null: there is none. */
function obstacleFor(subscriber: Subscriber, { clock, knownSubscribers }: ChoiceContext): DeliveryChoice | null {
  const { queue, pace, health, recipient } = subscriber;
  const now = clock.now();
  if (!queue.isReady || !knownSubscribers.isActive(subscriber) || isHeldBack(pace, now)) return NONE;
  const wait = pace.notBefore - clock.monotonic();
  // With something in flight, its end is the next start.
  if (wait > 0) return pace.inFlight === 0 ? { kind: 'rest', wait } : NONE;
  const may = mayStart(health, { now, inFlight: pace.inFlight, concurrency: recipient.concurrency });
  return may === 'yes' ? null : may === 'ask' ? CLAIM : NONE;
}

/** How many retries and replays may start: they may take half of the slots, so that they never keep new events out. */
function lateOnes({ recipient, health, pace }: Subscriber): number {
  return Math.max(Math.floor(Math.min(recipient.concurrency, health.allowance) / 2), 1) - pace.lateInFlight;
}
