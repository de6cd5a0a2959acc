/** A stop that ends in time: each part gets until its share of the time is over, and the stop goes on without those that hang. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Logger } from '../logger.ts';

export type Shutdown = ReturnType<typeof beginShutdown>;

/** Begins a stop that may take `within`. */
export function beginShutdown(within: Milliseconds, log: Logger) {
  const begun = performance.now();
  const left = (share = 1): Milliseconds => Math.max(begun + within * share - performance.now(), 0);
  return {
    /** The rest of the time, or of a share of it (in [0, 1]). */
    left,
    /**
     * Ends one part: resolves when `work` has ended, at the latest when `share` of the time is over. Answers whether it has
     * ended well, and logs it otherwise; never rejects.
     */
    end: async (part: string, share: number, work: () => Promise<unknown>): Promise<boolean> => {
      const over = new AbortController();
      const late = delay(left(share), 'late' as const, { signal: over.signal }).catch(() => 'late' as const);
      const outcome = await Promise.race([work().catch((error: unknown) => ({ error })), late]);
      over.abort();
      if (outcome === 'late') {
        log.warn({ part, afterMs: Math.round(performance.now() - begun) }, 'stop.cut_short');
        return false;
      }
      const failed = typeof outcome === 'object' && outcome !== null && 'error' in outcome;
      if (failed) log.warn({ part, error: outcome.error }, 'stop.failed');
      return !failed;
    },
  };
}

/** Resolves as `work` does; rejects as soon as the signal is aborted, and lets `work` go on alone. */
export function unlessAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
