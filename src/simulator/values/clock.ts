/** The clock of the purchases: the service's, and what it was advanced by. */
import { SimulatorError } from '../contract/error.ts';

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Moves the clock forward by a number of milliseconds. Throws SimulatorError when all moves together exceed a hundred years. */
  advance(by: number): void;
  /** Milliseconds by which it was advanced. */
  advanced(): number;
  /** Takes back what it was advanced by. */
  reset(): void;
}

/** Dates have four digits for the year. */
const MOST_ADVANCED = 36_500 * 86_400_000;

/** Starts with the time of `base`. */
export function createClock(base: () => number): Clock {
  let advanced = 0;
  return {
    now: () => base() + advanced,
    advance(by) {
      if (advanced + by > MOST_ADVANCED) {
        const detail = 'would bring the clock more than 36500d ahead in all; advance it by less, or reset';
        throw new SimulatorError('invalid_request', detail, { field: 'by', value: by });
      }
      advanced += by;
    },
    advanced: () => advanced,
    reset: () => {
      advanced = 0;
    },
  };
}
