/** How much a subscriber has in flight, and until when nothing is sent to it. Written by the functions of this file alone. */
import type { Instant, Milliseconds } from '../../../domain/values/time.ts';

export interface Pace {
  inFlight: number;
  /** How many of them are retries or replays. */
  lateInFlight: number;
  /** Nothing is sent before this moment (monotonic clock). */
  notBefore: Milliseconds;
  /** Until when the subscriber is held back by its messages of this hour; null: it is not. */
  heldUntil: Instant | null;
  /** The last message whose spacing this replica has kept or knows to be over. */
  takenAt: Instant;
}

/** Nothing in flight, and nothing to wait for. */
export function newPace(): Pace {
  const [notBefore, takenAt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return { inFlight: 0, lateInFlight: 0, notBefore, heldUntil: null, takenAt };
}

/** An attempt begins. `isLate`: it is a retry or a replay. */
export function begin(pace: Pace, isLate: boolean): void {
  pace.inFlight += 1;
  if (isLate) pace.lateInFlight += 1;
}

/** An attempt ended, or did not leave. */
export function end(pace: Pace, isLate: boolean): void {
  pace.inFlight -= 1;
  if (isLate) pace.lateInFlight -= 1;
}

/** Sends nothing before a moment of the monotonic clock. */
export function restUntil(pace: Pace, moment: Milliseconds): void {
  pace.notBefore = moment;
}

/** Holds the subscriber back because of its messages of this hour; null: no longer. */
export function holdBack(pace: Pace, until: Instant | null): void {
  pace.heldUntil = until;
}

/** A message to this subscriber was sent at this time, by this replica or another one. */
export function noteMessage(pace: Pace, at: Instant): void {
  pace.takenAt = Math.max(pace.takenAt, at);
}

/** Whether the subscriber is held back by its messages of this hour, by the last reading. */
export function isHeldBack({ heldUntil }: Pick<Pace, 'heldUntil'>, now: Instant): boolean {
  return heldUntil !== null && heldUntil > now;
}
