/** Ids of the events so far, and the last sequence of each purchase. */
import type { ArrivedEvent } from './genuine.ts';

/** How an event stands to those before it. */
export interface ArrivalOrder {
  /** Which time this id comes, from 1. */
  readonly time: number;
  /** Whether the event was taken before: then this is a repeat, and else another try. */
  readonly wasTaken: boolean;
  /** Whether the sequence follows the purchase's last one. */
  readonly order: 'follows' | 'jumped' | 'back';
  /** The highest sequence of this purchase before; null when it is the first that is seen of it. */
  readonly before: number | null;
}

/** A run that goes on for weeks must not fill the memory. */
const REMEMBERED = 100_000;

/** Starts with nothing known. */
export function createJournal() {
  const times = new Map<string, number>();
  const sequences = new Map<string, number>();
  const takenIds = new Map<string, number>();
  return {
    /** The event was answered with yes. */
    taken: (id: string): void => keep(takenIds, id, 1),
    /** Enters an event and answers its place. */
    enter({ id, data: { site, purchaseId, sequence } }: Pick<ArrivedEvent, 'id' | 'data'>): ArrivalOrder {
      const time = (times.get(id) ?? 0) + 1;
      keep(times, id, time);
      const wasTaken = takenIds.has(id);
      if (typeof purchaseId !== 'string' || typeof sequence !== 'number')
        return { time, wasTaken, order: 'follows', before: null };
      const purchase = JSON.stringify([site, purchaseId]);
      const before = sequences.get(purchase) ?? null;
      keep(sequences, purchase, Math.max(before ?? 0, sequence));
      // A repeat is behind by its nature.
      const isNew = time === 1;
      const order =
        before === null || !isNew ? 'follows' : sequence > before + 1 ? 'jumped' : sequence <= before ? 'back' : 'follows';
      return { time, wasTaken, order, before };
    },
  };
}

/** The newest stay: an id that is entered again moves to the end. */
function keep(map: Map<string, number>, key: string, value: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > REMEMBERED) map.delete(map.keys().next().value!);
}
