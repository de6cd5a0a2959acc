/** How purchases flow from state to state: what was counted beside what is usual, and how long purchases have waited. Pure. */

import { numberOf } from '../purchases/states.ts';
import { HOUR, type Instant, MINUTE, type Milliseconds } from '../values/time.ts';

/** Transitions are counted in buckets of this length, which begin at the same minutes everywhere (postgres/polling/transition-counts.ts). */
const BUCKET: Milliseconds = 10 * MINUTE;
/** The usual number of transitions is the mean over this number of days before, working days and weekends alike: counts are kept for 15 days, too few for one weekday. */
export const USUAL_DAYS = 14;
/** Of fewer days, a mean says little. */
export const ENOUGH_DAYS = 3;
/** An edge without a transition in the hour is missed only where the usual number is at least this. */
const MISSED = 1;

/** The hour whose transitions are shown: the present bucket, as far as it has passed, and the six before. */
export interface FlowHour {
  readonly from: Instant;
  /** The begin of the present bucket. */
  readonly present: Instant;
  readonly to: Instant;
}

/** The last whole ten minutes: how purchases stand is noted at such moments (actions/then/snapshots.ts). */
export const tenMinutesAt = (now: Instant): Instant => Math.floor(now / BUCKET) * BUCKET;
/** The next of these moments, or the moment itself where it is one. */
export const tenMinutesFrom = (at: Instant): Instant => Math.ceil(at / BUCKET) * BUCKET;

/** The ten minutes up to a moment of `tenMinutesAt`, and the hour up to it. */
export const tenMinutesBefore = (at: Instant): FlowHour => ({ from: at - BUCKET, present: at - BUCKET, to: at });
export const hourBefore = (at: Instant): FlowHour => ({ from: at - HOUR, present: at - BUCKET, to: at });

/** The hour up to a moment: between 60 and 70 minutes. */
export function hourUntil(now: Instant): FlowHour {
  const present = tenMinutesAt(now);
  return { from: present - HOUR, present, to: now };
}

/** A way from state to state; from null: the first observation. */
interface Way {
  readonly from: number | null;
  readonly to: number;
}

/** Transitions of one site in the hour. */
export interface SiteEdge extends Way {
  readonly site: string;
  readonly count: number;
}

/** The usual transitions of a site at this time of day, where enough days are known; `ways` is empty where none are usual. */
export interface SiteUsual {
  readonly site: string;
  /** Days that the mean rests on. */
  readonly days: number;
  readonly ways: readonly (Way & { readonly mean: number })[];
}

/**
 * The edges of all sites together, the busiest first: those with transitions in the hour, and those that usually have at least one.
 * `usual` is the mean of the days before at this time of day, over the sites of which it is known; null while it is known of none.
 */
export function edgesOf(counts: readonly SiteEdge[], known: readonly SiteUsual[]) {
  const edges = new Map<string, { from: number | null; to: number; count: number; mean: number }>();
  const edgeOf = ({ from, to }: Way) => {
    const key = `${from} ${to}`;
    const edge = edges.get(key) ?? { from, to, count: 0, mean: 0 };
    edges.set(key, edge);
    return edge;
  };
  for (const each of counts) edgeOf(each).count += each.count;
  for (const way of known.flatMap(({ ways }) => ways)) edgeOf(way).mean += way.mean;
  return [...edges.values()]
    .filter(({ count, mean }) => count > 0 || mean >= MISSED)
    .map(({ mean, ...edge }) => ({ ...edge, usual: known.length === 0 ? null : Math.round(mean * 100) / 100 }))
    .sort((a, b) => b.count - a.count || (b.usual ?? 0) - (a.usual ?? 0) || (a.from ?? -1) - (b.from ?? -1) || a.to - b.to);
}

/** Of fewer purchases than this that usually complete, less than half is no wonder. */
const ENOUGH_USUAL = 10;

/** Completed purchases of the hour, and how many usually complete in it: null unless `isKnown`, that is of a site at least. */
export function completionsOf(edges: ReturnType<typeof edgesOf>, isKnown: boolean) {
  const ways = edges.filter(({ to }) => to === numberOf('Completed'));
  const usual = ways.reduce((sum, edge) => sum + (edge.usual ?? 0), 0);
  return { completed: ways.reduce((sum, { count }) => sum + count, 0), usual: isKnown ? usual : null };
}

/** Whether so few purchases complete that people should know. */
export function areFewerThanUsual({ completed, usual }: ReturnType<typeof completionsOf>): boolean {
  return usual !== null && usual >= ENOUGH_USUAL && completed < usual / 2;
}

/** Before the form is shown and in it, customers may stay as long as they like. */
const AT_LEISURE: ReadonlySet<number> = new Set([numberOf('New'), numberOf('BeingProcessed')]);

/** Whether the ages of purchases in a state are shown: where a limit holds, and where customers wait for something. */
export function showsAges({ state, final, hasLimit }: { state: number; final: boolean; hasLimit: boolean }): boolean {
  return !final && (hasLimit || !AT_LEISURE.has(state));
}

export interface WaitingPurchase {
  /** Time in the state that counts, without time in which the purchase could not be polled. */
  readonly age: Milliseconds;
  /** The age as a share of the limit; null where there is none. */
  readonly share: number | null;
  readonly stuck: boolean;
}

/** At most this number of purchases is shown one by one now. */
const MOST_SINGLE = 60;
/** Buckets of a tenth of the limit, up to twice the limit; the last has no end. */
const PER_LIMIT = 10;
const LAST_SHARE = 2 * PER_LIMIT;

/**
 * How long purchases have waited in a state; `waiting` in any order, `count`: how many there are. `oldest`: at most `most` of them.
 * `buckets`: all that were read, by their share of the limit, empty buckets left out; null where each is among the oldest, or no limit
 * holds. `unread`: purchases that were not read; each came later than all that were read of its site.
 */
export function agesOf(waiting: readonly WaitingPurchase[], count: number, most = MOST_SINGLE) {
  const ordered = waiting.toSorted((a, b) => b.age - a.age);
  const unread = Math.max(count - waiting.length, 0);
  const isWhole = ordered.length <= most && unread === 0;
  const hasLimit = ordered.some(({ share }) => share !== null);
  return { oldest: ordered.slice(0, most), buckets: isWhole || !hasLimit ? null : bucketsOf(ordered), unread };
}

/** Counts by shares of the limit: from `from` on and below `below`; null: no end. */
function bucketsOf(waiting: readonly WaitingPurchase[]) {
  const counts = new Array<number>(LAST_SHARE + 1).fill(0);
  for (const { share } of waiting) if (share !== null) counts[Math.min(Math.floor(share * PER_LIMIT), LAST_SHARE)]! += 1;
  return counts.flatMap((count, place) => {
    const below = place === LAST_SHARE ? null : (place + 1) / PER_LIMIT;
    return count === 0 ? [] : [{ from: place / PER_LIMIT, below, count }];
  });
}
