/**
 * Numbers that stays teach over the days: the usual ones of each state of a site, and the limits that are learned. The same rules
 * as those of the tables that the daemon keeps, here in memory. Deterministic, without I/O.
 */

import { type PollPolicy, policyOf } from '../polling/poll-plan.ts';
import { DAY, type Instant } from '../values/time.ts';
import { autoLimit, configuredLimit, type Dwell, type DwellCount, dwellOf, mostLimit, type StuckLimit } from './dwell.ts';
import { placeKey } from './stay.ts';
import { type DwellChange, dayOf, type StayChange } from './stay-counts.ts';
import { type CountedUsual, usualOf } from './usual.ts';

/** So many days count, today included. */
const DAYS = 14;

export type Learned = ReturnType<typeof createLearned>;

type DayCounts = { well: number; overdue: number; calmWell: number; calmStuck: number };
type Histogram = Map<number, { shortest: number; longest: number }>;
interface Place {
  readonly site: string;
  readonly state: number;
  readonly stays: Map<string, DayCounts>;
  readonly dwell: Map<string, Histogram>;
}

export function createLearned(policy: PollPolicy) {
  const places = new Map<string, Place>();
  let own = new Map<string, Dwell | null>();
  let pooled = new Map<number, Dwell | null>();
  const most = mostLimit(policy.sessionLength);

  const placeOf = (site: string, state: number): Place => {
    const key = placeKey({ site, state });
    const place: Place = places.get(key) ?? { site, state, stays: new Map(), dwell: new Map() };
    places.set(key, place);
    return place;
  };

  return {
    add: ({ dwell, stays }: { readonly dwell: readonly DwellChange[]; readonly stays: readonly StayChange[] }): void => {
      for (const { site, state, day, calm, well, overdue } of stays) {
        const days = placeOf(site, state).stays;
        const was = days.get(day) ?? { well: 0, overdue: 0, calmWell: 0, calmStuck: 0 };
        const is = { ...was, well: was.well + well, overdue: was.overdue + overdue };
        days.set(day, calm ? { ...is, calmWell: was.calmWell + well, calmStuck: was.calmStuck + overdue } : is);
      }
      for (const { site, state, day, bucket, shortest, longest } of dwell) {
        const days = placeOf(site, state).dwell;
        const histogram: Histogram = days.get(day) ?? new Map();
        const was = histogram.get(bucket) ?? { shortest: 0, longest: 0 };
        days.set(day, histogram.set(bucket, { shortest: was.shortest + shortest, longest: was.longest + longest }));
      }
    },

    /** Forgets days that count no more, and learns limits from those that do. */
    learn: (now: Instant): void => {
      const first = dayOf(now - (DAYS - 1) * DAY);
      const counts = [...places.values()].map((place) => {
        for (const days of [place.stays, place.dwell]) for (const day of days.keys()) if (day < first) days.delete(day);
        return { ...place, counts: [...place.dwell.values()].flatMap(countsOf) };
      });
      own = new Map(counts.map((place) => [placeKey(place), dwellOf(place.counts)]));
      const byState = [...Map.groupBy(counts, ({ state }) => state)];
      pooled = new Map(byState.map(([state, some]) => [state, dwellOf(some.flatMap((each) => each.counts))]));
    },

    usual: (site: string, state: number, now: Instant): CountedUsual => {
      const days = [...placeOf(site, state).stays];
      const sum = (value: (day: DayCounts) => number): number => days.reduce((total, [, day]) => total + value(day), 0);
      const first = days.reduce((least, [day]) => Math.min(least, Date.parse(day)), Number.POSITIVE_INFINITY);
      return usualOf({
        stays: sum(({ well, overdue }) => well + overdue),
        calm: sum(({ calmWell, calmStuck }) => calmWell + calmStuck),
        calmStuck: sum(({ calmStuck }) => calmStuck),
        days: days.length === 0 ? null : (now - first) / DAY,
      });
    },

    /** As learned last. */
    limitOf: (site: string, state: number): StuckLimit => {
      const { stuckAfter, auto } = policyOf(policy, state);
      const ofSite = own.get(placeKey({ site, state })) ?? null;
      if (!auto || stuckAfter === null) return configuredLimit(stuckAfter, ofSite, state);
      return autoLimit({ own: ofSite, pooled: pooled.get(state) ?? null, fallback: stuckAfter, most });
    },
  };
}

/** Days add up: the same bucket may come more than once. */
function countsOf(histogram: Histogram): DwellCount[] {
  return [...histogram].map(([bucket, count]) => ({ bucket, ...count }));
}
