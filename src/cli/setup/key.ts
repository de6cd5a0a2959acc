/** `key`: makes keys of the API. */

import { InvalidArgumentError } from 'commander';
import { hashOfKey } from '../../config/api-keys.ts';
import { moment, type Scope } from '../../config/kinds/key-kinds.ts';
import { OWN_NAME } from '../../config/kinds/names.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import { randomBytes } from '../../runtime/random.ts';
import { wall } from '../../runtime/time.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import { declare, group } from '../terminal/command.ts';
import { printFacts, printJson, printLine } from '../terminal/output.ts';

const SCOPE_NAMES = ['read', 'metrics', 'register', 'operate'] satisfies readonly Scope[];

const create = declare(
  {
    summary: 'make a key and its hash',
    description:
      'Makes a key and its hash, and writes both with the lines for the settings file. Stores nothing; a daemon knows the key after a restart with these lines.',
    options: [
      ['--name <name>', 'under which the log names the key', { isNeeded: true }],
      ['--scope <scope>', `what it is for, may be repeated: ${SCOPE_NAMES.join(', ')}`, { read: scopeArgument, isNeeded: true }],
      ['--expires <when>', 'a duration from now, a day or a time with its zone (never, when it is left out)'],
      JSON_OPTION,
    ],
    examples: [
      ['key new --name shop --scope register', 'for a shop that registers its purchases'],
      ['key new --name prometheus --scope metrics --expires 365d', 'for /metrics, during a year'],
      ['key new --name console --scope read --scope operate --json', 'for programs'],
    ],
  },
  (context, { name, scope, expires, json }) => {
    if (!OWN_NAME.test(name)) {
      const expected = 'a name of up to 63 small letters, digits, - and _ that begins with a letter or digit';
      throw new AppError('invalid', `--name: ${JSON.stringify(name)} is not ${expected}`);
    }
    const ahead = expires === undefined ? null : parseDuration(expires);
    const at = expires === undefined ? null : ahead === null ? moment.read(expires) : wall() + ahead;
    if (at === undefined) {
      throw new AppError(
        'invalid',
        `--expires: ${JSON.stringify(expires)} is neither a duration such as 90d nor ${moment.expected}`,
      );
    }
    if (at !== null && at <= wall()) throw new AppError('invalid', `--expires: ${expires} is over already`);
    // The prefix lets scanners for secrets find a key that was published.
    const key = `pwk_${randomBytes(32).toString('base64url')}`;
    const scopes = [...new Set(scope)];
    const entry = { scopes, hash: hashOfKey(key), expires: at === null ? null : new Date(at).toISOString() };
    if (json) return printJson(context, { name, key, ...entry });
    printFacts(context, [
      ['key', key],
      ['', 'shown this once: give it to whoever calls the API'],
    ]);
    const parts = [
      `scopes: [${scopes.join(', ')}]`,
      `hash: "${entry.hash}"`,
      ...(entry.expires === null ? [] : [`expires: "${entry.expires}"`]),
    ];
    printLine(context, '\nfor the settings file (PURCHASE_WATCH_CONFIG), which needs no more than the hash:\n');
    for (const line of ['api:', '  keys:', `    ${name}: { ${parts.join(', ')} }`]) printLine(context, line);
  },
);

export const register = group(
  { description: 'Makes keys of the API, for programs that may do only what they need.' },
  { new: create },
);

function scopeArgument(text: string, before: readonly Scope[] = []): Scope[] {
  const scope = SCOPE_NAMES.find((each) => each === text);
  if (scope === undefined) throw new InvalidArgumentError(`Expected one of ${SCOPE_NAMES.join(', ')}.`);
  return [...before, scope];
}
