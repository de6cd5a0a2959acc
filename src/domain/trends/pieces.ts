/** A period cut into pieces of equal length by the clocks of a zone. Pure. */
import { DAY, HOUR, type Instant, type Milliseconds } from '../values/time.ts';
import type { Days, Period, TrendRange } from './period.ts';

/** How a zone shows time; see Days. */
export interface ZoneTime extends Days {
  /** The time that local clocks show at a moment, as if it were a time of UTC. */
  local(at: Instant): Milliseconds;
}

/** Lengths of the pieces in which customers are counted, and in which shares and times are compared. */
export const PIECE_LENGTHS: Readonly<Record<TrendRange, { readonly counts: Milliseconds; readonly shares: Milliseconds }>> = {
  '24h': { counts: HOUR, shares: 3 * HOUR },
  '7d': { counts: HOUR, shares: DAY },
  '30d': { counts: DAY, shares: DAY },
  '90d': { counts: DAY, shares: DAY },
};

/** A zone for many moments: asked once for each day of UTC, and again on those on which clocks change. */
export function quickZone({ day, local, instant }: ZoneTime): ZoneTime {
  /** How far clocks are ahead at the beginning of each day of UTC. */
  const offsets = new Map<number, Milliseconds>();
  const offsetFrom = (dayOfUtc: number): Milliseconds => {
    const known = offsets.get(dayOfUtc);
    if (known !== undefined) return known;
    const offset = local(dayOfUtc * DAY) - dayOfUtc * DAY;
    offsets.set(dayOfUtc, offset);
    return offset;
  };
  /** Null on a day on which clocks change. */
  const offsetOn = (at: Instant): Milliseconds | null => {
    const dayOfUtc = Math.floor(at / DAY);
    const offset = offsetFrom(dayOfUtc);
    return offset === offsetFrom(dayOfUtc + 1) ? offset : null;
  };
  return {
    day,
    local: (at) => {
      const offset = offsetOn(at);
      return offset === null ? local(at) : at + offset;
    },
    instant: (wanted) => {
      // The moment lies within a day of the same time in UTC: it is known where clocks do not change around that.
      const [offset, ...others] = [-DAY, 0, DAY].map((by) => offsetOn(wanted + by));
      return offset == null || others.some((other) => other !== offset) ? instant(wanted) : wanted - offset;
    },
  };
}

/** The place of a moment among the pieces of a period, from 0 on. */
export function placeIn(period: Period, length: Milliseconds, local: (at: Instant) => Milliseconds): (at: Instant) => number {
  const begin = local(period.from);
  return (at) => Math.floor((local(at) - begin) / length);
}

/** An hour of the week by local clocks. */
export interface WeekHour {
  /** 1: Monday. */
  readonly weekday: number;
  /** Of the day, from 0 to 23. */
  readonly hour: number;
}

/** The hour of the week that a local time, given as one of UTC, is in. */
export const weekHourOf = (local: Milliseconds): WeekHour => ({
  weekday: ((new Date(local).getUTCDay() + 6) % 7) + 1,
  hour: new Date(local).getUTCHours(),
});

/** The hours of UTC that begin in a period and in one of these hours of the week, as `local` shows their beginnings. */
export function hoursIn(
  { from, to }: Period,
  local: (at: Instant) => Milliseconds,
  isWanted: (hour: WeekHour) => boolean,
): Instant[] {
  const first = Math.ceil(from / HOUR) * HOUR;
  const hours = Array.from({ length: Math.max(0, Math.ceil((to - first) / HOUR)) }, (_, at) => first + at * HOUR);
  return hours.filter((hour) => isWanted(weekHourOf(local(hour))));
}

/** The pieces of a period. A piece on whose day clocks change is an hour longer or shorter. */
export function piecesOf(period: Period, length: Milliseconds, zone: ZoneTime): Period[] {
  const begin = zone.local(period.from);
  const count = Math.ceil((zone.local(period.to) - begin) / length);
  const edge = (place: number): Instant =>
    place === 0 ? period.from : place >= count ? period.to : zone.instant(begin + place * length);
  return Array.from({ length: count }, (_, place) => ({ from: edge(place), to: edge(place + 1) }));
}
