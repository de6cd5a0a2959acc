/** Texts for when no daemon's lease lasts: a daemon must be started, or none can renew its lease, and another would not help. */

import { humanDuration } from '../values/duration.ts';
import type { Milliseconds } from '../values/time.ts';

/** The message where a daemon is needed, none runs, and one that is started would work. */
export const NO_DAEMON = 'no daemon is running on this database; start one with "purchase-watch start"';

/** Facts that the database has about daemons while no lease lasts. */
export interface DaemonSilence {
  /** False for a standby, and where transactions are read-only: then no daemon can renew its lease. */
  readonly takesWrites: boolean;
  /** Since the last renewal of any daemon's lease; null when there is no lease at all. */
  readonly silentMs: Milliseconds | null;
}

/** Why no daemon can hold a lease, as a sentence without its full stop. */
export function unwritableText({ silentMs }: Pick<DaemonSilence, 'silentMs'>): string {
  if (silentMs === null) return 'The database takes no writes, so no daemon can work on it';
  return `No daemon has renewed its lease for ${humanDuration(Math.round(silentMs))}; the database takes no writes, so none can`;
}

/** The message where a daemon is needed and none runs: a part of a sentence, with what to do. */
export function noDaemonText({ takesWrites }: Pick<DaemonSilence, 'takesWrites'>): string {
  return takesWrites ? NO_DAEMON : 'no daemon can work while the database takes no writes; do not start another one';
}

/** `unwritableText` with what not to do. */
export function unwritableAdvice(silence: Pick<DaemonSilence, 'silentMs'>): string {
  return `${unwritableText(silence)}. Do not start another one.`;
}
