/** Log lines that callers can cause, bounded: a flood of requests must not become a flood of lines. */
import type { Milliseconds } from '../../domain/values/time.ts';

/** Lines that may be logged at once; one more may be each second after. */
const MOST_LINES = 100;
const LINE_EVERY: Milliseconds = 1_000;
/** After so long the log says how many lines it lacks. */
const SUMMARY_AFTER: Milliseconds = 60_000;

/** Writes a line, unless there were too many of late. */
export type LineBudget = (fields: Readonly<Record<string, unknown>>, event: string) => void;

/** `unlogged` is the event that counts the lines left out. `now` is a monotonic clock in milliseconds. */
export function createLineBudget(
  write: LineBudget,
  { unlogged, now = () => performance.now() }: { readonly unlogged: string; readonly now?: () => Milliseconds },
): LineBudget {
  let left = MOST_LINES;
  let countedAt = now();
  let count = 0;
  return (fields, event) => {
    left = Math.min(left + (now() - countedAt) / LINE_EVERY, MOST_LINES);
    countedAt = now();
    if (left >= 1) {
      left -= 1;
      return write(fields, event);
    }
    count += 1;
    if (count > 1) return;
    const summary = setTimeout(() => {
      write({ count }, unlogged);
      count = 0;
    }, SUMMARY_AFTER);
    summary.unref();
  };
}
