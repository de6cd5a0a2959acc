/** Collects what comes in one by one and hands it on in batches: at once when idle, larger the busier it is. */
import type { Milliseconds } from '../../domain/values/time.ts';

export interface BatchOptions {
  readonly most: number;
  /** How long an item may wait for company. None: it goes at once, or when the flush before it has ended. */
  readonly linger?: () => Milliseconds;
  /** From the start of one flush to that of the next, on average: keeps batches large under load. None unless given. */
  readonly spacing?: () => Milliseconds;
  /** How many flushes may follow one another at once after a pause, before the spacing holds: 1 unless given. */
  readonly burst?: number;
  /** Flushes under way at once. */
  readonly parallel: number;
}

/** `flush` must not reject: it decides itself what becomes of a batch that cannot be written. */
export function createBatcher<T>(
  flush: (batch: T[]) => Promise<void>,
  { most, linger, spacing: spacingNow = () => 0, burst = 1, parallel }: BatchOptions,
) {
  let waiting: T[] = [];
  let running = 0;
  let flushing = 0;
  let timer: NodeJS.Timeout | null = null;
  let draining: (() => void)[] = [];
  /** When a flush would be due if they were evenly spaced; a burst runs ahead of it. */
  let evenly = Number.NEGATIVE_INFINITY;

  const start = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
    const now = performance.now();
    const spacing = spacingNow();
    const early = evenly - (burst - 1) * spacing - now;
    if (early > 0 && waiting.length < most && draining.length === 0) {
      if (waiting.length > 0) timer = setTimeout(start, early);
      return;
    }
    // Full batches go whenever they are; that leaves no debt beyond a burst.
    if (waiting.length > 0 && running < parallel) evenly = Math.min(Math.max(evenly, now), now + (burst - 1) * spacing) + spacing;
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
        } else if (waiting.length >= most || linger === undefined || draining.length > 0) {
          start();
        } else {
          schedule();
        }
      });
    }
  };
  const schedule = (): void => {
    if (timer || waiting.length === 0 || linger === undefined) return;
    timer = setTimeout(start, linger());
  };

  return {
    add: (item: T): void => {
      waiting.push(item);
      if (waiting.length >= most || draining.length > 0) start();
      else if (linger !== undefined) schedule();
      // The end of this turn of the event loop: answers that arrived together go together.
      else if (waiting.length === 1 && !timer) queueMicrotask(start);
    },
    /** Items that wait or are being flushed. */
    pending: (): number => waiting.length + flushing,
    /** Resolves when everything added so far has been flushed. */
    drain: (): Promise<void> => {
      if (waiting.length === 0 && running === 0) return Promise.resolve();
      const done = new Promise<void>((resolve) => draining.push(resolve));
      start();
      return done;
    },
  };
}
