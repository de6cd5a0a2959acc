/** The process: arguments to a command, a failure to an exit code. */
import { Command, CommanderError } from 'commander';
import { register as audit } from './cli/daemon/audit.ts';
import { register as config } from './cli/daemon/config.ts';
import { register as demo } from './cli/daemon/demo.ts';
import { register as doctor } from './cli/daemon/doctor.ts';
import { register as key } from './cli/daemon/key.ts';
import { register as migrate } from './cli/daemon/migrate.ts';
import { register as plan } from './cli/daemon/plan.ts';
import { register as simulate } from './cli/daemon/simulate.ts';
import { register as start } from './cli/daemon/start.ts';
import { register as status } from './cli/daemon/status.ts';
import { register as incidents } from './cli/incidents/incidents.ts';
import { register as rehearse } from './cli/incidents/rehearse.ts';
import { register as silences } from './cli/incidents/silences.ts';
import { register as listen } from './cli/listen/listen.ts';
import { register as forget } from './cli/purchases/forget.ts';
import { register as invoice } from './cli/purchases/invoice.ts';
import { register as poll } from './cli/purchases/poll.ts';
import { register as unwatch } from './cli/purchases/unwatch.ts';
import { register as watch } from './cli/purchases/watch.ts';
import { register as why } from './cli/purchases/why.ts';
import { register as deliveries } from './cli/subscribers/deliveries.ts';
import { register as replay } from './cli/subscribers/replay.ts';
import { register as subscribers } from './cli/subscribers/subscribers.ts';
import { register as testChannels } from './cli/subscribers/test-channels.ts';
import type { CliContext } from './cli/terminal/context.ts';
import { printable } from './cli/terminal/output.ts';
import { AppError } from './domain/values/errors.ts';
import { packageVersion } from './runtime/process/package-version.ts';
import type { TakeSignals } from './runtime/process/signals.ts';

/**
 * The commands in the order of the help. Their files declare arguments and import what they work with inside the action,
 * so that `--help` and small commands start without the database driver, the HTTP client and the schema.
 */
const COMMANDS: readonly ((program: Command, context: CliContext) => void)[] = [
  start,
  demo,
  simulate,
  watch,
  unwatch,
  status,
  poll,
  invoice,
  why,
  audit,
  incidents,
  silences,
  plan,
  rehearse,
  subscribers,
  deliveries,
  replay,
  listen,
  migrate,
  config,
  key,
  doctor,
  forget,
  testChannels,
];

/** These run until they are told to stop, and handle that themselves. */
const LONG_RUNNING: ReadonlySet<string> = new Set(['start', 'demo', 'simulate', 'listen']);

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

function createProgram(context: CliContext): Command {
  const program = new Command('purchase-watch')
    .description(
      'Watches purchases at a checkout service that has no callbacks: records every change of state once, says when a checkout is stuck, and tells Slack and your own systems.',
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
    .showHelpAfterError('(--help shows what is possible)')
    .exitOverride();
  for (const register of COMMANDS) register(program, context);
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
  const program = createProgram(context).hook('preAction', (_program, command) => beforeCommand?.(command.name()));
  try {
    await program.parseAsync(argv, { from: 'user' });
    return DONE;
  } catch (error) {
    // Commander has said its errors already.
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
