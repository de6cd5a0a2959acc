/** Two rehearsals of one time beside each other: which incidents of stuck purchases both find, and which of the two alerts people earlier. Pure. */

import type { Instant, Milliseconds } from '../values/time.ts';

/** Fields that tell incidents of two rehearsals apart. */
export interface ComparedIncident {
  /** Null: several. */
  readonly site: string | null;
  /** Null: several. */
  readonly state: number | null;
  readonly openedAt: Instant;
  readonly endedAt: Instant | null;
  /** Null: no channel was alerted. */
  readonly alertedAt: Instant | null;
}

export type Comparison = ReturnType<typeof compareIncidents>;

/**
 * Pairs incidents in the order in which they opened; each has one counterpart at most, `both` counts those that overlap with one of the
 * present settings at the same place. `earlierMs`: of incidents that both alert of, the median by which the tried settings alert earlier,
 * negative for later; null where there is none.
 */
export function compareIncidents(tried: readonly ComparedIncident[], present: readonly ComparedIncident[]) {
  const left = [...present];
  const earlier: Milliseconds[] = [];
  let both = 0;
  for (const incident of tried) {
    const place = left.findIndex((other) => isSame(incident, other));
    if (place < 0) continue;
    const [{ alertedAt }] = left.splice(place, 1) as [ComparedIncident];
    both += 1;
    if (alertedAt !== null && incident.alertedAt !== null) earlier.push(alertedAt - incident.alertedAt);
  }
  return { both, onlyTried: tried.length - both, onlyPresent: left.length, earlierMs: median(earlier) };
}

/** An incident of several sites or states is the counterpart of one in any of them. */
function isSame(one: ComparedIncident, other: ComparedIncident): boolean {
  const isPlace = <T>(a: T | null, b: T | null): boolean => a === null || b === null || a === b;
  return isPlace(one.site, other.site) && isPlace(one.state, other.state) && isBefore(one, other) && isBefore(other, one);
}

/** Whether one opened before the other was over. */
function isBefore({ openedAt }: ComparedIncident, { endedAt }: ComparedIncident): boolean {
  return endedAt === null || openedAt <= endedAt;
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return null;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
