/**
 * When a replica posts to the channels for people itself: while the database cannot keep an alert or its delivery. Once for
 * each such time, and once when it is over. Pure; moments are of the monotonic clock.
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
  /** This replica is the one that alerts: it held the judge's lease last, or cannot know who did. */
  readonly mayAlert: boolean;
  readonly now: Milliseconds;
}

/** Seen twice with this much between: a process that was frozen looks blind for a moment. */
const CONFIRMED_AFTER: Milliseconds = 5_000;
/** All must be well for so long before it is over. */
const CALM_FOR: Milliseconds = 30_000;

/** How it goes on, and what is to be posted now; once it is posted, `posted` follows. */
export function directAlert(
  before: DirectAlert | null,
  { isTroubled, isBlind, mayAlert, now }: Circumstances,
): { readonly after: DirectAlert | null; readonly post: 'opened' | 'ended' | null } {
  if (before === null || !before.isAlerted) {
    if (!isBlind) return { after: null, post: null };
    const after = before ?? { seenAt: now, isAlerted: false, calmSince: null };
    return { after, post: mayAlert && now - after.seenAt >= CONFIRMED_AFTER ? 'opened' : null };
  }
  if (isTroubled) return { after: { ...before, calmSince: null }, post: null };
  const calmSince = before.calmSince ?? now;
  return { after: { ...before, calmSince }, post: now - calmSince >= CALM_FOR ? 'ended' : null };
}

/** After a post that a channel took. */
export function posted(alert: DirectAlert, stage: 'opened' | 'ended'): DirectAlert | null {
  return stage === 'opened' ? { ...alert, isAlerted: true } : null;
}
