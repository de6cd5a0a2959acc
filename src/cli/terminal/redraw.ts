/** Draws the same text again and again in one place of a terminal, until Ctrl-C. */

import { AppError } from '../../domain/values/errors.ts';
import { isoTime, type Milliseconds } from '../../domain/values/time.ts';
import { untilStopSignal } from '../../runtime/process/signals.ts';
import { delay, wall } from '../../runtime/time.ts';
import type { CliContext } from './context.ts';
import { styled } from './output.ts';

const TOP_LEFT = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';
const CLEAR_ALL = '\x1b[2J';
const USUAL_ROWS = 24;

/**
 * Calls `write` with a context of its own, draws what was written, and does that again after `every`. What does not fit the
 * height of the terminal is cut. Throws AppError `invalid` where standard output is no terminal.
 */
export async function redraw(
  context: CliContext,
  every: Milliseconds,
  write: (context: CliContext) => Promise<void>,
): Promise<void> {
  if (!context.isTTY) {
    throw new AppError('invalid', '--watch: only on a terminal; programs call the command again, with --json');
  }
  const ending = new AbortController();
  void untilStopSignal(context.takeSignals).then(() => ending.abort());
  const terminal: NodeJS.WritableStream & { readonly rows?: number; readonly columns?: number } = context.stdout;
  terminal.write(CLEAR_ALL);
  while (!ending.signal.aborted) {
    const pieces: string[] = [];
    const stdout = { columns: terminal.columns, write: (piece: string) => pieces.push(piece) > 0 };
    await write({ ...context, stdout: stdout as unknown as NodeJS.WritableStream });
    const head = styled(context, 'gray', `every ${every / 1_000} s, Ctrl-C ends it; ${isoTime(wall()).slice(11, 19)} UTC`);
    const lines = [head, ...pieces.join('').trimEnd().split('\n')].slice(0, (terminal.rows || USUAL_ROWS) - 1);
    terminal.write(`${TOP_LEFT}${lines.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`);
    await delay(every, undefined, { signal: ending.signal }).catch(() => undefined);
  }
}
