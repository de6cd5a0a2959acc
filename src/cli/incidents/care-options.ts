/** Options by which people act on incidents: their names and notes. Checked by the rules of the API. */

import { LONGEST_NAME, LONGEST_NOTE, readIncidentId, readWords } from '../../actions/incidents/rules.ts';
import { AppError } from '../../domain/values/errors.ts';
import { checked } from '../subscribers/subscriber-options.ts';
import { ruled } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';

/** Accounts that several people share: their names do not say which person it was. */
const SHARED: ReadonlySet<string> = new Set([
  'root',
  'admin',
  'administrator',
  'ubuntu',
  'ec2-user',
  'debian',
  'node',
  'nobody',
  'postgres',
]);

export const INCIDENT_ID = ['<id>', 'its id, such as inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2', { read: ruled(readIncidentId) }] as const;

/** The help of `--by`. */
export const BY = 'your name; unless given, that of your account ($USER), where one person alone has the account';

/** Who says so: `--by`, or the person whose account this is. Throws AppError `invalid` where that account is shared. */
export function nameOf({ env }: Pick<CliContext, 'env'>, by: string | undefined): string {
  if (by !== undefined) return checked('--by', readWords(by, LONGEST_NAME, 'a name'));
  const own = [env.USER, env.SUDO_USER].find((name) => name !== undefined && name !== '' && !SHARED.has(name.toLowerCase()));
  if (own !== undefined) return checked('--by', readWords(own, LONGEST_NAME, 'a name'));
  const why = env.USER === undefined || env.USER === '' ? 'USER is not set' : `several people may be ${JSON.stringify(env.USER)}`;
  throw new AppError('invalid', `--by: is missing; give your name, as ${why}`);
}

/** A note, or null. */
export function noteOf(note: string | undefined): string | null {
  return note === undefined ? null : checked('--note', readWords(note, LONGEST_NOTE, 'some words, or leave the option out'));
}
