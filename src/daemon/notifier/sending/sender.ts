/** Starts the attempts that a subscriber may have now. */

import type { Milliseconds } from '../../../domain/values/time.ts';
import { restUntil } from '../subscribers/pace.ts';
import type { Subscriber } from '../subscribers/subscriber.ts';
import { type AttemptsOptions, createAttempts } from './attempts.ts';
import { choose } from './choosing.ts';
import { createSlots } from './slots.ts';

/** Deliveries in flight at most, of all subscribers. */
const MOST_IN_FLIGHT = 512;

/** A function that starts the attempts that a subscriber may have now, and has it called again when more may start. */
export function createSender(options: Omit<AttemptsOptions, 'slots'>): (subscriber: Subscriber) => void {
  const { clock, ownership, knownSubscribers, subscriberPauses, startList, isHeld } = options;
  const slots = createSlots(MOST_IN_FLIGHT, () => knownSubscribers.count());
  const attempt = createAttempts({ ...options, slots });
  const context = { clock, ownership, knownSubscribers, slots };

  const startLater = (subscriber: Subscriber, wait: Milliseconds): void => {
    restUntil(subscriber.pace, clock.monotonic() + wait);
    startList.addIn(subscriber, wait);
  };
  const claimTry = async (subscriber: Subscriber): Promise<void> => {
    const wait = await subscriberPauses.claimTry(subscriber);
    if (wait > 0) startLater(subscriber, wait);
    else startList.add(subscriber);
  };

  return (subscriber) => {
    while (!isHeld()) {
      const choice = choose(subscriber, context);
      if (choice.kind === 'send') {
        const { recipient, pace } = subscriber;
        restUntil(pace, clock.monotonic() + recipient.spacing);
        void attempt({ subscriber, recipient, delivery: choice.delivery, epoch: choice.epoch });
      } else if (choice.kind !== 'dropped') {
        if (choice.kind === 'full') startList.addWhenFree(subscriber);
        if (choice.kind === 'claim') void claimTry(subscriber);
        if (choice.kind === 'rest') startLater(subscriber, choice.wait);
        return;
      }
    }
  };
}
