/** Pieces that the commands' declarations share. */
import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../core/duration.ts';
import type { Milliseconds } from '../core/purchase.ts';

/** Ends a command's help with ways to call it. */
export function examples(command: Command, lines: readonly (readonly [call: string, meaning: string])[]): Command {
  const width = Math.max(...lines.map(([call]) => call.length));
  const text = lines.map(([call, meaning]) => `  $ purchase-watch ${call.padEnd(width)}  ${meaning}`).join('\n');
  return command.addHelpText('after', `\nExamples:\n${text}`);
}

/** An option's duration, such as `90s`. */
export function durationArgument(text: string): Milliseconds {
  const length = parseDuration(text);
  if (length === null) throw new InvalidArgumentError('Expected a duration such as 250ms, 5s, 10m, 24h or 30d.');
  return length;
}

/** An option's number, zero or more. */
export function numberArgument(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) throw new InvalidArgumentError('Expected a number, zero or more.');
  return value;
}
