/** A subscriber's options as the command line takes them, checked by the rules of the API. */

import { type Checked, LONGEST_DESCRIPTION, readHeaders, readState, readType, readUrl } from '../../actions/subscribers/rules.ts';
import type { ReceiverOptions } from '../../actions/subscribers/subscribers.ts';
import { siteProblem } from '../../api/registrations/site-problem.ts';
import { isHeaderName } from '../../config/kinds/headers.ts';
import type { Settings } from '../../config/settings.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { listSites } from '../../postgres/polling/sites.ts';

export interface WishOptions {
  readonly types?: string;
  readonly sites?: string;
  readonly states?: string;
  readonly description?: string;
}

/** What it gets beside the events. */
export interface ExtraOptions {
  readonly format?: 'standard' | 'cloudevents';
  /** `Name: value`, once for each; false: none any more. */
  readonly header?: readonly string[] | false;
  readonly asymmetric?: boolean;
}

/** What was meant; throws AppError that names the option. */
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

/** Types of events from an option. */
export function typesOption(text: string | undefined): string[] | null | undefined {
  return listed('--types', text, readType);
}

/** Which events are wanted, from the options given; what is absent is undefined. */
export async function wishesOf(sql: Sql, { types, sites, states, description }: WishOptions) {
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

/** What it gets beside the events, from the options given; what is absent is undefined. */
export function extrasOf({ format, header, asymmetric }: ExtraOptions): ReceiverOptions {
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
