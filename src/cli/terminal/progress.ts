/** How far long work is: a bar that is drawn in place on a terminal, a line now and then elsewhere. */

import { humanDuration } from '../../domain/values/duration.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { monotonic } from '../../runtime/time.ts';
import type { CliContext } from './context.ts';
import { counted } from './output.ts';

export interface Reached {
  readonly lines: number;
  /** Read so far, and in all; null when it is not known. */
  readonly bytes: number;
  readonly size: number | null;
}

/** A terminal is drawn a few times a second; a log gets a line now and then. */
const REDRAW: Milliseconds = 200;
const SAY_AGAIN: Milliseconds = 5_000;
const CLEAR = '\r\u001b[K';
const BAR = 24;

/**
 * Begins to count the time. `stream` is standard error, so that a pipe gets the results alone; `inPlace`: whether a bar can be drawn
 * over itself.
 */
export function progressOn(
  stream: NodeJS.WritableStream & { readonly columns?: number },
  { inPlace, now = monotonic }: { inPlace: boolean; now?: () => Milliseconds },
) {
  const begun = now();
  let last = inPlace ? Number.NEGATIVE_INFINITY : begun;
  let drawn = false;
  const clear = (): void => {
    if (drawn) stream.write(CLEAR);
    drawn = false;
  };
  return {
    reached(reached: Reached): void {
      const at = now();
      if (at - last < (inPlace ? REDRAW : SAY_AGAIN)) return;
      last = at;
      const text = progressText(reached, at - begun);
      if (!inPlace) return void stream.write(`${text}\n`);
      const line = `${bar(reached)}${text}`;
      // A line that wraps could not be drawn over.
      stream.write(`${CLEAR}${line.slice(0, (stream.columns ?? 80) - 1)}`);
      drawn = true;
    },
    /** Writes a line of its own above the bar. */
    say(text: string): void {
      clear();
      stream.write(`${text}\n`);
    },
    /** Takes the bar away. */
    end: clear,
  };
}

/** How far work is whose end is not known: in place on a terminal, elsewhere a line each time `every` more are done; nothing with --quiet. */
export function countOn(context: CliContext, every: number): { show(count: number, text: string): void; clear(): void } {
  const isShown = context.isTTY && context.env.TERM !== 'dumb';
  let printed = 0;
  if (context.isQuiet) return { show: () => undefined, clear: () => undefined };
  return {
    show: (count, text) => {
      if (isShown) context.stderr.write(`${CLEAR}${text}`);
      else if (count - printed >= every) {
        context.stderr.write(`${text}\n`);
        printed = count;
      } else if (count < printed) printed = 0;
    },
    clear: () => {
      if (isShown) context.stderr.write(CLEAR);
    },
  };
}

function shareOf({ bytes, size }: Reached): number | null {
  return size === null || size === 0 ? null : Math.min(bytes / size, 1);
}

function bar(reached: Reached): string {
  const share = shareOf(reached);
  if (share === null) return '';
  const full = Math.round(share * BAR);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] `;
}

/** Such as `45 %, 450 000 lines, 30 000 lines a second, 18 s left`. */
export function progressText(reached: Reached, elapsed: Milliseconds): string {
  const share = shareOf(reached);
  const rate = elapsed === 0 ? 0 : (reached.lines / elapsed) * 1_000;
  const left = share === null || share === 0 ? null : (elapsed / share) * (1 - share);
  return [
    share === null ? null : `${Math.floor(share * 100)} %`,
    counted(reached.lines, 'line'),
    `${counted(Math.round(rate), 'line')} a second`,
    left === null ? null : `${humanDuration(Math.ceil(left / 1_000) * 1_000)} left`,
  ]
    .filter((part) => part !== null)
    .join(', ');
}
