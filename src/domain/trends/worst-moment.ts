/** When most customers of an incident were stuck at once. Pure. */

import { tenMinutesFrom } from '../flow/flow.ts';
import type { Instant } from '../values/time.ts';
import type { Member } from './aftermath.ts';

/**
 * The first of the whole ten minutes up to `now` at which most purchases were stuck. A purchase is stuck until it leaves its state
 * or its customer has paid with another purchase. Null: none was stuck at any whole ten minutes.
 */
export function worstMoment(members: readonly Member[], now: Instant): Instant | null {
  const changes = new Map<Instant, number>();
  const note = (at: Instant, by: number): unknown => changes.set(tenMinutesFrom(at), (changes.get(tenMinutesFrom(at)) ?? 0) + by);
  for (const { stuckAt, leftAt, endedAt } of members) {
    note(stuckAt, 1);
    note(Math.max(Math.min(leftAt ?? Infinity, endedAt ?? Infinity), stuckAt), -1);
  }
  let [stuck, most, worst]: [number, number, Instant | null] = [0, 0, null];
  for (const [at, change] of [...changes].sort(([one], [other]) => one - other)) {
    stuck += change;
    if (at <= now && stuck > most) [most, worst] = [stuck, at];
  }
  return worst;
}
