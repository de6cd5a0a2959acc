/** Waiting until nothing is under way. */

/** `busy` counts what is under way. */
export function createIdle(busy: () => number) {
  let waiting: (() => void)[] = [];
  return {
    /** Resolves at once when nothing is under way, otherwise with the next `rouse` that finds it so. */
    wait: (): Promise<void> => (busy() === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    /** To be called when something ended. */
    rouse: (): void => {
      // Each poll and each delivery calls `rouse`, and a caller of `wait` is rare.
      if (waiting.length === 0 || busy() > 0) return;
      const roused = waiting;
      waiting = [];
      for (const resolve of roused) resolve();
    },
  };
}
