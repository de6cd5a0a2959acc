/** Options that carry secrets: other users can read the text of a command (`ps`), and the shell keeps it in its history. */
import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { AppError, unreadFile } from '../../domain/values/errors.ts';
import type { CliContext } from './context.ts';
import { printRemark } from './output.ts';

/** No option holds more; a larger file is a mistake. */
const MOST_CHARACTERS = 65_536;

/** The help's words for a value that may be read from elsewhere. */
export const FROM_ELSEWHERE = '- reads it from standard input, @file from a file';

/** An option whose value may be `-` (standard input) or `@file`; `readSecretOptions` puts the text that is read in its place. */
export class SecretOption extends Option {
  /** Whether a value that stands in the command is remarked. */
  readonly isSecret: (value: string) => boolean;

  constructor(flags: string, description: string, isSecret: (value: string) => boolean = () => true) {
    super(flags, `${description}; ${FROM_ELSEWHERE}`);
    this.isSecret = isSecret;
  }
}

/** Whether an address has a query, where tokens stand. */
export function hasQuery(url: string): boolean {
  return url.includes('?');
}

/**
 * Reads the secrets of a command that its options only point to, and remarks once which stand in the command themselves. An
 * option that may be repeated gets a value for each line. Throws AppError `invalid` for a source that cannot be read.
 */
export async function readSecretOptions(context: CliContext, command: Command): Promise<void> {
  const open: string[] = [];
  for (const option of command.options) {
    if (!(option instanceof SecretOption)) continue;
    const place = option.long!;
    const name = option.attributeName();
    const given: unknown = command.getOptionValue(name);
    const values = (Array.isArray(given) ? given : [given]).filter((each) => typeof each === 'string');
    if (values.some((value) => !isElsewhere(value) && option.isSecret(value))) open.push(place);
    if (!values.some(isElsewhere)) continue;
    const read: string[] = [];
    for (const value of values) {
      const text = await secretValue(context, place, value);
      read.push(...(Array.isArray(given) && isElsewhere(value) ? text.split(/\s*\n\s*/) : [text]));
    }
    command.setOptionValueWithSource(name, Array.isArray(given) ? read : read[0], 'cli');
  }
  if (open.length === 0) return;
  const names = new Intl.ListFormat('en').format(open);
  printRemark(
    context,
    `${names}: other users of this machine can read a secret that stands in a command, and the shell keeps it; give - (standard input) or @file instead.`,
  );
}

/** A value as it stands, or what it points to: `-` standard input, `@file` a file, without the space at its ends. */
export async function secretValue({ stdin }: CliContext, place: string, value: string): Promise<string> {
  if (!isElsewhere(value)) return value;
  const text = (value === '-' ? await readAll(stdin) : readFile(place, value.slice(1))).trim();
  const source = value === '-' ? 'standard input' : value.slice(1);
  if (text.length > MOST_CHARACTERS)
    throw new AppError('invalid', `${place}: ${source} has more than ${MOST_CHARACTERS} characters`);
  if (text !== '') return text;
  const other = value === '-' ? ', or another option has read it; only one can' : '';
  throw new AppError('invalid', `${place}: ${source} is empty${other}`);
}

function isElsewhere(value: string): boolean {
  return value === '-' || /^@./.test(value);
}

function readFile(place: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new AppError('invalid', `${place}: ${unreadFile(path, error)}`);
  }
}

async function readAll(stdin: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  stdin.setEncoding('utf8');
  for await (const chunk of stdin as AsyncIterable<string>) {
    text += chunk;
    if (text.length > MOST_CHARACTERS + 1) break;
  }
  return text;
}
