/** Subscribers for which attempts may start, in order. Made before the loop that starts attempts and before the parts that fill it. */
import type { Milliseconds } from '../../../domain/values/time.ts';
import type { Rest } from '../../../runtime/loops/rest.ts';
import { startTimer } from '../../../runtime/time.ts';
import type { Subscriber } from '../subscribers/subscriber.ts';

export type StartList = ReturnType<typeof createStartList>;

/** An empty list; each addition ends the rest of the loop. */
export function createStartList({ wake }: Pick<Rest, 'wake'>) {
  /** Subscribers that waited for a slot come first, or those that have just sent would take it again. */
  const first = new Set<Subscriber>();
  const due = new Set<Subscriber>();
  const waiting = new Set<Subscriber>();
  const resting = new Set<Subscriber>();
  const add = (subscriber: Subscriber): void => {
    due.add(subscriber);
    wake();
  };
  return {
    /** Attempts may start now. */
    add,
    /** Attempts may start after so long; each subscriber has one timer. */
    addIn: (subscriber: Subscriber, wait: Milliseconds): void => {
      if (resting.has(subscriber)) return;
      resting.add(subscriber);
      startTimer(() => {
        resting.delete(subscriber);
        add(subscriber);
      }, wait);
    },
    /** The subscriber waits for a slot that others have taken. */
    addWhenFree: (subscriber: Subscriber): void => void waiting.add(subscriber),
    /** A slot was given back: the subscriber that waits longest is next. */
    slotFreed: (): void => {
      const next = takeFrom(waiting);
      if (next === undefined) return;
      first.add(next);
      wake();
    },
    /** Takes the next subscriber; undefined when there is none. */
    take: (): Subscriber | undefined => takeFrom(first) ?? takeFrom(due),
  };
}

function takeFrom(set: Set<Subscriber>): Subscriber | undefined {
  const [next] = set;
  set.delete(next!);
  return next;
}
