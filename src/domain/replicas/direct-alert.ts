/**
 * When a replica posts to the channels for people itself: while the database cannot keep an alert or its delivery. Once for
 * each such time; the end is alerted by the judge, from the post as the database keeps it afterwards. Pure; moments are of the
 * monotonic clock.
 */
import type { Milliseconds } from '../values/time.ts';

export interface DirectAlert {
  /** When alerting through the database was first seen not to work. */
  readonly seenAt: Milliseconds;
  /** People were alerted. */
  readonly isAlerted: boolean;
  /** Since when nothing is wrong any more; null while something is. */
  readonly calmSince: Milliseconds | null;
}

export interface Circumstances {
  /** Something keeps this replica from its work. */
  readonly isTroubled: boolean;
  /** Alerts cannot be stored, or their deliveries cannot be settled. */
  readonly isBlind: boolean;
  /** How many replicas post before this one; see `rankToPost`. */
  readonly rank: number;
  readonly now: Milliseconds;
}

/** The replicas that share the work, as one of them last read them from the database. */
export interface Fleet {
  /** The replica that had the judge's lease. */
  readonly judge: string | null;
  readonly others: readonly { readonly id: string; readonly process: string; readonly leaving: boolean }[];
}

/** Seen twice with this much between: a process that was frozen looks blind for a moment. */
const CONFIRMED_AFTER: Milliseconds = 5_000;
/** All must be well for so long before it is over. */
const CALM_FOR: Milliseconds = 30_000;
/** How much longer the second replica waits than the first one; each further one waits four times as much longer as the one before it. */
const NEXT_AFTER: Milliseconds = 60_000;
const LONGER = 4;

/**
 * How many replicas post before this one: the judge's replica is the first, the others follow in the order of their starts.
 * A replica that was leaving, or whose process is known to be gone, is left out.
 */
export function rankToPost(replica: string, { judge, others }: Fleet, isGone: (process: string) => boolean): number {
  const before = (id: string): boolean => replica !== judge && (id === judge || id < replica);
  return others.filter(({ id, process, leaving }) => before(id) && !leaving && !isGone(process)).length;
}

/** How much longer than the first replica one of a rank waits: 0, 1, 5, 21, … minutes, because each further post may repeat the one before. */
function waitOf(rank: number): Milliseconds {
  return (NEXT_AFTER * (LONGER ** rank - 1)) / (LONGER - 1);
}

/** How it goes on, and whether the alert is to be posted now; once it is posted, `posted` follows. */
export function directAlert(
  before: DirectAlert | null,
  { isTroubled, isBlind, rank, now }: Circumstances,
): { readonly after: DirectAlert | null; readonly isDue: boolean } {
  if (before === null || !before.isAlerted) {
    if (!isBlind) return { after: null, isDue: false };
    const after = before ?? { seenAt: now, isAlerted: false, calmSince: null };
    return { after, isDue: now - after.seenAt >= CONFIRMED_AFTER + waitOf(rank) };
  }
  if (isTroubled) return { after: { ...before, calmSince: null }, isDue: false };
  const calmSince = before.calmSince ?? now;
  return { after: now - calmSince >= CALM_FOR ? null : { ...before, calmSince }, isDue: false };
}

/** After a post that a channel took. */
export function posted(alert: DirectAlert): DirectAlert {
  return { ...alert, isAlerted: true };
}
