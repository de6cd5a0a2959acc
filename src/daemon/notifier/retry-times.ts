/** When the next retry is due, as far as this replica knows, and when the notifier asks the database again. */
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Clock } from '../../runtime/clock.ts';

export type RetryTimes = ReturnType<typeof createRetryTimes>;

/** Retries that fall due within this time are loaded together. */
const BETWEEN_RETRIES: Milliseconds = 250;

/** Nothing is known; `every`: how often to ask the database. */
export function createRetryTimes({ now, monotonic }: Pick<Clock, 'now' | 'monotonic'>, every: Milliseconds) {
  let next = Number.POSITIVE_INFINITY;
  let askAgainAt: Milliseconds = Number.NEGATIVE_INFINITY;
  const note = (at: Instant): boolean => {
    const isSooner = at < next;
    if (isSooner) next = at;
    return isSooner;
  };
  return {
    /** Something may be sent from this time on. Answers whether that is before all that was known: the loop then rests for too long. */
    note,
    /** Whether a known retry is due, or the database has to be asked. */
    isDue: (): boolean => monotonic() >= askAgainAt || now() >= next,
    /** Takes over the next time that `ask` reads from the database; null: it knows none. */
    refresh: async (ask: () => Promise<Instant | null>): Promise<void> => {
      const askedAt = now();
      // Failures during the query are noted as well, and the earlier moment wins.
      next = Number.POSITIVE_INFINITY;
      note(Math.max((await ask()) ?? askedAt + every, askedAt + BETWEEN_RETRIES));
      askAgainAt = monotonic() + every;
    },
    next: (): Instant => next,
  };
}
