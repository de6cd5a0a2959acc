/** Notes each step of the database's clock before a shard changes hands, and brings what was written before a step back in line. */

import type { Holding } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { forgetStepBack, noteStepBack } from '../../postgres/shards/replicas.ts';
import type { Deps } from '../deps.ts';
import type { HeldShards } from './held-shards.ts';

/** Moves times that could not be moved before, and answers whether all are moved by now. */
export type MoveRest = () => Promise<boolean>;

export interface StepFollowingOptions extends Pick<Deps, 'sql' | 'replica'> {
  readonly shards: HeldShards;
  /**
   * The database's clock stepped by so much, back when negative, and what was written to these shards before; asked again
   * with the next tick while it fails. What is left to be moved later may be answered.
   */
  readonly onStep?: ((step: Milliseconds, holdings: readonly Holding[]) => Promise<MoveRest | null>) | undefined;
}

export type StepFollowing = ReturnType<typeof createStepFollowing>;

export function createStepFollowing({ sql, replica, shards, onStep }: StepFollowingOptions) {
  /** By how much the clock stepped since its last step was noted. */
  let stepped: Milliseconds = 0;
  let moveRest: MoveRest | null = null;
  return {
    /** The database's clock stepped by so much since the reading before. */
    add: (step: Milliseconds): void => {
      stepped += step;
    },
    /** Before any shard is released: its next owner must know of the step, too. */
    note: async (): Promise<void> => {
      if (stepped < 0) {
        await noteStepBack(sql, replica, -stepped);
        shards.setBack(-stepped);
      } else if (stepped > 0) await onStep?.(stepped, []);
      stepped = 0;
    },
    /** Brings the shards that were written to before a step back in line with the clock. */
    follow: async (): Promise<void> => {
      const { holdings, by } = shards.ahead();
      if (holdings.length === 0) {
        if (await moveRest?.()) moveRest = null;
        return;
      }
      moveRest = (await onStep?.(-by, holdings)) ?? null;
      await forgetStepBack(
        sql,
        replica,
        holdings.map(({ shard }) => shard),
      );
      shards.caughtUp();
    },
  };
}
