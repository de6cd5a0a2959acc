/** `demo`: the whole product on this machine. */

import { ReadStream, WriteStream } from 'node:tty';
import type { Command } from 'commander';
import { runDemo } from '../../demo/demo.ts';
import type { StageTerminal } from '../../demo/terminal/stage.ts';
import { untilStopSignal } from '../../runtime/process/signals.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { printLine, styled } from '../terminal/output.ts';

const DEFAULT_DATA_DIR = './.purchase-watch';

async function demo(context: CliContext, once: boolean): Promise<void> {
  const stopping = new AbortController();
  void untilStopSignal(context.takeSignals).then(() => stopping.abort());
  await runDemo({
    // The demo has settings of its own: what a real daemon lacks or has wrong must not keep it from starting.
    dataDir: context.env.DATA_DIR || DEFAULT_DATA_DIR,
    once,
    stage: {
      write: (line) => printLine(context, line),
      paint: (style, text) => styled(context, style, text),
      terminal: terminalOf(context),
    },
    signal: stopping.signal,
  });
}

/** The terminal of this process; null where there is none, or one that cannot be drawn on. */
function terminalOf({ env, stdin, stdout }: CliContext): StageTerminal | null {
  if (!(stdout instanceof WriteStream) || env.TERM === 'dumb') return null;
  // As Ctrl-C does where it is no key: a second time ends the process at once.
  const end = (): void => void process.kill(process.pid, 'SIGINT');
  return { output: stdout, input: stdin instanceof ReadStream ? stdin : null, end };
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Shows the whole product at work in two minutes: an embedded Postgres, a simulated checkout service, a shop that takes webhooks, a stand-in for Slack, and the daemon. Writes to DATA_DIR/demo (./.purchase-watch/demo unless set) alone.',
    )
    .option('--once', 'end after the story, for a quick look or a test')
    .action(({ once = false }: { once?: boolean }) => demo(context, once));
  examples(command, [
    ['demo', 'until q or Ctrl-C'],
    ['demo --once', 'about two minutes'],
  ]);
}
