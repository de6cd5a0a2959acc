/** A subscriber's options as the command line takes them, checked by the rules of the API. */

import { InvalidArgumentError } from 'commander';
import type { Sql } from '../../actions/database.ts';
import { siteProblem } from '../../actions/sites/site-problem.ts';
import { listSites } from '../../actions/sites/sites.ts';
import { type Checked, LONGEST_DESCRIPTION, readHeaders, readState, readType, readUrl } from '../../actions/subscribers/rules.ts';
import type { ReceiverOptions } from '../../actions/subscribers/subscribers.ts';
import { isHeaderName } from '../../config/kinds/headers.ts';
import type { Settings } from '../../config/settings.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Given } from '../terminal/command.ts';

const EITHER_HEADERS = 'Give headers or take them away, not both.';

/** Which events are wanted, and in which form. */
export const SUBSCRIBER_OPTIONS = [
  ['--types <list>', 'types of events, separated by commas, or all'],
  ['--sites <list>', 'sites, separated by commas, or all'],
  ['--states <list>', 'states a purchase changed to, by name or number, or all'],
  ['--description <text>', 'what it is, for people'],
  ['--format <format>', 'what the body is', { choices: ['standard', 'cloudevents'] }],
  [
    '--header <name: value>',
    'a header of its own, sent with every request; may be given again and replaces those there were',
    {
      read: (line: string, before: readonly string[] | false | undefined): readonly string[] => {
        if (before === false) throw new InvalidArgumentError(EITHER_HEADERS);
        return [...(before ?? []), line];
      },
      isSecret: (line: string) => /auth|token|secret|key|password|signature/i.test(line.split(':', 1)[0]!),
    },
  ],
] as const;

export const NO_HEADER_OPTION = [
  '--no-header',
  'no headers of its own any more',
  {
    // With a value to read, so that the reader sees whether --header was given.
    preset: '',
    read: (_: string, before: readonly string[] | false | undefined): false => {
      if (before) throw new InvalidArgumentError(EITHER_HEADERS);
      return false;
    },
  },
] as const;

export type SubscriberOptions = Given<typeof SUBSCRIBER_OPTIONS>;

/** The meaning of an option's value; throws AppError that names the option. */
export function checked<T>(option: string, found: Checked<T>): T {
  if ('is' in found) return found.is;
  throw new AppError('invalid', `${option}: ${found.problem}`);
}

/** A list with commas; `all` is no limit, and absent is undefined. */
function listed<T>(option: string, text: string | undefined, read: (item: string) => Checked<T>): T[] | null | undefined {
  if (text === undefined) return undefined;
  if (text.trim() === 'all') return null;
  const items = text.split(',').map((item) => checked(`${option} ${JSON.stringify(item.trim())}`, read(item.trim())));
  return [...new Set(items)];
}

export function typesOption(text: string | undefined): string[] | null | undefined {
  return listed('--types', text, readType);
}

/** Which events are wanted, from the options given; an absent option is undefined. */
export async function filtersOf(
  sql: Sql,
  { types, sites, states, description }: Pick<SubscriberOptions, 'types' | 'sites' | 'states' | 'description'>,
) {
  const known = sites === undefined ? [] : (await listSites(sql)).filter(({ configured }) => configured).map(({ name }) => name);
  if (description !== undefined && description.length > LONGEST_DESCRIPTION) {
    throw new AppError('invalid', `--description: is longer than ${LONGEST_DESCRIPTION} characters`);
  }
  return {
    types: typesOption(types),
    sites: listed('--sites', sites, (name) => {
      const problem = siteProblem(name, known);
      return problem === null ? { is: name } : { problem };
    }),
    states: listed('--states', states, readState),
    description: description === undefined ? undefined : description || null,
  };
}

/** Format, headers and signing of a subscriber's deliveries, from the options given; an absent option is undefined. */
export function extrasOf({
  format,
  header,
  asymmetric,
}: {
  format?: SubscriberOptions['format'];
  header?: readonly string[] | false;
  asymmetric?: boolean;
}): ReceiverOptions {
  return { format, headers: header === false ? null : header === undefined ? undefined : headersOption(header), asymmetric };
}

/** Headers written as `Name: value`. No message repeats a value. */
function headersOption(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1)
      throw new AppError('invalid', "--header: is written as a name, a colon and a value, such as 'X-Team: checkout'");
    const name = line.slice(0, colon).trim();
    if (isHeaderName(name) && Object.hasOwn(headers, name))
      throw new AppError('invalid', `--header ${name}: is given twice; keep one of them`);
    headers[name] = line.slice(colon + 1).trim();
  }
  const found = readHeaders(headers);
  if ('is' in found) return headers;
  throw new AppError('invalid', `--header${found.name === null ? '' : ` ${found.name}`}: ${found.problem}`);
}

/** An address that events may be posted to. */
export function urlArgument(url: string, settings: Settings): string {
  return checked('the address', readUrl(url, settings.webhooks));
}
