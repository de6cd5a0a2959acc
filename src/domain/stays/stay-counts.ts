/** The counts that stays add to the tables that say what is usual. Pure. */

import type { Instant } from '../values/time.ts';
import { bucketOf, type DwellCount } from './dwell.ts';
import type { SiteStay } from './stay.ts';

/** Good exits of a day by length; see `dwell.ts` for the buckets. */
export interface DwellChange extends DwellCount {
  readonly site: string;
  readonly state: number;
  /** `2026-11-20`, in UTC. */
  readonly day: string;
}

/** Stays of a day by what became of them. */
export interface StayChange {
  readonly site: string;
  readonly state: number;
  readonly day: string;
  /** Whether no incident was open. */
  readonly calm: boolean;
  readonly well: number;
  readonly overdue: number;
  readonly other: number;
}

/** The day of a moment, in UTC. */
export function dayOf(at: Instant): string {
  return new Date(at).toISOString().slice(0, 10);
}

export function createStayCounts() {
  const dwell = new Map<string, { -readonly [Key in keyof DwellChange]: DwellChange[Key] }>();
  const stays = new Map<string, { -readonly [Key in keyof StayChange]: StayChange[Key] }>();
  const ofDwell = ({ site, state, at }: SiteStay, bucket: number) => {
    const day = dayOf(at);
    const key = `${site} ${state} ${day} ${bucket}`;
    const row = dwell.get(key) ?? { site, state, day, bucket, shortest: 0, longest: 0 };
    dwell.set(key, row);
    return row;
  };
  const ofDay = ({ site, state, at }: { site: string; state: number; at: Instant }, calm: boolean) => {
    const day = dayOf(at);
    const key = `${site} ${state} ${day} ${calm}`;
    const row = stays.get(key) ?? { site, state, day, calm, well: 0, overdue: 0, other: 0 };
    stays.set(key, row);
    return row;
  };
  return {
    /** Counts a stay. While an incident is open, nothing is learned of how long stays are. */
    add: (stay: SiteStay, calm: boolean): void => {
      // A stay from before our first look began at no known time; one that ended late was counted when it became stuck.
      if (stay.firstSight || stay.foundLate || stay.outcome === 'late') return;
      ofDay(stay, calm)[stay.outcome] += 1;
      if (stay.outcome !== 'well' || !calm) return;
      ofDwell(stay, bucketOf(stay.shortest)).shortest += 1;
      ofDwell(stay, bucketOf(stay.longest)).longest += 1;
    },
    dwell: (): DwellChange[] => [...dwell.values()],
    stays: (): StayChange[] => [...stays.values()],
  };
}
