/** Purchases whose rows are loaded by id: those that left memory while a load ran, and those that rest after a failed poll. */
import type { Milliseconds } from '../../../domain/values/time.ts';
import type { Clock } from '../../../runtime/clock.ts';

export function createRereads({ monotonic }: Pick<Clock, 'monotonic'>) {
  /** From when on each is to be loaded. */
  const from = new Map<number, Milliseconds>();
  const leavers = new Set<number>();
  let isLoading = false;
  return {
    /** A load begins: from here on `left` notes which purchases leave memory. */
    begin: (): void => {
      isLoading = true;
    },
    /** The load ended: the purchases that left memory meanwhile are due. */
    end: (): void => {
      isLoading = false;
      for (const id of leavers) from.set(id, 0);
      leavers.clear();
    },
    /** Notes that a purchase was written and left its window: a load under way may hold an older row of it. */
    left: (id: number): void => {
      if (isLoading) leavers.add(id);
    },
    hasLeft: (id: number): boolean => leavers.has(id),
    get haveSomeLeft() {
      return leavers.size > 0;
    },
    /** Loads a purchase's row again after a pause. */
    add: (id: number, rest: Milliseconds): void => void from.set(id, monotonic() + rest),
    /** Whether a purchase waits to be loaded by id. */
    has: (id: number): boolean => from.has(id),
    /** Purchases whose pause is over. One that leaves its window from here on is loaded once more. */
    takeDue: (): number[] => {
      const now = monotonic();
      const ids = [...from].filter(([, at]) => at <= now).map(([id]) => id);
      for (const id of ids) leavers.delete(id);
      return ids;
    },
    /** The purchases with these ids were loaded. */
    done: (ids: readonly number[]): void => {
      for (const id of ids) from.delete(id);
    },
  };
}
