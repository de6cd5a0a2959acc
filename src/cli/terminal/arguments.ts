/** Options that several commands take, and readers of values. */

import { InvalidArgumentError } from 'commander';
import type { Checked } from '../../actions/subscribers/rules.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import type { Milliseconds } from '../../domain/values/time.ts';

export const JSON_OPTION = ['--json', 'write JSON'] as const;

/** `--limit` of a list: from 1 to `most`. */
export function limitOption(most = 1_000) {
  return ['--limit <count>', 'how many entries at most', { read: wholeArgument(1, most), usual: 50 }] as const;
}

/** A value that a rule of the API reads. */
export function ruled<T>(rule: (text: string) => Checked<T>): (text: string) => T {
  return (text) => {
    const found = rule(text);
    if ('is' in found) return found.is;
    throw new InvalidArgumentError(`It ${found.problem}.`);
  };
}

export function wholeArgument(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}

/** A duration such as `90s`. */
export function durationArgument(text: string): Milliseconds {
  const length = parseDuration(text);
  if (length === null) throw new InvalidArgumentError('Expected a duration such as 250ms, 5s, 10m, 24h or 30d.');
  return length;
}

/** Zero or more. */
export function numberArgument(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) throw new InvalidArgumentError('Expected a number, zero or more.');
  return value;
}

/** One more value of an option that may be repeated. */
export function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
