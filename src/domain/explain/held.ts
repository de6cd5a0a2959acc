/** Reasons that keep all deliveries from a subscriber: a pause, or that we do not get through to the subscriber. */

import { afterFailures, isAskedFor } from '../deliveries/subscriber-state.ts';
import { commandLine } from '../values/command-line.ts';
import { inBrackets } from '../values/errors.ts';
import type { AttemptFacts, DeliveryFacts, Facts, SubscriberFacts } from './facts.ts';
import { untilText } from './standing.ts';

/** A clause about an obstacle on our side; null when none is known. `attempts` are those of the delivery. */
export function wayText({
  subscriber: { unreached },
  delivery,
  attempts,
}: {
  readonly subscriber: SubscriberFacts;
  readonly delivery: DeliveryFacts;
  readonly attempts: readonly AttemptFacts[];
}): string | null {
  const last = attempts.find((each) => each.number === delivery.attempts);
  if (unreached === null && last?.fault !== 'ours') return null;
  return `we do not get through to it, for a reason on this side${delivery.lastError === null ? inBrackets(unreached?.error || null) : ''}`;
}

/** Until when nothing is sent to the subscriber, and why; null while deliveries are sent. */
export function pauseText({ now }: Facts, { health }: SubscriberFacts): string | null {
  if (health === null || health.pausedUntil === null) return null;
  const until =
    health.pausedUntil > now
      ? `paused until ${untilText(health.pausedUntil, now)}`
      : 'paused, and is being tried with one delivery,';
  return `${until} ${afterFailures(health.failures)}${inBrackets(health.lastError)}`;
}

export function pauseRemedy({ name, health }: SubscriberFacts): string {
  return health !== null && isAskedFor(health)
    ? 'it goes on by itself then'
    : `end that with "${commandLine`subscribers resume ${name}`}"`;
}
