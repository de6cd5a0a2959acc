/** Wakes whoever waits for events: all waiters of the process share one look at how far the feed is complete. */
import type { Milliseconds } from '../core/purchase.ts';
import type { Sql } from '../store/database.ts';
import { type FeedHorizon, readHorizon } from '../store/feed.ts';

export interface FeedHub {
  /** Connections for the feed. */
  readonly sql: Sql;
  /** Something was committed, or notifications may have been missed. */
  wake(): void;
  /** Events wait for a transaction that nobody announces when it is rolled back. */
  lookAgainSoon(): void;
  /** Counts wake-ups. Read it before looking, and hand it to `next`: what happens while one looks is not missed. */
  turn(): number;
  /** How far the feed is complete: as it was first or last asked in this turn, or asked anew for this and all that follow in it. */
  horizon(options?: { readonly anew: boolean }): Promise<FeedHorizon>;
  /** Resolves with the first wake-up after that turn, when the time is over, or when the signal aborts. */
  next(turn: number, options: { readonly within: Milliseconds; readonly signal: AbortSignal }): Promise<void>;
}

/** At full speed there are hundreds of commits a second; looking this often is prompt, and many events come at once. */
const LEAST_REST = 10;
const SOON = 50;
/** A notification may get lost with its connection. */
const MOST_REST = 5_000;

/** Makes the hub. Its timers run only while somebody waits, and keep no process alive. */
export function createFeedHub(sql: Sql): FeedHub {
  const waiting = new Set<() => void>();
  let turn = 0;
  let looked: { readonly turn: number; readonly horizon: Promise<FeedHorizon> } | null = null;
  let timer: NodeJS.Timeout | undefined;
  let due = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;

  const begin = (): void => {
    clearTimeout(timer);
    due = Number.POSITIVE_INFINITY;
    last = performance.now();
    turn += 1;
    for (const resolve of [...waiting]) resolve();
  };
  const beginAt = (moment: number): void => {
    if (moment >= due) return;
    clearTimeout(timer);
    const rest = moment - performance.now();
    if (rest <= 0) {
      begin();
    } else {
      due = moment;
      timer = setTimeout(begin, rest).unref();
    }
  };

  return {
    sql,
    wake: () => beginAt(Math.max(last + LEAST_REST, performance.now())),
    lookAgainSoon: () => beginAt(performance.now() + SOON),
    turn: () => turn,
    horizon: ({ anew } = { anew: false }) => {
      if (anew || looked?.turn !== turn) {
        const asked = { turn, horizon: readHorizon(sql) };
        looked = asked;
        asked.horizon.catch(() => {
          if (looked === asked) looked = null;
        });
      }
      return looked.horizon;
    },
    next: (seen, { within, signal }) =>
      new Promise((resolve) => {
        if (seen !== turn || signal.aborted) return resolve();
        const end = (): void => {
          clearTimeout(over);
          waiting.delete(end);
          signal.removeEventListener('abort', end);
          resolve();
        };
        const over = setTimeout(end, within);
        waiting.add(end);
        signal.addEventListener('abort', end);
        beginAt(performance.now() + MOST_REST);
      }),
  };
}
