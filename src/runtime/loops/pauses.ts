/** Long work that leaves the event loop to others in between. */

import { setImmediate as afterOthers } from 'node:timers/promises';
import type { Milliseconds } from '../../domain/values/time.ts';

const LONGEST_TURN: Milliseconds = 10;

/** Makes what long work calls after each small piece: once the work has kept the event loop for 10 ms, others come first. */
export function createPauses(): () => Promise<void> | undefined {
  let begun = performance.now();
  return () => {
    if (performance.now() - begun < LONGEST_TURN) return undefined;
    return afterOthers().then(() => {
      begun = performance.now();
    });
  };
}
