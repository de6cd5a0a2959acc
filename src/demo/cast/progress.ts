/** Purchases, changes and webhooks so far, for the story's pace and its end. */
import type { Arrival } from './shop.ts';

export type Progress = Readonly<ReturnType<typeof createProgress>>;

/** The last so many are enough for a median, and for the steps that follow a switch. */
const REMEMBERED = 1_000;

/** Starts with nothing. */
export function createProgress() {
  /** The last sequence of each purchase. */
  const sequences = new Map<string, number>();
  const progress = {
    purchases: new Set<string>(),
    /** Purchases that were stuck at some time, and those of them that are. */
    everStuck: new Set<string>(),
    stuckNow: new Set<string>(),
    /** The last webhooks, oldest first, at most a thousand. */
    arrivals: [] as Arrival[],
    /** Webhooks of purchases whose sequence was not the next number of their purchase. */
    misplaced: 0,
    changes: 0,
    completed: 0,
    webhooks: 0,
    /** Milliseconds from poll to shop in the middle of all. */
    medianTook: () => {
      const all = progress.arrivals.map(({ took }) => took).sort((a, b) => a - b);
      return all[Math.floor(all.length / 2)] ?? 0;
    },
    count: (arrival: Arrival): void => {
      const { type, data } = arrival.event;
      progress.webhooks += 1;
      progress.arrivals.push(arrival);
      if (progress.arrivals.length > REMEMBERED) progress.arrivals.shift();
      if (!('purchaseId' in data)) return;
      const id = data.purchaseId;
      if ('sequence' in data) {
        // A purchase of an earlier run begins with what was still waiting.
        if (data.sequence !== (sequences.get(id) ?? data.sequence - 1) + 1) progress.misplaced += 1;
        sequences.set(id, data.sequence);
      }
      progress.purchases.add(id);
      if (type === 'purchase.state_changed') progress.changes += 1;
      if (type === 'purchase.state_changed' && data.to.name === 'Completed') progress.completed += 1;
      if (type === 'purchase.stuck') {
        progress.everStuck.add(id);
        progress.stuckNow.add(id);
      }
      if (type === 'purchase.recovered') progress.stuckNow.delete(id);
    },
  };
  return progress;
}
