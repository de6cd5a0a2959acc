/** One subscriber in this replica's memory. Each part of its state has functions of its own, which alone write it. */
import type { Opened } from '../../../channels/outgoing/channel-kind.ts';
import type { Patience } from '../../../domain/deliveries/subscriber-health.ts';
import type { Milliseconds } from '../../../domain/values/time.ts';
import { newHealth } from './health-in-memory.ts';
import { newPace } from './pace.ts';
import { createReading } from './reading.ts';
import { createSubscriberQueue } from './subscriber-queue.ts';

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

export type Subscriber = ReturnType<typeof createSubscriber>;

/** A subscriber without deliveries in memory and without failures. */
export function createSubscriber(recipient: Recipient) {
  return {
    /** Replaced by known-subscribers.ts when the subscriber's address or keys change. */
    recipient,
    queue: createSubscriberQueue(),
    reading: createReading(),
    pace: newPace(),
    health: newHealth(recipient.concurrency),
  };
}

/** Drops the deliveries in memory that are not being sent; they are loaded from the outbox again. */
export function unload({ queue, reading }: Subscriber): void {
  queue.dropWaiting();
  reading.restart();
}
