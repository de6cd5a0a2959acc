/** The program: all commands in its help, and the one that is called with all that it takes. */
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import { Command, CommanderError, Help } from 'commander';
import { packageVersion } from '../runtime/process/package-version.ts';
import { COMMAND_GROUPS } from './commands.ts';
import { type CliContext, withFile } from './terminal/context.ts';
import { errorLines, hasColours, printLine, toStandardError } from './terminal/output.ts';
import { readSecretOptions } from './terminal/secret-option.ts';

/** The option of the program that has a value. Not `--env-file`: Node.js takes that for its own, also behind a script. */
const ENV_FILE = '--env';

/** The program with every command in its help, and with the one that `argv` names as a whole. Throws when a word names no command. */
export async function createProgram(argv: readonly string[], context: CliContext): Promise<Command> {
  const usages = new Map<Command, string>();
  const program = emptyProgram(context, usages);
  const wanted = argv.find((each, at) => !each.startsWith('-') && each !== 'help' && argv[at - 1] !== ENV_FILE);
  for (const { heading, commands } of COMMAND_GROUPS) {
    program.commandsGroup(heading);
    for (const { name, usage, summary, aliases, load } of commands) {
      const command = program.command(name).summary(summary).aliases(aliases);
      usages.set(command, usage);
      // The scripts of completion are made from all of them.
      if (wanted !== 'completion' && ![name, ...aliases].includes(wanted ?? '')) continue;
      (await load()).register(command, context);
      completeGroup(command);
    }
  }
  addHelpCommand(program);
  program.command('version', { hidden: true }).action(() => printLine(context, packageVersion()));
  await refuseUnknown(program, argv);
  return program;
}

function emptyProgram(context: CliContext, usages: ReadonlyMap<Command, string>): Command {
  const help = new Help();
  // Other names of a command are for those who type them; in the help they would be noise.
  const withoutAlias = (text: string, command: Command) => text.replace(`|${command.alias()}`, '');
  return new Command('purchase-watch')
    .description(
      'Watches purchases at a checkout service that has no callbacks: records every change of state once, detects stuck checkouts, alerts people, and delivers signed webhooks to your own systems.',
    )
    .version(packageVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .option('--color', 'write colours, also where the output is no terminal')
    .option('--no-color', 'write no colours')
    .option(`${ENV_FILE} <file>`, 'take variables that are not set from this file')
    .option('-q, --quiet', 'write results and errors only, and log warnings and errors only')
    .option('-v, --verbose', 'log more, and show where an unexpected error came from')
    .on('option:env', (file: string) => takeVariables(context, file))
    .on('option:quiet', () => {
      context.isQuiet = true;
      context.env.LOG_LEVEL = 'warn';
    })
    .on('option:verbose', () => {
      context.env.LOG_LEVEL = 'debug';
    })
    .on('option:color', () => setColours(context, true))
    .on('option:no-color', () => setColours(context, false))
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 wrong usage or configuration.\nSettings: see "purchase-watch config --help".',
    )
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
      outputError: (text, write) => write(errorLines(context, text)),
      getOutHasColors: () => hasColours(context),
      getErrHasColors: () => hasColours(toStandardError(context)),
    })
    .configureHelp({
      styleTitle: (text) => styleText('bold', text, { validateStream: false }),
      subcommandTerm: (command) => usages.get(command) ?? withoutAlias(help.subcommandTerm(command), command),
      commandUsage: (command) => withoutAlias(help.commandUsage(command), command),
    })
    .showHelpAfterError('(--help shows what is possible)')
    .exitOverride()
    .hook('preAction', (_, command) => readSecretOptions(context, command))
    .action(() => {
      printLine(toStandardError(context), FIRST_WORDS);
      // A script that forgot the command must not go on as if something were done.
      throw new CommanderError(1, 'commander.help', 'no command');
    });
}

/** Without a command: the commands to type first. The whole help is longer than a screen. */
const FIRST_WORDS = `purchase-watch watches purchases at a checkout service that has no callbacks.

  purchase-watch demo               see the whole product at work, on this machine
  purchase-watch init               write the settings for your service, and try them
  purchase-watch start              run the daemon
  purchase-watch status             show how everything is, or one purchase
  purchase-watch incidents          show what is wrong
  purchase-watch doctor             find out why something does not work

All commands: purchase-watch --help. One of them: purchase-watch help status`;

/** By the variables that say the same, so that the log and the processes that a command starts follow, too. */
function setColours({ env }: CliContext, wanted: boolean): void {
  for (const name of ['FORCE_COLOR', 'NO_COLOR', 'NODE_DISABLE_COLORS']) delete env[name];
  env[wanted ? 'FORCE_COLOR' : 'NO_COLOR'] = '1';
}

/** Adds the variables of the file to those of the context. */
function takeVariables(context: CliContext, file: string): void {
  const before = { ...context.env };
  Object.assign(context.env, withFile(before, file));
  context.envFile = { path: resolve(file), before };
}

/** Gives a group of commands a help for each of its commands, and a short name of its list. */
function completeGroup(command: Command): void {
  if (command.commands.length === 0) return;
  subcommand(command, 'list')?.alias('ls');
  addHelpCommand(command.helpCommand(false));
}

/** Instead of commander's own, which answers an unknown name with the help of all, and knows one level only. */
function addHelpCommand(to: Command): void {
  to.command('help [command...]')
    .summary('show the help of a command')
    .action(async (words: readonly string[]) => {
      let command = to;
      for (const word of words) command = subcommand(command, word) ?? (await unknown(command, word));
      command.help();
    });
}

/** Refuses a word that names no command, before a help or a command that runs by default takes its place. */
async function refuseUnknown(program: Command, argv: readonly string[]): Promise<void> {
  let command = program;
  for (const [at, word] of argv.entries()) {
    // Of the options of the program one has a value; below it, what follows an option may be one.
    if (command === program && (word.startsWith('-') || argv[at - 1] === ENV_FILE)) continue;
    if (word.startsWith('-') || command.commands.length === 0) return;
    command = subcommand(command, word) ?? (await unknown(command, word));
  }
}

function subcommand({ commands }: Command, word: string): Command | undefined {
  return commands.find((each) => each.name() === word || each.aliases().includes(word));
}

async function unknown(command: Command, word: string): Promise<never> {
  const { nearest } = await import('../config/kinds/nearest.ts');
  const known = command.createHelp().visibleCommands(command);
  const meant = nearest(
    word,
    known.flatMap((each) => [each.name(), ...each.aliases()]),
  );
  const names = known.map((each) => each.name()).filter((name) => name !== 'help');
  const others =
    command.parent === null || names.length === 0
      ? ''
      : `\n(${names.length === 1 ? 'there is' : 'there are'} ${names.join(', ')})`;
  const hint = meant === null ? others : `\n(Did you mean ${subcommand(command, meant)!.name()}?)`;
  return command.error(`error: unknown command '${word}'${hint}`, { code: 'commander.unknownCommand' });
}
