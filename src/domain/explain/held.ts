/** What keeps deliveries from a subscriber as a whole: a pause, or that we do not get through to it. */

import { afterFailures, isAskedFor } from '../deliveries/subscriber-state.ts';
import { commandLine } from '../values/command-line.ts';
import type { AttemptFacts, DeliveryFacts, Facts, SubscriberFacts } from './facts.ts';
import { untilText } from './standing.ts';

interface Held {
  readonly subscriber: SubscriberFacts;
  readonly delivery: DeliveryFacts;
  /** Of that delivery. */
  readonly attempts: readonly AttemptFacts[];
}

/** Without its full stop, to go on with. */
export const sentence = (text: string): string => text.replace(/\.$/, '');

/** That what is in the way is ours; null when it is not, as far as is known. */
export function wayText({ subscriber: { unreached }, delivery, attempts }: Held): string | null {
  const last = attempts.find((each) => each.number === delivery.attempts);
  if (unreached === null && last?.fault !== 'ours') return null;
  return `we do not get through to it, for a reason on this side${delivery.lastError === null && unreached?.error ? ` (${sentence(unreached.error)})` : ''}`;
}

/** Until when nothing is sent to it, and why; null while deliveries are sent. */
export function pauseText({ now }: Facts, { health }: SubscriberFacts): string | null {
  if (health === null || health.pausedUntil === null) return null;
  const why = health.lastError === null ? '' : ` (${sentence(health.lastError)})`;
  const until =
    health.pausedUntil > now
      ? `paused until ${untilText(health.pausedUntil, now)}`
      : 'paused, and is being tried with one delivery,';
  return `${until} ${afterFailures(health.failures)}${why}`;
}

export function pauseRemedy({ name, health }: SubscriberFacts): string {
  return health !== null && isAskedFor(health)
    ? 'it goes on by itself then'
    : `end that with "${commandLine`subscribers resume ${name}`}"`;
}
