/** How long it takes until what is sent again has arrived, by what was measured lately. */

import { grouped } from '../values/counts.ts';
import { humanDuration } from '../values/duration.ts';
import type { Milliseconds } from '../values/time.ts';

/** How fast a subscriber takes deliveries, as far as is known. */
export interface DeliveryPace {
  /** The median of the attempts that delivered last; null when there are none. */
  readonly median: Milliseconds | null;
  /** How many attempts the median is of. */
  readonly measured: number;
  /** Deliveries in flight at most, for each daemon. */
  readonly concurrency: number;
  readonly replicas: number;
  /** Deliveries that wait for the subscriber already, and go first. */
  readonly waiting: number;
  /** More deliveries wait than were counted. */
  readonly waitingAtLeast: boolean;
}

/** A time, null when nothing is known to reckon with; and how it was reckoned, or why it was not. */
export type Drain = { readonly ms: Milliseconds | null; readonly text: string };

/** Slots of a subscriber that replays may take: half of them, so that new deliveries have the others. */
const replaySlots = (concurrency: number): number => Math.max(1, Math.floor(concurrency / 2));

/**
 * Until so many deliveries, of so many purchases, have arrived: what waits already first, then these, half of the slots at
 * a time, and of one purchase one after the other.
 */
export function expectedDrain({ count, purchases }: { count: number; purchases: number }, pace: DeliveryPace): Drain {
  const { median, measured, concurrency, replicas, waiting, waitingAtLeast } = pace;
  if (count === 0) return { ms: 0, text: 'there is nothing to send' };
  if (replicas === 0) return { ms: null, text: 'not known: no daemon is running' };
  if (median === null) return { ms: null, text: 'not known: nothing was delivered to it yet, so nothing was measured' };
  const atOnce = Math.max(1, Math.min(replaySlots(concurrency) * replicas, purchases));
  const ms = Math.ceil((waiting * median) / (concurrency * replicas) + (count * median) / atOnce);
  const before =
    waiting === 0
      ? ''
      : `, after ${waitingAtLeast ? 'at least ' : ''}${grouped(waiting)} that ${waiting === 1 ? 'waits' : 'wait'} already`;
  const last = measured === 1 ? 'its last delivery' : `the median of its last ${measured} deliveries`;
  const several = replicas === 1 ? '' : ` over ${replicas} daemons`;
  const text = `about ${humanDuration(ms)}: ${atOnce} at a time${several}, ${humanDuration(median)} each (${last})${before}`;
  return { ms, text };
}

/**
 * Until all that waits has arrived, once the subscriber takes deliveries again: with all of its slots, and `perSecond`, the pace
 * that this is. Null where nothing is known to reckon with.
 */
export function drainAfterResume({ median, concurrency, replicas, waiting }: DeliveryPace) {
  if (median === null || replicas === 0 || waiting === 0) return null;
  const each = Math.max(median, 1) / (concurrency * replicas);
  return { ms: Math.ceil(waiting * each), perSecond: 1_000 / each };
}
