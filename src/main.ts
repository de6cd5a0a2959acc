/** The process: arguments to a command, a failure to an exit code. */
import { CommanderError } from 'commander';
import { createProgram } from './cli/program.ts';
import type { CliContext } from './cli/terminal/context.ts';
import { errorLines, printable } from './cli/terminal/output.ts';
import { AppError } from './domain/values/errors.ts';
import type { TakeSignals } from './runtime/process/signals.ts';

/** Commands that run until a signal, and handle it themselves. */
const LONG_RUNNING: ReadonlySet<string> = new Set(['start', 'demo', 'simulate', 'listen', 'events']);

/** The reader of the output has ended, or the terminal is closed. */
const UNREAD: ReadonlySet<string | undefined> = new Set(['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED']);

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : WRONG_USAGE;
  return error instanceof AppError && (error.code === 'invalid' || error.code === 'configuration') ? WRONG_USAGE : FAILED;
}

/** The text of a failure for a person; of a bug also where it is, when asked for. */
function errorText(error: unknown, env: NodeJS.ProcessEnv): string {
  if (error instanceof AppError) {
    const lines = error.message.split('\n').map(printable);
    if (lines.length === 1) return `error: ${lines[0]}`;
    return [`error: ${lines.length} problems`, ...lines.map((line) => `  ${line}`)].join('\n');
  }
  const message = error instanceof Error ? error.message : String(error);
  if (env.LOG_LEVEL !== 'debug' && env.LOG_LEVEL !== 'trace') return `error: ${message}\n(--verbose shows where)`;
  return `error: ${error instanceof Error ? error.stack : message}`;
}

/** Runs one command and answers its exit code. Everything it writes goes through the context. */
export async function run(argv: readonly string[], context: CliContext, beforeCommand?: (name: string) => void): Promise<number> {
  let name = '';
  try {
    const program = (await createProgram(argv, context)).hook('preAction', (_program, command) => {
      name = command.name();
      beforeCommand?.(name);
    });
    await program.parseAsync(argv, { from: 'user' });
    return DONE;
  } catch (error) {
    // Where nobody watches, the last line of the daemon is one of its log, which says the same.
    const isLogged = name === 'start' && !context.isTTY && (context.stderr as { isTTY?: boolean }).isTTY !== true;
    // Commander has printed its errors already.
    if (!(error instanceof CommanderError || isLogged))
      context.stderr.write(errorLines(context, `${errorText(error, context.env)}\n`));
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
      if (!UNREAD.has(error.code)) throw error;
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
