/** Notes how the purchases stand at every whole ten minutes, so that people can look at it later. */

import { takeSnapshots } from '../../actions/then/snapshots.ts';
import { tenMinutesAt } from '../../domain/flow/flow.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Deps } from '../deps.ts';

/** By then, the changes that polls of the ten minutes showed are recorded. */
const SETTLED_AFTER: Milliseconds = 15_000;
/** A later count would not be of the moment, so none is made. */
const LATEST: Milliseconds = 120_000;

export type Snapshots = ReturnType<typeof createSnapshots>;

export function createSnapshots({ sql, clock, limits }: Pick<Deps, 'sql' | 'clock' | 'limits'>) {
  let taken: Instant | null = null;
  /** Notes the moment if it is time and has not been done. */
  return async (): Promise<void> => {
    const now = clock.now();
    const at = tenMinutesAt(now);
    if (at === taken || now - at < SETTLED_AFTER || now - at > LATEST) return;
    await takeSnapshots(sql, { at, now, limits });
    taken = at;
  };
}
