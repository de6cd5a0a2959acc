/** Extra calls that wait for their turn among a site's calls: first come, first served. */
import type { Milliseconds } from '../../../domain/values/time.ts';
import { startTimer } from '../../../runtime/time.ts';

/** An empty list of callers. */
export function createTurns() {
  const line = new Set<(turn: boolean) => void>();
  return {
    get waiting() {
      return line.size;
    },
    /** Resolves with true when the caller's turn has come (its call is counted and must leave now), with false when it will not come. */
    wait: ({
      patience,
      signal,
    }: {
      readonly patience: Milliseconds;
      readonly signal?: AbortSignal | undefined;
    }): Promise<boolean> =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve(false);
        const end = (turn: boolean): void => {
          line.delete(end);
          clearTimeout(timer);
          signal?.removeEventListener('abort', leave);
          resolve(turn);
        };
        const leave = (): void => end(false);
        const timer = startTimer(leave, patience);
        signal?.addEventListener('abort', leave);
        line.add(end);
      }),
    /** Gives the turn to the caller that waits longest. At least one must wait. */
    next: (): void => {
      const [first] = line;
      first?.(true);
    },
    /** Refuses all waiting callers. */
    dismiss: (): void => {
      for (const end of [...line]) end(false);
    },
  };
}
