/** Changes of recorded stays, and who waits in a state because of them. */

import type { Detection } from '../incidents/detection.ts';
import type { StuckCount } from '../incidents/judgement.ts';
import type { RecordedStay, RehearsedStay } from '../stays/recorded-stay.ts';
import { placeKey } from '../stays/stay.ts';
import type { Instant } from '../values/time.ts';

/** A change of a stay. */
export interface Happening {
  readonly at: Instant;
  /** Among those of one moment, the order in which stays came. */
  readonly place: number;
  readonly what: 'stuck' | 'left' | 'gone';
  readonly stay: RehearsedStay;
}

/** Stays that are stuck and not over, by site and state and then by place. Only `applyHappening` writes it. */
export type WaitingStays = Map<string, Map<number, RecordedStay>>;

/** The changes of a stay before the end, in no order. */
export function happeningsOf(stay: RehearsedStay, place: number, end: Instant): Happening[] {
  const { stuckAt, recorded } = stay;
  const { leftAt, unwatchedAt, paidAt } = recorded;
  // Infinity while it is watched and its order is not paid.
  const gone = Math.min(...[unwatchedAt, paidAt].filter((at) => at !== null));
  const goneAt = stuckAt === null ? null : Math.max(gone, stuckAt);
  const moments = [
    { at: stuckAt, what: 'stuck' },
    { at: leftAt, what: 'left' },
    { at: goneAt, what: 'gone' },
  ] as const;
  return moments.flatMap(({ at, what }) => (at === null || at >= end ? [] : [{ at, place, what, stay }]));
}

export function applyHappening(waiting: WaitingStays, { place, what, stay }: Happening): void {
  const key = placeKey(stay.recorded);
  const here = waiting.get(key) ?? new Map<number, RecordedStay>();
  waiting.set(key, here);
  if (what === 'stuck') here.set(place, stay.recorded);
  else here.delete(place);
}

/** The customers who wait where there is an alarm, of those who came since it began. */
export function stuckOf(waiting: WaitingStays, detections: readonly Detection[]): StuckCount[] {
  return detections.flatMap((detection) => {
    const { site, state, alarm } = detection;
    if (alarm === null) return [];
    const all = [...(waiting.get(placeKey(detection))?.values() ?? [])];
    const here = all.filter(({ enteredAt }) => enteredAt >= alarm.since);
    const first = here.reduce((least, { enteredAt }) => Math.min(least, enteredAt), Number.POSITIVE_INFINITY);
    const count = new Set(here.map(({ customer }) => customer)).size;
    return [{ site, state, count, since: here.length === 0 ? null : first }];
  });
}
