/** Turns at something of which little may go on at once. Who waits too long, or comes when too many wait, is refused. */
import type { Milliseconds } from '../../domain/values/time.ts';

export type Turns = ReturnType<typeof createTurns>;

export interface TurnsOptions {
  /** At once. */
  readonly most: number;
  /** Waiting at most; the next one is refused at once. Without it any number may wait. */
  readonly waiting?: number;
  /** How long each waits at most; without it as long as it takes. */
  readonly within?: Milliseconds;
  /** Makes the error of a refusal. */
  readonly refuse?: () => Error;
}

const refused = () => new Error('no turn came in time');

/** Makes the turns; they are given in the order in which they are asked for. */
export function createTurns({ most, waiting = Number.POSITIVE_INFINITY, within, refuse = refused }: TurnsOptions) {
  const line = new Set<() => void>();
  let taken = 0;
  const turn = (): (() => void) => {
    let isOver = false;
    taken += 1;
    return () => {
      if (isOver) return;
      isOver = true;
      taken -= 1;
      const [next] = line;
      next?.();
    };
  };
  return {
    /** Waits for a turn and answers what gives it back, once. Rejects with `refuse()` when it takes too long. */
    take: async (): Promise<() => void> => {
      if (taken < most) return turn();
      if (line.size >= waiting) throw refuse();
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          clearTimeout(timer);
          line.delete(begin);
        };
        const begin = (): void => {
          leave();
          resolve(turn());
        };
        const giveUp = (): void => {
          leave();
          reject(refuse());
        };
        const timer = within === undefined ? undefined : setTimeout(giveUp, within);
        line.add(begin);
      });
    },
  };
}
