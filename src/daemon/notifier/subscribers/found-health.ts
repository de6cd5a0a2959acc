/** Takes over what other replicas and people wrote about subscribers' health. */
import type { SubscriberHealth } from '../../../domain/deliveries/subscriber-health.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { endOwnFailures, noteOwnSaved, type StoredHealth, takeOver } from './health-in-memory.ts';
import { restUntil } from './pace.ts';
import { type Subscriber, unload } from './subscriber.ts';

/** A subscriber's health as the database has it, and as memory had it when the read began. */
export interface FoundHealth {
  readonly subscriber: Subscriber;
  readonly is: StoredHealth;
  readonly was: StoredHealth;
}

/** Brings memory in line with the database, unless this replica has written something else since, or is about to. */
export function takeOverHealth(found: FoundHealth, { clock, log }: { readonly clock: Clock; readonly log: Logger }): void {
  takeOverOwnFailures(found);
  const { subscriber, is, was } = found;
  const { health, recipient } = subscriber;
  if (health.saved !== was.health || isSame(is.health, health.saved)) return;
  if (is.health === null) {
    const detail = 'Its pause was ended by hand, or another replica got through.';
    log.info({ subscriber: recipient.name, detail }, 'subscriber.resumed');
    // This replica waits no longer until it asks again whether it may try.
    restUntil(subscriber.pace, Number.NEGATIVE_INFINITY);
  }
  takeOver(health, is.health, clock.now());
  if (is.health?.pausedUntil != null) unload(subscriber);
}

function takeOverOwnFailures({ subscriber: { health, reading }, is, was }: FoundHealth): void {
  if (health.own.saved !== was.unreached) return;
  // A person resumed the subscriber.
  if (is.unreached === null && was.unreached !== null) {
    endOwnFailures(health);
    reading.restart();
  }
  noteOwnSaved(health, is.unreached);
}

function isSame(one: SubscriberHealth | null, other: SubscriberHealth | null): boolean {
  return one?.pausedUntil === other?.pausedUntil && one?.failures === other?.failures;
}
