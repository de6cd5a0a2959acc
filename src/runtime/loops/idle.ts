/** Waiting until nothing is under way. */

export interface Idle {
  /** Resolves at once when nothing is under way, otherwise with the next `rouse` that finds it so. */
  wait(): Promise<void>;
  /** To be called when something ended. */
  rouse(): void;
}

/** `busy` counts what is under way. */
export function createIdle(busy: () => number): Idle {
  let waiting: (() => void)[] = [];
  return {
    wait: () => (busy() === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    rouse: () => {
      if (busy() > 0) return;
      const roused = waiting;
      waiting = [];
      for (const resolve of roused) resolve();
    },
  };
}
