/** What happened so far, for the story's pace and its end. */
import type { Arrival } from './shop.ts';

export interface Progress {
  count(arrival: Arrival): void;
  readonly purchases: ReadonlySet<string>;
  /** Purchases that were stuck at some time, and those of them that are. */
  readonly everStuck: ReadonlySet<string>;
  readonly stuckNow: ReadonlySet<string>;
  changes(): number;
  completed(): number;
  webhooks(): number;
  /** Milliseconds from poll to shop in the middle of all. */
  medianTook(): number;
}

/** The last so many are enough for a median. */
const REMEMBERED = 1_000;

/** Starts with nothing. */
export function createProgress(): Progress {
  const purchases = new Set<string>();
  const everStuck = new Set<string>();
  const stuckNow = new Set<string>();
  const took: number[] = [];
  let changes = 0;
  let completed = 0;
  let webhooks = 0;
  return {
    purchases,
    everStuck,
    stuckNow,
    count: ({ event: { type, data }, took: milliseconds }) => {
      webhooks += 1;
      took.push(milliseconds);
      if (took.length > REMEMBERED) took.shift();
      if (!('purchaseId' in data)) return;
      const id = data.purchaseId;
      purchases.add(id);
      if (type === 'purchase.state_changed') changes += 1;
      if (type === 'purchase.state_changed' && data.to.name === 'Completed') completed += 1;
      if (type === 'purchase.stuck') {
        everStuck.add(id);
        stuckNow.add(id);
      }
      if (type === 'purchase.recovered') stuckNow.delete(id);
    },
    changes: () => changes,
    completed: () => completed,
    webhooks: () => webhooks,
    medianTook: () => took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)] ?? 0,
  };
}
