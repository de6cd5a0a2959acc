/** Answers for `init`, from options, the environment and the person at the terminal; each value is checked when it is given. */
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { VariableName } from '../../config/schema/variables.ts';
import { environmentOf } from '../../config/sources/environment.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { CliContext } from '../terminal/context.ts';
import { printLine } from '../terminal/output.ts';
import { hasQuery } from '../terminal/secret-option.ts';

/** A value that `init` writes. */
interface Question {
  readonly variable: VariableName;
  /** The option that gives the value, or the path of a file with it where the value is a secret that no address is. */
  readonly option: string;
  readonly asks: string;
  /** The meaning of no value; absent: a value is needed. */
  readonly without?: string;
  /** Whether the value is hidden while a person types it. */
  readonly isHidden?: true;
  /** Whether the option's value holds a secret; absent: it never does. */
  readonly isSecret?: (value: string) => boolean;
  /** The option names a file. */
  readonly isFile?: true;
}

function hasPassword(url: string): boolean {
  return /:[^@/]+@|password=/.test(url.replace(/^\w+:\/\//, ''));
}

export const QUESTIONS: readonly Question[] = [
  { variable: 'CHECKOUT_BASE_URL', option: 'base-url', asks: 'Base address of the checkout service' },
  { variable: 'CHECKOUT_CLIENT_ID', option: 'client-id', asks: 'Client ID' },
  {
    variable: 'CHECKOUT_CLIENT_SECRET',
    option: 'client-secret-file',
    asks: 'Client secret',
    isHidden: true,
    isFile: true,
  },
  {
    variable: 'DATABASE_URL',
    option: 'database-url',
    asks: 'Postgres address',
    without: 'a Postgres that comes along',
    isHidden: true,
    isSecret: hasPassword,
  },
  {
    variable: 'WEBHOOK_URL',
    option: 'webhook-url',
    asks: 'Where to post webhooks',
    without: 'nowhere yet',
    isSecret: hasQuery,
  },
  {
    variable: 'SLACK_WEBHOOK_URL',
    option: 'slack-url',
    asks: "Slack's incoming webhook",
    without: 'no alerts in Slack',
    isHidden: true,
    isSecret: () => true,
  },
];

export type Answers = ReadonlyMap<string, string>;

/**
 * The variables that the answers set. The person is asked at a terminal for what neither an option nor the environment says.
 * Throws AppError `invalid` with a line for each value that is wrong, or is missing where no person can be asked.
 */
export async function readAnswers(
  context: CliContext,
  given: ReadonlyMap<string, string>,
  { ask }: { ask: boolean },
): Promise<Answers> {
  const answers = new Map<string, string>();
  const wrong: string[] = [];
  const open: Question[] = [];
  for (const question of QUESTIONS) {
    const set = settingOf(question, given, context.env);
    if (set === null) open.push(question);
    else wrong.push(...(take(answers, set) ?? []));
  }
  const needed = ask ? [] : open.filter(({ without }) => without === undefined);
  wrong.push(...needed.map(({ option, variable }) => `--${option}: is missing; give the option, or set ${variable}`));
  if (wrong.length > 0) throw new AppError('invalid', wrong.join('\n'));
  if (!ask) return answers;
  const person = atTerminal(context);
  try {
    for (const question of open) await untilRight(context, { question, answers, person });
  } finally {
    person.close();
  }
  return answers;
}

interface Setting {
  readonly name: string;
  readonly value: string;
  /** Said in place of the name of the variable. */
  readonly place: string;
}

function settingOf({ option, variable, isFile }: Question, given: Answers, env: NodeJS.ProcessEnv): Setting | null {
  const value = given.get(option);
  if (value !== undefined) {
    const name = isFile ? `${variable}_FILE` : variable;
    return { name, value: isFile ? resolve(value) : value, place: `--${option}` };
  }
  for (const name of [variable, `${variable}_FILE`]) if (env[name]) return { name, value: env[name], place: name };
  return null;
}

/** Adds a setting if it is right; answers what is wrong, or null. */
function take(answers: Map<string, string>, { name, value, place }: Setting): string[] | null {
  const problems: string[] = [];
  environmentOf({ [name]: value }).read(name.replace(/_FILE$/, '') as VariableName, problems);
  if (problems.length === 0) answers.set(name, value);
  return problems.length === 0 ? null : problems.map((problem) => problem.replace(/^\w+/, place));
}

/** Asks until the answer can be used. */
async function untilRight(
  context: CliContext,
  { question, answers, person }: { question: Question; answers: Map<string, string>; person: Person },
): Promise<void> {
  const { variable, asks, without, isHidden } = question;
  for (;;) {
    const value = (await person.ask(`${asks}${without === undefined ? '' : ` (empty: ${without})`}: `, isHidden)).trim();
    if (value === '' && without !== undefined) return;
    const problems = value === '' ? ['It is needed.'] : take(answers, { name: variable, value, place: 'It' });
    if (problems === null) return;
    for (const problem of problems) printLine(context, `  ${problem.replace(/^It: /, 'It is wrong: ')}`);
  }
}

type Person = ReturnType<typeof atTerminal>;

function atTerminal({ stdin, stdout }: CliContext) {
  let isHidden = false;
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!isHidden) stdout.write(chunk);
      done();
    },
  });
  const questions = createInterface({ input: stdin, output, terminal: true });
  // The end of the input and Ctrl-C answer no question: without this the command would end as if all were done.
  const ended = new Promise<never>((_, refuse) => {
    questions.once('close', () => refuse(new AppError('invalid', 'nothing was written: the questions were broken off')));
  });
  ended.catch(() => undefined);
  return {
    ask: async (question: string, hides = false): Promise<string> => {
      // readline erases the line before it asks, so it has to write a question itself, but for one whose answer it must not show.
      if (hides) stdout.write(question);
      isHidden = hides;
      const answer = await Promise.race([questions.question(hides ? '' : question), ended]);
      isHidden = false;
      if (hides) stdout.write('\n');
      return answer;
    },
    close: () => questions.close(),
  };
}
