/** Log lines that callers can cause, all within one budget: a flood of requests must not become a flood of lines. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { LogEvent, LogLevel } from '../../runtime/log-events.ts';
import type { Log, Logger } from '../../runtime/logger.ts';
import { monotonic, startTimer } from '../../runtime/time.ts';

/** Lines that may be logged at once; one more may be each two seconds after: 71 in the first minute, with the summary. */
const MOST_LINES = 40;
const LINE_EVERY: Milliseconds = 2_000;
/** After so long the log says how many lines it lacks, of which events. */
const SUMMARY_AFTER: Milliseconds = 60_000;
/** Faults whose stack was logged. A fault beyond them is logged within the budget, without its stack. */
const MOST_FAULTS = 100;
/** Frames that tell one fault from another. */
const FRAMES = 4;
const LONGEST_MESSAGE = 300;

export type LineBudget = ReturnType<typeof createLineBudget>;

/**
 * The budget of one process: writes lines that callers can cause, unless there were too many of late. The first line of a fault is
 * written in any case, with its stack, so that no flood hides it; later ones have no stack. `now` is a monotonic clock in milliseconds.
 */
export function createLineBudget(log: Logger, now: () => Milliseconds = monotonic) {
  const faults = new Set<string>();
  const unlogged = new Map<LogEvent, number>();
  let left = MOST_LINES;
  let countedAt = now();
  const summarize = (): void => {
    const count = unlogged.values().reduce((sum, each) => sum + each, 0);
    log.warn({ count, events: Object.fromEntries(unlogged) }, 'api.unlogged');
    unlogged.clear();
  };
  /** Whether a line may be written; one that may not is counted. */
  const mayWrite = (event: LogEvent): boolean => {
    left = Math.min(left + (now() - countedAt) / LINE_EVERY, MOST_LINES);
    countedAt = now();
    if (left >= 1) {
      left -= 1;
      return true;
    }
    if (unlogged.size === 0) startTimer(summarize, SUMMARY_AFTER).unref();
    unlogged.set(event, (unlogged.get(event) ?? 0) + 1);
    return false;
  };
  const within =
    <Level extends LogLevel>(write: Log<Level>): Log<Level> =>
    (fields, event) => {
      if (mayWrite(event)) write(fields, event);
    };
  const writeError = within(log.error);
  return {
    info: within(log.info),
    warn: within(log.warn),
    /** Logs `api.failed`. */
    fault: (error: unknown, request: { readonly method: string; readonly path: string }): void => {
      const { name, message, place } = describe(error);
      const isKnown = faults.has(place);
      if (isKnown || faults.size >= MOST_FAULTS) return void writeError({ ...request, error: { name, message } }, 'api.failed');
      faults.add(place);
      log.error({ ...request, error }, 'api.failed');
    },
  };
}

/** The message of an error, and where it arose: the same for each time that it happens. */
function describe(error: unknown): { name: string; message: string; place: string } {
  const { name, message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return { name, message: message.slice(0, LONGEST_MESSAGE), place: [name, ...frames.slice(0, FRAMES)].join('\n') };
}
