/** The commands as a page, read from what they declare: run by itself it writes docs/commands.md. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Argument, Command, type Help, type Option } from 'commander';
import { COMMAND_GROUPS } from '../src/cli/commands.ts';
import { FROM_ELSEWHERE } from '../src/cli/terminal/secret-option.ts';

const ROOT = join(import.meta.dirname, '..');
/** A command declares itself to a context; none is used before the command runs. */
const CONTEXT = { env: {}, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, isTTY: false };

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '\\<').replace(/\s+/g, ' ').trim();
const row = (term: string, says: string): string => `| \`${term.replaceAll('|', '\\|')}\` | ${cell(says)} |`;

/** A table of terms in code and what they mean; nothing without rows. */
function table(head: string, rows: readonly string[]): string {
  return rows.length === 0 ? '' : `\n| ${head} | |\n|---|---|\n${rows.join('\n')}\n`;
}

/** A value that an option may also take from elsewhere; the head of the page says how. */
const fromElsewhere = (text: string): string => text.replace(`; ${FROM_ELSEWHERE}`, ' (or `-`, `@file`)');
/** An option of nearly every command that says the same everywhere; the head of the page says which commands lack it. */
const isPlainJson = ({ long, description }: Option): boolean => long === '--json' && description === 'write JSON';

/** An argument with marks for whether it is required and may be repeated, as in the line of usage. */
function argumentTerm(argument: Argument): string {
  const term = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${term}>` : `[${term}]`;
}

/** A command and its subcommands, each with its arguments and options; one whose text was there before refers to that. */
function sections(
  command: Command,
  help: Help,
  path: string,
  { level, known }: { level: number; known: Map<string, string> },
): string {
  const options = help.visibleOptions(command).filter((each) => each.long !== '--help' && !isPlainJson(each));
  const taken = command.registeredArguments;
  const text = [
    `${cell(fromElsewhere(command.description() || command.summary()))}\n`,
    table(taken.length === 0 ? 'option' : 'argument, option', [
      ...taken.map((each) => row(argumentTerm(each), fromElsewhere(help.argumentDescription(each)))),
      ...options.map((each) => row(help.optionTerm(each), fromElsewhere(help.optionDescription(each)))),
    ]),
  ].join('');
  const same = known.get(text);
  if (same === undefined) known.set(text, path);
  const body = same === undefined ? text : `As [${same}](#${same.replaceAll(' ', '-')}).\n`;
  const below = command.commands.map((each) => sections(each, help, `${path} ${each.name()}`, { level: level + 1, known }));
  return [`${'#'.repeat(level)} ${path}\n\n${body}`, ...below].join('\n');
}

/** The commands that run something, below a command or itself, as paths. */
function runnable(command: Command, path: string): { path: string; command: Command }[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((each) => runnable(each, `${path} ${each.name()}`));
}

/** The page. */
export async function commandsPage(): Promise<string> {
  const all: string[] = [];
  const withoutJson: string[] = [];
  const known = new Map<string, string>();
  for (const { heading, commands } of COMMAND_GROUPS) {
    all.push(`## ${heading.replace(/:$/, '')}\n`);
    for (const { name, summary, load } of commands) {
      const command = new Command(name).summary(summary);
      (await load()).register(command, CONTEXT);
      all.push(sections(command, command.createHelp(), command.name(), { level: 3, known }));
      for (const { path, command: each } of runnable(command, command.name()))
        if (each.options.every(({ long }) => long !== '--json')) withoutJson.push(`\`${path}\``);
    }
  }
  return `# Commands

\`npm run commands\` makes this page from what the commands declare. \`purchase-watch <command> --help\` shows the same with examples. Exit codes:
0 done, 1 failed, 2 wrong usage or configuration, 130 and 143 ended by SIGINT and SIGTERM. Nouns work in the singular and in the plural (\`incident show …\`), and \`ls\` lists.
Arguments are given in the order of the tables: \`<…>\` is needed, \`[…]\` may be left out, \`...\` may be repeated.

| option of every command | |
|---|---|
| \`--json\` | write JSON; not of ${withoutJson.join(', ')} |
| \`--color\`, \`--no-color\` | write colours or not, also in a pipe; without them \`FORCE_COLOR\`, \`NO_COLOR\` and the kind of terminal decide |
| \`-q, --quiet\` | no remarks and progress; log warnings and errors only |
| \`-v, --verbose\` | log more, and show where an unexpected error came from |
| \`--env <file>\` | take variables that are not set from a file such as the \`.env\` that \`init\` writes |

On a terminal, tables fit its width, and what does not fit ends with …; in a pipe they are whole. Where a value may be \`-\` or \`@file\`, it is read from standard input or from the file.

${all.join('\n')}`;
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs/commands.md'), await commandsPage());
