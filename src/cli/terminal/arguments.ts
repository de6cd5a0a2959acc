/** Pieces that the commands' declarations share. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Checked } from '../../actions/subscribers/rules.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import type { Milliseconds } from '../../domain/values/time.ts';

/** Ends a command's help with ways to call it. */
export function examples(command: Command, lines: readonly (readonly [call: string, meaning: string])[]): Command {
  const width = Math.max(...lines.map(([call]) => call.length));
  const text = lines.map(([call, meaning]) => `  $ purchase-watch ${call.padEnd(width)}  ${meaning}`).join('\n');
  return command.addHelpText('after', `\nExamples:\n${text}`);
}

/** An argument that a rule of the API reads. */
export function ruled<T>(rule: (text: string) => Checked<T>): (text: string) => T {
  return (text) => {
    const found = rule(text);
    if ('is' in found) return found.is;
    throw new InvalidArgumentError(`It ${found.problem}.`);
  };
}

/** `--limit` of a list: from 1 to `most`. */
export function limitOption(most = 1_000): Option {
  return new Option('--limit <count>', 'how many entries at most').default(50).argParser((text) => {
    const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (limit < 1 || limit > most) throw new InvalidArgumentError(`Expected a whole number from 1 to ${most}.`);
    return limit;
  });
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
