/** Whether all is so well that the dead man's switch may be called. Pure. */

import { allowedFrom } from '../deliveries/channel-pace.ts';
import { HOUR, type Instant, type Milliseconds } from '../values/time.ts';
import { HANGS_AFTER, type LoopSeen } from './loop-health.ts';

/** The deliveries that wait for a channel for people that is on and not paused. */
export interface ChannelQueue {
  /** The name of the channel's subscriber. */
  readonly channel: string;
  /** When the first of these deliveries was due. */
  readonly dueAt: Instant;
  /** When the channel took messages, the newest first, as far back as `MESSAGES_WITHIN`. */
  readonly messages: readonly Instant[];
  /** Null: there is no ceiling. */
  readonly maxPerHour: number | null;
}

/** Whether channels for people take messages. */
export interface People {
  readonly all: number;
  /** How many of them take messages, as far as is known. */
  readonly hearing: number;
  /** The channels for which something is due. */
  readonly queues: readonly ChannelQueue[];
}

/** Loops without which no alert about a broken page is sent. */
const NEEDED = ['poller', 'judge', 'notifier'];
/** The loop that renews this replica's lease, without which none of these begins anything. */
const LEASES = 'ownership';
/** A delivery that has been due for longer than this, and could have left, does not leave. */
const LATE_DELIVERY: Milliseconds = 15 * 60_000;
/** Messages of so long ago may still have held back what is late by now. */
export const MESSAGES_WITHIN: Milliseconds = LATE_DELIVERY + HOUR;

/** Whether each loop that is needed has done its work at least once, or has had the time to. */
export function hasBegun(loops: readonly LoopSeen[], runningFor: Milliseconds): boolean {
  return runningFor > HANGS_AFTER || NEEDED.every((name) => loops.some((loop) => loop.name === name && loop.goodAgo !== null));
}

/** The first channel that should have got a message long ago and did not; null when there is none. */
export function lateChannel(queues: readonly ChannelQueue[], now: Instant): string | null {
  const late = queues.find(({ dueAt, messages, maxPerHour }) => {
    const allowed = maxPerHour === null ? dueAt : allowedFrom({ messages, maxPerHour }, false);
    return now - Math.max(dueAt, allowed) > LATE_DELIVERY;
  });
  return late?.channel ?? null;
}

/** Why it must not be called, as a sentence; null when all is well. */
export function reasonToWithhold(loops: readonly LoopSeen[], people: People, now: Instant): string | null {
  const troubled = loops.find(({ name, failing }) => failing !== null && (NEEDED.includes(name) || name === LEASES));
  if (troubled !== undefined) return `The work of the ${troubled.name} has been failing for a minute; /readyz says why.`;
  for (const name of NEEDED) {
    const goodAgo = loops.find((loop) => loop.name === name)?.goodAgo ?? null;
    if (goodAgo === null || goodAgo > HANGS_AFTER) return `The ${name} has not done its work for two minutes.`;
  }
  if (people.all > 0 && people.hearing === 0) return 'No channel for people takes messages.';
  const late = lateChannel(people.queues, now);
  return late === null ? null : `Deliveries to ${late} have been due for a quarter of an hour and have not left.`;
}
