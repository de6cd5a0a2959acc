/** Log lines about what may happen thousands of times a second. */
import type { Milliseconds } from '../domain/values/time.ts';

const EVERY: Milliseconds = 60_000;

/** Makes what counts an occurrence: `write` is called at the first one, then at most once a minute with how many there were since. */
export function createRareWarning(write: (times: number) => void, now = () => performance.now()): () => void {
  let last = Number.NEGATIVE_INFINITY;
  let times = 0;
  return () => {
    times += 1;
    if (now() - last < EVERY) return;
    write(times);
    last = now();
    times = 0;
  };
}
