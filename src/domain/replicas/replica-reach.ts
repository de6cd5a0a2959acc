/**
 * Whether a replica leaves its shards to the others, because it does not reach what another replica reaches. It goes only
 * while another replica can do the work, for a bounded time, and takes its share back when it reaches something again. Pure.
 */

import type { SiteTrouble } from '../polling/reach.ts';
import { HOUR, type Instant, type Milliseconds } from '../values/time.ts';

/** Moment on a monotonic clock, in milliseconds. */
type Moment = number;

/** Nothing at all is reached of one kind. */
export interface NothingReached {
  readonly since: Instant;
  readonly error: string;
}

export interface Participation {
  /** Until when the shards are left to the others at most; null while this replica takes part. */
  readonly awayUntil: Moment | null;
  /** For how long the next time. */
  readonly wait: Milliseconds;
  /** Since when it takes part and reaches nothing; null otherwise. */
  readonly tryingSince: Moment | null;
}

export const TAKING_PART: Participation = { awayUntil: null, wait: 5 * 60_000, tryingSince: null };

/** Failing for so long before the shards are left: longer than a deploy of the network takes, shorter than an alert. */
const TRIES_FOR: Milliseconds = 30_000;
const LONGEST_WAIT: Milliseconds = HOUR;
/** A success of another replica counts when it came so long after this replica's failures began: one under way says nothing. */
export const CLEARLY_AFTER: Milliseconds = 10_000;

/** The participation after a look. `othersReach`: another replica that takes part reaches what this one does not. */
export function afterLook(
  before: Participation,
  { isUnreached, othersReach, now }: { isUnreached: boolean; othersReach: boolean; now: Moment },
): Participation {
  if (!isUnreached) return TAKING_PART;
  const { awayUntil, wait, tryingSince } = before;
  if (awayUntil !== null) {
    if (othersReach && now < awayUntil) return before;
    return { awayUntil: null, wait: Math.min(2 * wait, LONGEST_WAIT), tryingSince: now };
  }
  const since = tryingSince ?? now;
  return othersReach && now - since >= TRIES_FOR
    ? { awayUntil: now + wait, wait, tryingSince: null }
    : { ...before, tryingSince: since };
}

/** How one replica reads one site. */
export interface ReplicaSiteReach {
  readonly site: string;
  readonly replica: string;
  /** Whether the replica has left its shards to the others. */
  readonly isAway: boolean;
  readonly lastReadAt: Instant | null;
  readonly failingSince: Instant | null;
  readonly reason: SiteTrouble | null;
  readonly error: string | null;
}

/**
 * The sites that a replica cannot read while another one can that reads everything this replica reads: then the other does
 * the work better. Null when there is no such replica, or nothing fails.
 */
export function outdone(rows: readonly ReplicaSiteReach[], replica: string): NothingReached | null {
  const mine = rows.filter((row) => row.replica === replica);
  const failing = mine.filter(({ failingSince }) => failingSince !== null);
  const reading = rows.filter((row) => !row.isAway);
  // Its own rows among them change nothing: where it fails, it reads no better than itself.
  for (const theirs of Map.groupBy(reading, (row) => row.replica).values()) {
    const readsAll = mine.every(
      ({ site, failingSince }) => failingSince !== null || theirs.find((row) => row.site === site)?.failingSince == null,
    );
    const better = failing.filter(({ site, failingSince }) =>
      theirs.some(
        (row) => row.site === site && row.failingSince === null && (row.lastReadAt ?? 0) > failingSince! + CLEARLY_AFTER,
      ),
    );
    if (!readsAll || better.length === 0) continue;
    const since = Math.min(...better.map(({ failingSince }) => failingSince!));
    return { since, error: better.map(({ site, error }) => `Site ${site}: ${error ?? 'no usable answer.'}`).join(' ') };
  }
  return null;
}
