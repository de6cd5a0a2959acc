/** Wakes readers that wait for events: all readers of the process share one look at how far the feed is complete. */

import { EVENT_TYPES } from '../../domain/events/system-event-types.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type FeedHorizon, type FeedPlace, hasEvents, isFeedHeld, readHorizon } from '../../postgres/events/feed.ts';
import { monotonic, startTimer } from '../../runtime/time.ts';

export type FeedHub = ReturnType<typeof createFeedHub>;

/** At full speed there are hundreds of commits a second; looking this often is prompt, and many events come at once. */
const LEAST_REST = 10;
/** After a look that found nothing, by whatever it was asked for, and while events wait for a transaction. */
const NEXT_LOOK = 50;
/** A notification may get lost with its connection. */
const MOST_REST = 5_000;

/**
 * Makes the hub. Its timers run only while a reader waits, and keep no process alive. `wake`: something was committed, or notifications
 * may have been missed. `lookAgainSoon`: events wait for a transaction, and no notification comes when it is rolled back. `turn` counts
 * wake-ups: read it before looking, and hand it to `next`, so that nothing is missed that happens while one looks.
 */
export function createFeedHub(sql: Sql) {
  const waiting = new Set<() => void>();
  let turn = 0;
  let looked: { readonly turn: number; readonly horizon: Promise<FeedHorizon> } | null = null;
  /** Up to where was looked for all who wait; null: they look themselves. */
  let seen: FeedPlace | null = null;
  let timer: NodeJS.Timeout | undefined;
  let due = Number.POSITIVE_INFINITY;
  /** No look begins earlier. */
  let notBefore = Number.NEGATIVE_INFINITY;
  let isLooking = false;

  const beginTurn = (horizon: FeedHorizon | null): void => {
    turn += 1;
    if (horizon !== null) looked = { turn, horizon: Promise.resolve(horizon) };
    for (const resolve of [...waiting]) resolve();
  };
  /** Answers whether there is something new. Any login of the database may notify, so readers are not woken before there is. */
  const look = async (): Promise<boolean> => {
    const horizon = await readHorizon(sql);
    const after = seen;
    seen = horizon.place;
    if (after === null || (await hasEvents(sql, { types: EVENT_TYPES, after, before: horizon.place }))) {
      beginTurn(horizon);
      return true;
    }
    if (await isFeedHeld(sql, { types: EVENT_TYPES, horizon })) beginAt(monotonic() + NEXT_LOOK);
    return false;
  };
  const begin = async (): Promise<void> => {
    clearTimeout(timer);
    due = Number.POSITIVE_INFINITY;
    const began = monotonic();
    notBefore = began + LEAST_REST;
    if (waiting.size === 0) return beginTurn(null);
    isLooking = true;
    try {
      if (!(await look())) notBefore = began + NEXT_LOOK;
    } catch {
      // The readers look themselves, and answer with the error.
      seen = null;
      beginTurn(null);
    } finally {
      isLooking = false;
    }
    // A look that was asked for meanwhile, even by readers that do not wait now; otherwise the next look of those that wait.
    const asked = due;
    due = Number.POSITIVE_INFINITY;
    if (asked < due) beginAt(asked);
    else if (waiting.size > 0) beginAt(monotonic() + MOST_REST);
  };
  const beginAt = (moment: number): void => {
    if (moment >= due) return;
    clearTimeout(timer);
    const from = Math.max(moment, notBefore);
    const rest = from - monotonic();
    if (rest <= 0 && !isLooking) void begin();
    else {
      due = from;
      if (!isLooking) timer = startTimer(begin, rest).unref();
    }
  };

  return {
    sql,
    wake: (): void => beginAt(monotonic()),
    lookAgainSoon: (): void => beginAt(monotonic() + NEXT_LOOK),
    turn: (): number => turn,
    /** How far the feed is complete: as it was first or last asked in this turn, or asked again for this and all that follow in it. */
    horizon: ({ isAgain }: { readonly isAgain: boolean } = { isAgain: false }): Promise<FeedHorizon> => {
      if (isAgain || looked?.turn !== turn) {
        const asked = { turn, horizon: readHorizon(sql) };
        looked = asked;
        asked.horizon.catch(() => {
          if (looked === asked) looked = null;
        });
      }
      return looked.horizon;
    },
    /** Resolves with the first wake-up after that turn, when the time is over, or when the signal aborts. */
    next: (last: number, { within, signal }: { readonly within: Milliseconds; readonly signal: AbortSignal }) =>
      new Promise<void>((resolve) => {
        if (last !== turn || signal.aborted) return resolve();
        const end = (): void => {
          clearTimeout(over);
          waiting.delete(end);
          signal.removeEventListener('abort', end);
          resolve();
        };
        const over = startTimer(end, within);
        waiting.add(end);
        signal.addEventListener('abort', end);
        beginAt(monotonic() + MOST_REST);
      }),
  };
}
