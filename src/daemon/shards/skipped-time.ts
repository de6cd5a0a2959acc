/** What this replica knows of the time that the database's clock skipped, and noting it so that a restart does not forget it. */

import { LEAST_STEP } from '../../domain/values/clock-ahead.ts';
import { afterStep, type SkippedTime, setBackSince } from '../../domain/values/skipped-time.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { type ClockSteps, noteClockSteps } from '../../postgres/shards/skipped-time.ts';
import type { Deps } from '../deps.ts';

export type SkippedTimeKeeper = ReturnType<typeof createSkippedTime>;

export function createSkippedTime({ sql, clock }: Pick<Deps, 'sql' | 'clock'>) {
  let noted: ClockSteps | null = null;
  /** By how much the clock stepped beyond what is noted. */
  let unnoted: Milliseconds = 0;
  let skipped: SkippedTime = [];
  const suspended = (): Milliseconds => clock.suspended?.() ?? 0;
  let suspendedBefore = suspended();

  return {
    /** What the clock skipped, as of the last reading. */
    skipped: (): SkippedTime => skipped,
    /** Takes over a reading of the database: how its clock stepped since the one before, and what replicas have noted. */
    read: (step: Milliseconds, is: ClockSteps): void => {
      // While this machine was suspended its monotonic clock stood still, and the time passed.
      const asleep = Math.max(suspended() - suspendedBefore, 0);
      suspendedBefore += asleep;
      const seen = Math.round(noted === null ? -setBackSince(is.skipped, clock.now()) : step === 0 ? 0 : step - asleep);
      const byOthers = noted === null ? 0 : is.stepped - noted.stepped;
      // Others may have measured a little more or less, and what this replica did not see is theirs.
      const left = Math.abs(seen) >= LEAST_STEP || unnoted !== 0 ? unnoted + seen - byOthers : 0;
      unnoted = Math.abs(left) >= LEAST_STEP ? left : 0;
      noted = is;
      skipped = unnoted === 0 ? is.skipped : afterStep(is.skipped, { by: unnoted, now: clock.now() });
    },
    /** Another database answers than before: only what that database has noted counts. */
    forget: (): void => {
      noted = null;
      unnoted = 0;
      skipped = [];
    },
    /** Notes what no other replica has noted. Rejects when the database does; the next reading tries again. */
    note: async (): Promise<void> => {
      if (noted === null || unnoted === 0) return;
      const all = { stepped: noted.stepped + unnoted, skipped };
      if (!(await noteClockSteps(sql, all, noted))) return;
      noted = all;
      unnoted = 0;
    },
  };
}
