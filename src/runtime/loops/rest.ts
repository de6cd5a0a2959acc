/** The rest of a loop between two rounds. It is made before the loop and before the parts that wake the loop. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Clock } from '../clock.ts';

export type Rest = ReturnType<typeof createRest>;

export function createRest({ monotonic }: Pick<Clock, 'monotonic'>) {
  let isWoken = false;
  let resting: PromiseWithResolvers<void> | null = null;
  let timer: { readonly handle: NodeJS.Timeout; readonly at: Milliseconds } | null = null;

  const wake = (): void => {
    if (resting === null) {
      isWoken = true;
      return;
    }
    resting.resolve();
    resting = null;
  };
  /** One timer, for the earliest moment: setting a timer for each rest would cost more than a needless round. */
  const wakeIn = (wait: Milliseconds): void => {
    const at = monotonic() + wait;
    if (timer !== null && timer.at <= at) return;
    if (timer !== null) clearTimeout(timer.handle);
    const handle = setTimeout(() => {
      timer = null;
      wake();
    }, wait);
    // A loop that rests does not keep the process alive.
    timer = { handle: handle.unref(), at };
  };

  return {
    /** Ends the rest under way, or the next one when none is. Wake-ups during a round are taken together. */
    wake,
    /** Resolves with a wake-up, or after `longest`; rests that are taken at the same time end together, with the earliest. */
    take: (longest: Milliseconds): Promise<void> => {
      if (isWoken) {
        isWoken = false;
        return Promise.resolve();
      }
      if (longest < Number.POSITIVE_INFINITY) wakeIn(Math.max(longest, 1));
      resting ??= Promise.withResolvers();
      return resting.promise;
    },
  };
}
