/** `demo`: the whole product on this machine. */

import { ReadStream, WriteStream } from 'node:tty';
import { runDemo } from '../../demo/demo.ts';
import type { StageTerminal } from '../../demo/terminal/stage.ts';
import { untilStopSignal } from '../../runtime/process/signals.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { printLine, styled } from '../terminal/output.ts';

const DEFAULT_DATA_DIR = './.purchase-watch';

export const register = declare(
  {
    description:
      'Shows the whole product at work in two minutes: an embedded Postgres, a simulated checkout service, a shop that takes webhooks, a stand-in for Slack, and the daemon. Writes to DATA_DIR/demo (./.purchase-watch/demo unless set) alone.',
    options: [['--once', 'end after the story, for a quick look or a test']],
    examples: [
      ['demo', 'until q or Ctrl-C'],
      ['demo --once', 'about two minutes'],
    ],
  },
  async (context, { once }) => {
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
  },
);

/** The terminal of this process; null where there is none, or one that cannot be drawn on. */
function terminalOf({ env, stdin, stdout }: CliContext): StageTerminal | null {
  if (!(stdout instanceof WriteStream) || env.TERM === 'dumb') return null;
  // As Ctrl-C does where it is no key: a second time ends the process at once.
  const end = (): void => void process.kill(process.pid, 'SIGINT');
  return { output: stdout, input: stdin instanceof ReadStream ? stdin : null, end };
}
