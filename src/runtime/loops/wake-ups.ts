/**
 * The looks that notifications ask for. Any login of the database may notify at any rate, so a notification is a hint: it makes a
 * loop read the tables, and the tables say what is true. Repeated hints are taken together.
 */
import type { Milliseconds } from '../../domain/values/time.ts';

/** By its payload on `purchase_watch_wake`: the loop that looks, and the least time from one such look to the next. */
const HINTS = {
  purchases: { loop: 'poller', spacing: 50 },
  deliveries: { loop: 'notifier', spacing: 50 },
  replays: { loop: 'notifier', spacing: 100 },
  // These loops take locks, renew leases or read many tables.
  subscribers: { loop: 'notifier', spacing: 250 },
  judge: { loop: 'judge', spacing: 250 },
  shards: { loop: 'ownership', spacing: 250 },
  forgotten: { loop: 'erasures', spacing: 250 },
} as const satisfies Record<string, { loop: string; spacing: Milliseconds }>;

export type Hint = keyof typeof HINTS;

/** `onHint` gets the hint and the loop to wake. What is no hint is dropped. */
export function createWakeUps(onHint: (hint: Hint, loop: string) => void) {
  const lastAt = new Map<Hint, Milliseconds>();
  const waiting = new Set<Hint>();
  const pass = (hint: Hint): void => {
    waiting.delete(hint);
    lastAt.set(hint, performance.now());
    onHint(hint, HINTS[hint].loop);
  };
  return {
    /** Takes a notification's payload: at once after a quiet while, otherwise together with those that follow within the spacing. */
    take: (payload: string): void => {
      // Older daemons read the number behind the word.
      const [word] = payload.split(' ', 1);
      if (!isHint(word) || waiting.has(word)) return;
      const early = (lastAt.get(word) ?? Number.NEGATIVE_INFINITY) + HINTS[word].spacing - performance.now();
      if (early <= 0) pass(word);
      else {
        waiting.add(word);
        setTimeout(pass, early, word).unref();
      }
    },
  };
}

function isHint(word: string | undefined): word is Hint {
  return word !== undefined && Object.hasOwn(HINTS, word);
}
