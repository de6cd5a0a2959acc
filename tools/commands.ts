/** The commands as a page, read from what they declare: run by itself it writes docs/commands.md. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, type Help, type Option } from 'commander';
import { COMMAND_GROUPS } from '../src/cli/commands.ts';

const ROOT = join(import.meta.dirname, '..');
/** A command declares itself to a context; none is used before the command runs. */
const CONTEXT = { env: {}, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, isTTY: false };

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '\\<').replace(/\s+/g, ' ').trim();
const row = (term: string, says: string): string => `| \`${term.replaceAll('|', '\\|')}\` | ${cell(says)} |`;

/** A table of terms in code and what they mean; nothing without rows. */
function table(head: string, rows: readonly string[]): string {
  return rows.length === 0 ? '' : `\n| ${head} | |\n|---|---|\n${rows.join('\n')}\n`;
}

/** A command and its subcommands, each with its arguments and options. */
function sections(command: Command, help: Help, path: string, level: number): string {
  const isShown = ({ long }: Option): boolean => long !== '--help';
  const options = help.visibleOptions(command).filter(isShown);
  const own = [
    `${'#'.repeat(level)} ${path}\n\n`,
    `\`purchase-watch ${path} ${command.usage()}\`\n\n`,
    `${cell(command.description() || command.summary())}\n`,
    table(
      'argument',
      help.visibleArguments(command).map((each) => row(help.argumentTerm(each), help.argumentDescription(each))),
    ),
    table(
      'option',
      options.map((each) => row(help.optionTerm(each), help.optionDescription(each))),
    ),
  ];
  const below = command.commands.map((each) => sections(each, help, `${path} ${each.name()}`, level + 1));
  return [own.join(''), ...below].join('\n');
}

/** The page. */
export async function commandsPage(): Promise<string> {
  const all: string[] = [];
  for (const { heading, commands } of COMMAND_GROUPS) {
    all.push(`## ${heading.replace(/:$/, '')}\n`);
    for (const { usage, summary, load } of commands) {
      const command = new Command(usage.split(' ', 1)[0]).summary(summary);
      (await load()).register(command, CONTEXT);
      all.push(sections(command, command.createHelp(), command.name(), 3));
    }
  }
  return `# Commands

\`npm run commands\` makes this page from what the commands declare. \`purchase-watch <command> --help\` shows the same with examples. Exit codes:
0 done, 1 failed, 2 wrong usage or configuration, 130 and 143 ended by SIGINT and SIGTERM. Nouns work in the singular and in the plural (\`incident show …\`), and \`ls\` lists.
On a terminal, tables fit its width, and what does not fit ends with …; in a pipe they are whole. \`--color\` and \`--no-color\` say for every command whether it writes colours, also in a pipe;
without them \`FORCE_COLOR\`, \`NO_COLOR\` and the kind of terminal do. \`-q\` (\`--quiet\`) leaves out remarks and progress, and logs warnings and errors only; \`-v\` (\`--verbose\`) logs
more, and shows where an unexpected error came from. \`--env <file>\` takes variables that are not set from a file such as the \`.env\` that \`init\` writes.

${all.join('\n')}`;
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs/commands.md'), await commandsPage());
