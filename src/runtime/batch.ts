/** Collects what comes in one by one and hands it on in batches: at once when idle, larger the busier it is. */
import type { Milliseconds } from '../core/purchase.ts';

export interface Batcher<T> {
  add(item: T): void;
  /** Items that wait or are being flushed. */
  pending(): number;
  /** Resolves when everything added so far has been flushed. */
  drain(): Promise<void>;
}

export interface BatchOptions {
  readonly most: number;
  /** How long an item may wait for company. 0: as long as the flush before it takes, and no longer. */
  readonly linger: Milliseconds;
  /** Flushes under way at once. */
  readonly parallel: number;
}

/** `flush` must not reject: it decides itself what becomes of a batch that cannot be written. */
export function createBatcher<T>(flush: (batch: T[]) => Promise<void>, { most, linger, parallel }: BatchOptions): Batcher<T> {
  let waiting: T[] = [];
  let running = 0;
  let flushing = 0;
  let timer: NodeJS.Timeout | null = null;
  let draining: (() => void)[] = [];

  const start = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
    while (waiting.length > 0 && running < parallel) {
      const batch = waiting.length <= most ? waiting : waiting.slice(0, most);
      waiting = waiting.length <= most ? [] : waiting.slice(most);
      running += 1;
      flushing += batch.length;
      void flush(batch).finally(() => {
        running -= 1;
        flushing -= batch.length;
        if (waiting.length === 0 && running === 0) {
          const done = draining;
          draining = [];
          for (const resolve of done) resolve();
        } else if (waiting.length >= most || linger === 0 || draining.length > 0) {
          start();
        } else {
          schedule();
        }
      });
    }
  };
  const schedule = (): void => {
    if (timer || waiting.length === 0) return;
    timer = setTimeout(start, linger);
  };

  return {
    add: (item) => {
      waiting.push(item);
      if (waiting.length >= most || draining.length > 0) start();
      else if (linger > 0) schedule();
      // The end of this turn of the event loop: answers that arrived together go together.
      else if (waiting.length === 1) queueMicrotask(start);
    },
    pending: () => waiting.length + flushing,
    drain: () => {
      if (waiting.length === 0 && running === 0) return Promise.resolve();
      const done = new Promise<void>((resolve) => draining.push(resolve));
      start();
      return done;
    },
  };
}
