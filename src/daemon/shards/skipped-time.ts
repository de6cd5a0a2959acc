/** Time that the database's clock skipped, as this replica knows it, and noting it so that a restart does not forget it. */

import { LEAST_STEP, type Skip, type SkippedTime, withoutOldest } from '../../domain/values/clock-steps.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { writeSkipped } from '../../postgres/shards/skipped-time.ts';
import type { Deps } from '../deps.ts';

export type SkippedTimeKeeper = ReturnType<typeof createSkippedTime>;

export function createSkippedTime({ sql, clock }: Pick<Deps, 'sql' | 'clock'>) {
  let noted: SkippedTime = [];
  let unnoted: readonly Skip[] = [];
  const suspended = (): Milliseconds => clock.suspended?.() ?? 0;
  let suspendedBefore = suspended();

  return {
    /** Skipped time as of the last reading. Until a skip is noted by each replica that saw it, it may count twice: nothing ends early by that. */
    skipped: (): SkippedTime => (unnoted.length === 0 ? noted : [...noted, ...unnoted]),
    /** Takes over a reading of the database: how its clock stepped since the one before, and what replicas have noted. */
    read: (step: Milliseconds, is: SkippedTime): void => {
      // While this machine was suspended its monotonic clock stood still, and the time passed.
      const asleep = Math.max(suspended() - suspendedBefore, 0);
      suspendedBefore += asleep;
      noted = is;
      const until = clock.now();
      // A skip that ends ahead of the clock was undone: the clock was set back.
      unnoted = unnoted.filter((skip) => skip.until <= until);
      if (step - asleep >= LEAST_STEP) unnoted = [...unnoted, { from: until - Math.round(step - asleep), until }];
    },
    /** Another database answers than before: only what that database has noted counts. */
    forget: (): void => {
      noted = [];
      unnoted = [];
    },
    /** Notes what is not noted. Rejects when the database does; the next reading tries again. */
    note: async (): Promise<void> => {
      if (unnoted.length === 0) return;
      const all = withoutOldest([...noted, ...unnoted]);
      await writeSkipped(sql, all);
      [noted, unnoted] = [all, []];
    },
  };
}
