/** The process: arguments to a command, a failure to an exit code. */
import { Command, CommanderError, Help } from 'commander';
import { COMMANDS } from './cli/commands.ts';
import type { CliContext } from './cli/terminal/context.ts';
import { printable } from './cli/terminal/output.ts';
import { AppError } from './domain/values/errors.ts';
import { packageVersion } from './runtime/process/package-version.ts';
import type { TakeSignals } from './runtime/process/signals.ts';

/** These run until a signal, and handle it themselves. */
const LONG_RUNNING: ReadonlySet<string> = new Set(['start', 'demo', 'simulate', 'listen']);

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

/** The program with every command in its help, and with the one that `argv` names as a whole. */
async function createProgram(argv: readonly string[], context: CliContext): Promise<Command> {
  const usages = new Map<Command, string>();
  const help = new Help();
  const program = new Command('purchase-watch')
    .description(
      'Watches purchases at a checkout service that has no callbacks: records every change of state once, detects stuck checkouts, alerts people, and delivers signed webhooks to your own systems.',
    )
    .version(packageVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 wrong usage or configuration.\nSettings: see "purchase-watch config --help".',
    )
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
    })
    .configureHelp({ subcommandTerm: (command) => usages.get(command) ?? help.subcommandTerm(command) })
    .showHelpAfterError('(--help shows what is possible)')
    .exitOverride();
  const wanted = argv.find((each) => !each.startsWith('-') && each !== 'help');
  for (const { usage, summary, load } of COMMANDS) {
    const name = usage.split(' ', 1)[0]!;
    const command = program.command(name).summary(summary);
    usages.set(command, usage);
    if (name === wanted) (await load()).register(command, context);
  }
  return program;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : WRONG_USAGE;
  return error instanceof AppError && (error.code === 'invalid' || error.code === 'configuration') ? WRONG_USAGE : FAILED;
}

/** What a person needs to know of a failure; of a bug also where it is, when asked for. */
function errorText(error: unknown, env: NodeJS.ProcessEnv): string {
  if (error instanceof AppError) {
    const lines = error.message.split('\n').map(printable);
    if (lines.length === 1) return `error: ${lines[0]}`;
    return [`error: ${lines.length} problems`, ...lines.map((line) => `  ${line}`)].join('\n');
  }
  const message = error instanceof Error ? error.message : String(error);
  if (env.LOG_LEVEL !== 'debug' && env.LOG_LEVEL !== 'trace') return `error: ${message}\n(LOG_LEVEL=debug shows where)`;
  return `error: ${error instanceof Error ? error.stack : message}`;
}

/** Runs one command and answers its exit code. Everything it writes goes through the context. */
export async function run(argv: readonly string[], context: CliContext, beforeCommand?: (name: string) => void): Promise<number> {
  try {
    const program = (await createProgram(argv, context)).hook('preAction', (_program, command) =>
      beforeCommand?.(command.name()),
    );
    await program.parseAsync(argv, { from: 'user' });
    return DONE;
  } catch (error) {
    // Commander has printed its errors already.
    if (!(error instanceof CommanderError)) context.stderr.write(`${errorText(error, context.env)}\n`);
    return exitCodeOf(error);
  }
}

/** Runs the command of this process. `takeSignals` is what bin/purchase-watch.mjs, which handles signals first, hands on. */
export async function main(argv: readonly string[], takeSignals: TakeSignals): Promise<void> {
  const { env, stdin, stdout, stderr } = process;
  let name = '';
  let isEnding = false;
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error;
      // The reader has seen enough, as in `… | head`. The command still ends as it should: it may have a database open.
      // Told once: a second signal would end a long-running one at once, without that.
      if (LONG_RUNNING.has(name) && !isEnding) process.kill(process.pid, 'SIGTERM');
      isEnding = true;
    });
  }
  const context = { env, stdin, stdout, stderr, isTTY: stdout.isTTY === true, takeSignals };
  process.exitCode = await run(argv, context, (command) => {
    name = command;
  });
  // A connection on which the other end is silent would keep the process alive.
  if (name === 'start') process.exit();
}
