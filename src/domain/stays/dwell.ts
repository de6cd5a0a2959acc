/**
 * How long customers stay in a state before they get on, and the limit that follows from it. Dwell times are counted in
 * buckets on a logarithmic scale, once by the shortest and once by the longest time that the polls around the exit allow. Pure.
 */

import { defaultPolicyOf } from '../polling/poll-plan.ts';
import { humanDuration } from '../values/duration.ts';
import { MINUTE, type Milliseconds, SECOND } from '../values/time.ts';

/** Buckets for each doubling of the time: neighbours differ by 19 %. */
export const PER_DOUBLING = 4;
/** Ends above 40 days, which is longer than a purchase is watched without a change by default; what lasts longer counts here. */
export const LAST_BUCKET = Math.ceil(Math.log2(40 * 24 * 60 * 60) * PER_DOUBLING);

/** The bounds of a bucket in milliseconds: from `from` on and shorter than `below`. Bucket 0 is everything below a second. */
export function boundsOf(bucket: number): { readonly from: Milliseconds; readonly below: Milliseconds } {
  return { from: bucket === 0 ? 0 : upperBound(bucket - 1), below: upperBound(bucket) };
}

function upperBound(bucket: number): Milliseconds {
  return SECOND * 2 ** (bucket / PER_DOUBLING);
}

/** The bucket of a dwell time, from 0 on. */
export function bucketOf(dwell: Milliseconds): number {
  if (dwell < SECOND) return 0;
  const reckoned = Math.min(1 + Math.floor(Math.log2(dwell / SECOND) * PER_DOUBLING), LAST_BUCKET);
  // At a bound the logarithm may fall on either side of it.
  if (dwell < boundsOf(reckoned).from) return reckoned - 1;
  return reckoned < LAST_BUCKET && dwell >= upperBound(reckoned) ? reckoned + 1 : reckoned;
}

/** Good exits in one bucket. */
export interface DwellCount {
  readonly bucket: number;
  /** Exits whose shortest possible dwell time lies here. */
  readonly shortest: number;
  /** Exits whose longest possible dwell time lies here. */
  readonly longest: number;
}

/** How long customers who get on stay in a state. */
export interface Dwell {
  /** The median. */
  readonly usual: Milliseconds;
  /** At least 95 % got on faster than this. */
  readonly p95: Milliseconds;
  /** Good exits that this is known from. */
  readonly purchases: number;
}

/** The dwell times by counts, in any order; null where the counts are empty. */
export function dwellOf(counts: readonly DwellCount[]): Dwell | null {
  const ordered = counts.toSorted((a, b) => a.bucket - b.bucket);
  const purchases = ordered.reduce((sum, { longest }) => sum + longest, 0);
  const byShortest = bucketAt(ordered, 0.5, ({ shortest }) => shortest);
  const byLongest = bucketAt(ordered, 0.5, ({ longest }) => longest);
  const slow = bucketAt(ordered, 0.95, ({ longest }) => longest);
  if (byShortest === null || byLongest === null || slow === null) return null;
  const usual = Math.sqrt(middleOf(byShortest) * middleOf(byLongest));
  return {
    usual: usual < SECOND ? Math.round(usual) : Math.round(usual / SECOND) * SECOND,
    // A limit must never be too short: the longest times, and of the bucket its end.
    p95: Math.ceil(upperBound(slow) / SECOND) * SECOND,
    purchases,
  };
}

/** The first bucket up to which at least this share of all lies. */
function bucketAt(ordered: readonly DwellCount[], share: number, of: (count: DwellCount) => number): number | null {
  const wanted = ordered.reduce((sum, count) => sum + of(count), 0) * share;
  let sum = 0;
  for (const count of ordered) {
    sum += of(count);
    if (sum > 0 && sum >= wanted) return count.bucket;
  }
  return null;
}

function middleOf(bucket: number): Milliseconds {
  const { from, below } = boundsOf(bucket);
  return from === 0 ? below / 2 : Math.sqrt(from * below);
}

/** So many good exits say what is usual. */
export const ENOUGH_EXITS = 50;
/** The automatic limit while nothing is known, in a state that has no limit by default. */
export const FIRST_LIMIT: Milliseconds = 15 * MINUTE;
const LEAST_LIMIT: Milliseconds = 5 * MINUTE;
/** So much of a session must be left when its purchase is called stuck. */
const SLACK: Milliseconds = 5 * MINUTE;
/** A session of this length leaves room for the least limit. */
export const SHORTEST_SESSION: Milliseconds = LEAST_LIMIT + SLACK;
const TIMES_P95 = 3;

/** Where a limit comes from: settings, the exits of the site, those of all sites, or the default, as too few are known. */
export const LIMIT_SOURCES = ['configured', 'learned', 'pooled', 'default'] as const;
export type LimitSource = (typeof LIMIT_SOURCES)[number];

/** When a stay in a state of a site becomes stuck, and what that rests on. */
export interface StuckLimit {
  /** Null: never. */
  readonly ms: Milliseconds | null;
  readonly source: LimitSource;
  /**
   * Of `learned` what the limit rests on; of `pooled` the same over all sites; of `configured` what the site's exits say
   * beside it; null while that is fewer than `ENOUGH_EXITS`. Of `default` what there is so far, which may be a single exit.
   */
  readonly dwell: Dwell | null;
  /** Of `configured`: whether it is the default of the state, so that no person need have written it. */
  readonly isDefault?: boolean;
}

/** The longest limit that a session of this length has room for. */
export function mostLimit(sessionLength: Milliseconds): Milliseconds {
  return Math.max(sessionLength - SLACK, LEAST_LIMIT);
}

/**
 * Three times what 95 % need, between five minutes and `most`; the default, clamped as well, while too few exits are known. `pooled` is
 * over all sites, this one included.
 */
export function autoLimit({
  own,
  pooled,
  fallback,
  most,
}: Record<'own' | 'pooled', Dwell | null> & Record<'fallback' | 'most', Milliseconds>): StuckLimit & {
  readonly ms: Milliseconds;
} {
  const clamped = (limit: Milliseconds): Milliseconds => Math.min(Math.max(limit, LEAST_LIMIT), most);
  if (isEnough(own)) return { ms: clamped(TIMES_P95 * own.p95), source: 'learned', dwell: own };
  if (isEnough(pooled)) return { ms: clamped(TIMES_P95 * pooled.p95), source: 'pooled', dwell: pooled };
  return { ms: clamped(fallback), source: 'default', dwell: own };
}

/** The limit of a state in the settings, which is the state's default unless they name another, with what is known of the site's customers beside it. */
export function configuredLimit(ms: Milliseconds | null, own: Dwell | null, state: number): StuckLimit {
  return { ms, source: 'configured', dwell: isEnough(own) ? own : null, isDefault: ms === defaultPolicyOf(state).stuckAfter };
}

function isEnough(dwell: Dwell | null): dwell is Dwell {
  return dwell !== null && dwell.purchases >= ENOUGH_EXITS;
}

/**
 * The working of a limit: `11 min here; usual 38 s, 95 % under 2 min 10 s, limit 6 min 30 s, from 412 purchases`.
 * `spent` is the time in the state that counts, or null where no purchase is meant.
 */
export function workingText(limit: StuckLimit, spent: Milliseconds | null): string {
  const here = spent === null ? '' : `${humanDuration(Math.floor(spent / SECOND) * SECOND)} here; `;
  return `${here}${limitText(limit)}`;
}

function limitText({ ms, source, dwell, isDefault }: StuckLimit): string {
  if (ms === null) return 'no limit';
  const limit = `limit ${humanDuration(ms)}`;
  if (source === 'default') {
    return `${limit}, the default, as too little is known yet (${dwell?.purchases ?? 0} of ${ENOUGH_EXITS} purchases)`;
  }
  const written = `${limit}${isDefault ? ', the default' : ' as configured'}`;
  if (dwell === null) return written;
  const known = `usual ${humanDuration(dwell.usual)}, 95 % under ${humanDuration(dwell.p95)}`;
  const from = `from ${dwell.purchases} purchases${source === 'pooled' ? ' of all sites' : ''}`;
  if (source === 'configured') return `${known}, ${from}; ${written}`;
  return `${known}, ${limit}${clampText(ms, dwell)}, ${from}`;
}

/** Why a limit is not three times what 95 % need. */
function clampText(ms: Milliseconds, { p95 }: Dwell): string {
  if (ms === TIMES_P95 * p95) return '';
  return ms === LEAST_LIMIT && ms > TIMES_P95 * p95 ? ' (the shortest)' : ' (the longest that the session leaves room for)';
}

/** How long customers who get on stay, as programs are shown it. */
export const dwellBody = (dwell: Dwell | null) =>
  dwell === null ? null : { usualMs: dwell.usual, p95Ms: dwell.p95, purchases: dwell.purchases };

/** A limit with its working in words, as programs are shown it; null where there is none. */
export function shownLimit(limit: StuckLimit, spent: Milliseconds | null) {
  const { ms, source, dwell } = limit;
  if (ms === null) return null;
  const known = { usualMs: dwell?.usual ?? null, p95Ms: dwell?.p95 ?? null, purchases: dwell?.purchases ?? null };
  return { limitMs: ms, source, ...known, text: workingText(limit, spent) };
}

export type ShownLimit = NonNullable<ReturnType<typeof shownLimit>>;
