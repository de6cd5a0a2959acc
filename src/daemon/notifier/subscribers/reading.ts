/** How far a subscriber's part of the outbox has been read. */
import type { Instant } from '../../../domain/values/time.ts';

export interface Reading {
  /** The outbox may hold more for the subscriber than memory. */
  readonly mayHoldMore: boolean;
  /** New deliveries that were due before this moment were read: they are in memory, put off or settled. */
  readonly readUntil: Instant;
  /** The last load that ended found all that is new: whatever is new and was committed before that load is in memory, put off or settled. */
  readonly isCaughtUp: boolean;
  /** The highest id of a delivery that a load found. */
  readonly highestRead: number;
  /** A load found a delivery. */
  found(id: number): void;
  /** Sets whether the outbox may hold more. */
  expectMore(mayHoldMore: boolean): void;
  /** The next load reads from the beginning. A load under way does not move the place. */
  restart(): void;
  /** A load begins; what it returns takes where the load ended, and whether there is more. */
  begin(): (until: Instant, isMore: boolean) => void;
}

/** Nothing was read. */
export function createReading(): Reading {
  let mayHoldMore = true;
  let readUntil: Instant = 0;
  let isCaughtUp = false;
  let highestRead = 0;
  /** Generation number; the end of a load that began in an older generation does not move the place. */
  let generation = 0;
  return {
    get mayHoldMore() {
      return mayHoldMore;
    },
    get readUntil() {
      return readUntil;
    },
    get isCaughtUp() {
      return isCaughtUp;
    },
    get highestRead() {
      return highestRead;
    },
    found: (id) => {
      highestRead = Math.max(highestRead, id);
    },
    expectMore: (value) => {
      mayHoldMore = value;
      if (value) isCaughtUp = false;
    },
    restart: () => {
      generation += 1;
      mayHoldMore = true;
      isCaughtUp = false;
      readUntil = 0;
    },
    begin: () => {
      const begunIn = generation;
      mayHoldMore = false;
      return (until, isMore) => {
        if (isMore) mayHoldMore = true;
        if (generation === begunIn) readUntil = until;
        isCaughtUp = generation === begunIn && !mayHoldMore;
      };
    },
  };
}
