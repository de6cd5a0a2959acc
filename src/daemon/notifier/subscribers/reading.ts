/** How far a subscriber's part of the outbox has been read. */
import type { Instant } from '../../../domain/values/time.ts';

export function createReading() {
  let mayHoldMore = true;
  let readUntil: Instant = 0;
  let isCaughtUp = false;
  let highestRead = 0;
  /** Generation number; the end of a load that began in an older generation does not move the place. */
  let generation = 0;
  return {
    /** The outbox may hold more for the subscriber than memory. */
    get mayHoldMore() {
      return mayHoldMore;
    },
    /** New deliveries that were due before this moment were read: they are in memory, put off or settled. */
    get readUntil() {
      return readUntil;
    },
    /** The last load that ended found all that is new: whatever is new and was committed before that load is in memory, put off or settled. */
    get isCaughtUp() {
      return isCaughtUp;
    },
    /** The highest id of a delivery that a load found. */
    get highestRead() {
      return highestRead;
    },
    /** A load found a delivery. */
    found: (id: number): void => {
      highestRead = Math.max(highestRead, id);
    },
    /** Sets whether the outbox may hold more. */
    expectMore: (value: boolean): void => {
      mayHoldMore = value;
      if (value) isCaughtUp = false;
    },
    /** The next load reads from the beginning. A load under way does not move the place. */
    restart: (): void => {
      generation += 1;
      mayHoldMore = true;
      isCaughtUp = false;
      readUntil = 0;
    },
    /** A load begins; what it returns takes where the load ended, and whether there is more. */
    begin: (): ((until: Instant, isMore: boolean) => void) => {
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
