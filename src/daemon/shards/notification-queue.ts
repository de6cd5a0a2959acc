/** Warns while the database's queue of notifications fills. */
import { queueTrouble } from '../../domain/replicas/notification-queue.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createRareWarning } from '../../runtime/rare-warning.ts';

/** Makes what takes each reading, from 0 to 1, and logs at most once a minute. `from`: the share that is worth a warning. */
export function createQueueWarning(log: Logger, from?: number): (used: number) => void {
  let last = 0;
  const warn = createRareWarning(() => {
    const { found, advice } = queueTrouble(last, from)!;
    log.warn({ detail: found, advice }, 'database.notifications_fill');
  });
  return (used) => {
    last = used;
    if (queueTrouble(used, from) !== null) warn();
  };
}
