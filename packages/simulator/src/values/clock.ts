/** The clock of the purchases: the service's, and what it was advanced by. */
import { SimulatorError } from '../contract/error.ts';

export type Clock = ReturnType<typeof createClock>;

/** Dates have four digits for the year. */
const MOST_ADVANCED = 36_500 * 86_400_000;

/** Starts with the time of `base`. */
export function createClock(base: () => number) {
  let advanced = 0;
  return {
    /** Epoch milliseconds. */
    now: () => base() + advanced,
    /** Moves the clock forward by so many milliseconds. Throws SimulatorError when all moves together exceed a hundred years. */
    advance(by: number): void {
      if (advanced + by > MOST_ADVANCED) {
        const detail = 'would bring the clock more than 36500d ahead in all; advance it by less, or reset';
        throw new SimulatorError('invalid_request', detail, { field: 'by', value: by });
      }
      advanced += by;
    },
    /** Milliseconds by which the clock was advanced. */
    advanced: () => advanced,
    reset: (): void => {
      advanced = 0;
    },
  };
}
