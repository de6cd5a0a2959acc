/** What a replica does when the database's clock steps: nothing rests until the clock catches up, and the log says it. */

import type { Holding } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { moveDueBack } from '../../postgres/shards/step-back.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';

export interface ClockStepOptions {
  readonly sql: Sql;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  readonly replica: string;
}

export function createClockStep({ sql, clock, log, replica }: ClockStepOptions) {
  return async (step: Milliseconds, holdings: readonly Holding[]): Promise<void> => {
    const byMs = Math.round(step);
    if (step > 0) {
      const advice =
        'check the time synchronisation of the database host (or this machine was suspended); purchases are polled now, and no purchase is called stuck for the time that was skipped';
      log.warn({ byMs, advice }, 'clock.stepped');
      return;
    }
    const advice = 'check the time synchronisation of the database host; polls and deliveries are due as much earlier';
    log.warn({ byMs, advice }, 'clock.stepped');
    const moved = await moveDueBack(sql, { replica, holdings, now: clock.now(), by: byMs * -1 });
    log.info({ byMs, ...moved }, 'clock.step_followed');
  };
}
