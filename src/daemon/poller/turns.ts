/** Who waits for a place among a site's calls without standing in its queue: first come, first served. */
import type { Milliseconds } from '../../domain/values/time.ts';

export interface Turns {
  readonly waiting: number;
  /** Resolves with whether it is this one's turn: true means that its call is counted and must leave now. */
  wait(options: { readonly patience: Milliseconds; readonly signal?: AbortSignal | undefined }): Promise<boolean>;
  /** It is the turn of whoever waits longest. Somebody must be waiting. */
  next(): void;
  /** Nobody's turn comes. */
  dismiss(): void;
}

/** Nobody waits at first. */
export function createTurns(): Turns {
  const line = new Set<(turn: boolean) => void>();
  return {
    get waiting() {
      return line.size;
    },
    wait: ({ patience, signal }) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve(false);
        const end = (turn: boolean): void => {
          line.delete(end);
          clearTimeout(timer);
          signal?.removeEventListener('abort', leave);
          resolve(turn);
        };
        const leave = (): void => end(false);
        const timer = setTimeout(leave, patience);
        signal?.addEventListener('abort', leave);
        line.add(end);
      }),
    next: () => {
      const [first] = line;
      first?.(true);
    },
    dismiss: () => {
      for (const end of [...line]) end(false);
    },
  };
}
