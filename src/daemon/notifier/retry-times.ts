/** When the next retry is due, as far as this replica knows, and when the notifier asks the database again. */
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Clock } from '../../runtime/clock.ts';

export interface RetryTimes {
  /** Something may be sent from this time on. Answers whether that is before all that was known: the loop then rests for too long. */
  note(at: Instant): boolean;
  /** Whether a known retry is due, or the database has to be asked. */
  isDue(): boolean;
  /** Takes over the next time that `ask` reads from the database; null: it knows none. */
  refresh(ask: () => Promise<Instant | null>): Promise<void>;
  next(): Instant;
}

/** Retries that fall due within this time are loaded together. */
const BETWEEN_RETRIES: Milliseconds = 250;

/** Nothing is known; `every`: how often to ask the database. */
export function createRetryTimes({ now, monotonic }: Pick<Clock, 'now' | 'monotonic'>, every: Milliseconds): RetryTimes {
  let next = Number.POSITIVE_INFINITY;
  let askAgainAt: Milliseconds = Number.NEGATIVE_INFINITY;
  const note = (at: Instant): boolean => {
    const isSooner = at < next;
    if (isSooner) next = at;
    return isSooner;
  };
  return {
    note,
    isDue: () => monotonic() >= askAgainAt || now() >= next,
    refresh: async (ask) => {
      const askedAt = now();
      // Failures during the query are noted as well, and the earlier moment wins.
      next = Number.POSITIVE_INFINITY;
      note(Math.max((await ask()) ?? askedAt + every, askedAt + BETWEEN_RETRIES));
      askAgainAt = monotonic() + every;
    },
    next: () => next,
  };
}
