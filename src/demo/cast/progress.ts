/** What happened so far, for the story's pace and its end. */
import type { Arrival } from './shop.ts';

export interface Progress {
  count(arrival: Arrival): void;
  /** The last webhooks, oldest first, at most a thousand. */
  arrivals(): readonly Arrival[];
  /** Webhooks of purchases whose sequence was not the next number of their purchase. */
  misplaced(): number;
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

/** The last so many are enough for a median, and for the steps that follow a switch. */
const REMEMBERED = 1_000;

/** Starts with nothing. */
export function createProgress(): Progress {
  const purchases = new Set<string>();
  const everStuck = new Set<string>();
  const stuckNow = new Set<string>();
  const last: Arrival[] = [];
  /** The last sequence of each purchase. */
  const sequences = new Map<string, number>();
  let misplaced = 0;
  let changes = 0;
  let completed = 0;
  let webhooks = 0;
  return {
    purchases,
    everStuck,
    stuckNow,
    arrivals: () => last,
    misplaced: () => misplaced,
    count: (arrival) => {
      const { type, data } = arrival.event;
      webhooks += 1;
      last.push(arrival);
      if (last.length > REMEMBERED) last.shift();
      if (!('purchaseId' in data)) return;
      const id = data.purchaseId;
      if ('sequence' in data) {
        // A purchase of an earlier run begins with what was still waiting.
        if (data.sequence !== (sequences.get(id) ?? data.sequence - 1) + 1) misplaced += 1;
        sequences.set(id, data.sequence);
      }
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
    medianTook: () => last.map(({ took }) => took).sort((a, b) => a - b)[Math.floor(last.length / 2)] ?? 0,
  };
}
