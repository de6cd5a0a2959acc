/**
 * Whether a loop of the daemon does its work, what it writes in the background included. Pure; moments are of the monotonic
 * clock.
 */

import type { ReplicaTroubleReason } from '../incidents/replica-trouble.ts';
import type { Milliseconds } from '../values/time.ts';

/** Failures of one kind of work without a success in between. */
export interface Failing {
  readonly since: Milliseconds;
  /** The latest of them. */
  readonly last: Milliseconds;
  readonly error: string;
}

/** A loop, as far as it says that work is done. */
export interface LoopSeen {
  readonly name: string;
  /** How long ago a round of it ended well while nothing that it writes failed for long; null while none ever did. */
  readonly goodAgo: Milliseconds | null;
  /** For how long its work has been failing, and the last error; null unless that is a minute at least (half of it beside another such loop). */
  readonly failing: { readonly for: Milliseconds; readonly error: string } | null;
}

/** Work that fails for so long is trouble: retries take at most half of it, so a blip is none. */
const LONG: Milliseconds = 60_000;
/** A failure so long ago, with none after it, says nothing any more: what failed is another replica's work, or gone. */
const OUTDATED: Milliseconds = 2 * 60_000;
/** A loop whose last good round is older than this hangs. */
export const HANGS_AFTER: Milliseconds = 2 * 60_000;

/** Adds a failure to those before it. */
export function failedAgain(before: Failing | undefined, error: string, now: Milliseconds): Failing {
  const isNew = before === undefined || now - before.last > OUTDATED;
  return { since: isNew ? now : before.since, last: now, error };
}

/** Enough for a loop beside another whose failures are long: one cause stops both, and the alert lists both. */
export const LONG_BESIDE: Milliseconds = LONG / 2;

/** The failures that have lasted for `least` and go on, of all kinds of work the oldest; null when there are none. */
export function longFailure(kinds: Iterable<Failing>, now: Milliseconds, least = LONG): Failing | null {
  const long = [...kinds].filter(({ since, last }) => last - since >= least && now - last <= OUTDATED);
  return long.sort((one, other) => one.since - other.since)[0] ?? null;
}

/** The trouble of a replica while a loop does not do its work, by the loop's name; other loops can wait. */
const REASONS: ReadonlyMap<string, ReplicaTroubleReason> = new Map([
  ['ownership', 'not_recording'],
  ['poller', 'not_recording'],
  ['notifier', 'not_settling'],
  ['judge', 'not_judging'],
]);

/**
 * The loops of the daemon's own work that hang: no round ended well for long, and none failed either. One that fails is no reason to
 * restart the process: a database that is away would be just as far for the next one.
 */
export function hangingLoops(loops: readonly LoopSeen[]): string[] {
  return loops
    .filter((loop) => REASONS.has(loop.name) && loop.failing === null && idleFor(loop) > HANGS_AFTER)
    .map(({ name }) => name);
}

/** How long ago a loop did its work; 0 before it first did. */
const idleFor = ({ goodAgo }: LoopSeen): Milliseconds => goodAgo ?? 0;

/** A reason why a replica cannot do its work, as that replica sees it. */
export interface TroubleSeen {
  readonly reason: ReplicaTroubleReason;
  readonly for: Milliseconds;
  readonly error: string | null;
}

/** The troubles that keep a replica from its work, as its loops show them; each reason once, with the longest failure. */
export function troublesSeen(loops: readonly LoopSeen[]): TroubleSeen[] {
  const found = new Map<ReplicaTroubleReason, TroubleSeen>();
  for (const loop of loops) {
    const reason = REASONS.get(loop.name);
    const idle = idleFor(loop);
    const seen = loop.failing ?? (idle > HANGS_AFTER ? { for: idle, error: null } : null);
    if (reason === undefined || seen === null) continue;
    const known = found.get(reason);
    if (known === undefined || known.for < seen.for) found.set(reason, { reason, ...seen });
  }
  return [...found.values()];
}
