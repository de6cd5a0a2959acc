/** What a replica does when the database's clock steps: nothing rests until the clock catches up, and the log says it. */

import type { Holding } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { moveDueBack, type UnmovedRows } from '../../postgres/shards/step-back.ts';
import type { Deps } from '../deps.ts';
import type { MoveRest } from './step-following.ts';

/**
 * A function that follows a step. Where other sessions had locked rows, it answers a function that moves these later, and that
 * answers whether all are moved by now.
 */
export function createClockStep({ sql, clock, log, replica }: Pick<Deps, 'sql' | 'clock' | 'log' | 'replica'>) {
  return async (step: Milliseconds, holdings: readonly Holding[]): Promise<MoveRest | null> => {
    const byMs = Math.round(step);
    if (step > 0) {
      const advice =
        'check the time synchronisation of the database host (or this machine was suspended); purchases are polled now, and no purchase is called stuck for the time that was skipped';
      log.warn({ byMs, advice }, 'clock.stepped');
      return null;
    }
    const advice = 'check the time synchronisation of the database host; polls and deliveries are due as much earlier';
    log.warn({ byMs, advice }, 'clock.stepped');
    const move = (only: UnmovedRows | null) => moveDueBack(sql, { replica, holdings, now: clock.now(), by: byMs * -1 }, only);
    let { left, ...moved } = await move(null);
    log.info({ byMs, ...moved }, 'clock.step_followed');
    if (left === null) return null;
    log.warn({ ...countsOf(left), advice: LOCKED }, 'clock.rows_locked');
    return async () => {
      ({ left, ...moved } = await move(left));
      if (left === null) log.info({ byMs, ...moved }, 'clock.step_followed');
      return left === null;
    };
  };
}

const LOCKED =
  'other sessions have locked these rows, so their times are still ahead; they are moved once the rows are free: end long transactions (pg_stat_activity, xact_start)';

function countsOf({ purchases, firstPolls, deliveries, others }: UnmovedRows) {
  return { purchases: purchases.length + firstPolls.length, deliveries: deliveries.length, others };
}
