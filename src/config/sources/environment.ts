/** The environment: variables, the files that secrets may come from, and names that look mistyped. */
import type { z } from 'zod';
import { unreadFile } from '../../domain/values/errors.ts';
import { notes } from '../kinds/field.ts';
import { distance, leavesOut, suggestion } from '../kinds/nearest.ts';
import { wrongValue } from '../kinds/problems.ts';
import { VARIABLE_NAMES, VARIABLES, type VariableName } from '../schema/variables.ts';
import { readPlainFile } from './plain-file.ts';

type Values = { [Name in VariableName]: z.output<(typeof VARIABLES)[Name]> };

export type Environment = ReturnType<typeof environmentOf>;

const isSecret = (name: VariableName) => notes.get(VARIABLES[name])?.kind.secret === true;

/** Kubernetes announces every service to every container; a service may well be called `checkout`. */
const ANNOUNCED = /_SERVICE_(?:HOST|PORT)(?:_\w+)?$|_PORT(?:_\d+_(?:TCP|UDP)(?:_\w+)?)?$/;
const OURS = /^(?:CHECKOUT|WEBHOOK|SLACK_WEBHOOK|PURCHASE_WATCH)_/;

/** Short names have many innocent neighbours (HOST, HOME; PORT, PORTS). */
function isNear(given: string, name: string): boolean {
  if (name.length >= 6 && distance(given, name) <= (name.length >= 12 ? 2 : 1)) return true;
  // SLACK_URL, SLACK_WEBHOOK: the first word says whose it is. Something else may well be called SECRETS_FILE.
  const [first] = name.split('_');
  return given.startsWith(`${first}_`) && leavesOut(given, name) && !(name.endsWith('_FILE') && given.split('_').length < 3);
}

/** The environment behind these variables: each is read at most once, and not before it is asked for. */
export function environmentOf(env: NodeJS.ProcessEnv) {
  // An empty variable is one that is not set: compose files and charts pass on `${NAME:-}` that way.
  const isGiven = (name: string) => (env[name] ?? '') !== '';
  const isInFile = (name: VariableName) => isSecret(name) && isGiven(`${name}_FILE`);
  const fromFiles = new Map<string, string | undefined>();
  const looked = new Set<string>();

  const readSecretFile = (name: string, problems: string[]): string | undefined => {
    if (!fromFiles.has(name)) {
      const path = env[`${name}_FILE`]!;
      try {
        fromFiles.set(name, readPlainFile(path).replace(/[\r\n]+$/, ''));
        if (fromFiles.get(name) === '') problems.push(`${name}_FILE: ${path} is empty`);
      } catch (error) {
        fromFiles.set(name, undefined);
        problems.push(`${name}_FILE: ${unreadFile(path, error)}`);
      }
    }
    return fromFiles.get(name);
  };

  const lookUp = (name: string, problems: string[]): string | undefined => {
    looked.add(name).add(`${name}_FILE`);
    if (isGiven(name)) return env[name];
    return isGiven(`${name}_FILE`) ? readSecretFile(name, problems) : undefined;
  };

  return {
    /** The value of any variable, or what the file named by `…_FILE` holds; undefined when neither is there. */
    lookUp,
    /** A checked variable. One that has a problem counts as absent, and its problem is listed. */
    read: <Name extends VariableName>(name: Name, problems: string[]): Values[Name] => {
      const schema = VARIABLES[name] as z.ZodType<Values[Name]>;
      const { kind, isList } = notes.get(schema)!;
      const absent = () => schema.parse(undefined);
      if (isGiven(name) && isInFile(name)) {
        problems.push(`${name}: ${name}_FILE is set too; keep one of them`);
        return absent();
      }
      const text = isSecret(name) ? lookUp(name, problems) : isGiven(name) ? env[name] : undefined;
      if (text === undefined || text === '') return absent();
      const items = isList ? text.trim().split(/\s*,\s*|\s+/) : [text];
      const wrong = items.filter((item) => kind.read(item) === undefined);
      if (wrong.length > 0) {
        problems.push(...wrong.map((item) => wrongValue(name, item, kind)));
        return absent();
      }
      return schema.parse(isList ? items : text);
    },
    /** Names of what was read from the file of `…_FILE`. */
    files: () => [...fromFiles.keys()],
    /** The file that a secret comes from; null when it comes from none. */
    fileOf: (name: VariableName) => (!isGiven(name) && isInFile(name) ? env[`${name}_FILE`]! : null),
    isSet: (name: VariableName) => isGiven(name) || isInFile(name),
    /** Where each variable that is set came from. */
    origins: () =>
      VARIABLE_NAMES.flatMap((name): [string, string][] => {
        if (isGiven(name)) return [[name, 'environment']];
        return isInFile(name) ? [[name, `file ${env[`${name}_FILE`]} (${name}_FILE)`]] : [];
      }),
    /** Names that are set, look like ours, and are not. */
    mistyped: (): string[] => {
      const names: string[] = [...VARIABLE_NAMES, ...VARIABLE_NAMES.filter(isSecret).map((name) => `${name}_FILE`)];
      return Object.keys(env)
        .filter((name) => isGiven(name) && !names.includes(name) && !looked.has(name) && !ANNOUNCED.test(name))
        .filter((name) => OURS.test(name) || names.some((known) => !isGiven(known) && isNear(name, known)))
        .sort()
        .map((name) => `${name}: is not a variable of purchase-watch${suggestion(name, names)}`);
    },
  };
}
