/** A program in a real pseudo-terminal, and what a person sees on it, as the emulator that editors have shows it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Terminal } from '@xterm/headless';
import xterm from '@xterm/headless';
import { quickStart } from './daemon.ts';

export interface TestTerminal {
  readonly emulator: Terminal;
  /** The lines of the screen, without blanks at their ends. */
  lines(): string[];
  isCursorHidden(): boolean;
  press(keys: string): void;
  resize(columns: number, rows: number): void;
  /** Closes the terminal, as a person closes its window. */
  hangUp(): void;
  /** The exit code, once the program has ended and all that it wrote is on the screen. */
  readonly ended: Promise<number>;
}

export interface TerminalOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly columns?: number;
  readonly rows?: number;
  /** Called with each screen, in the order in which they come. */
  onScreen?(lines: readonly string[]): void;
}

const PTY = join(import.meta.dirname, 'terminal.py');

/** Starts the program; `python3` makes its terminal. */
export function openTerminal(
  program: readonly string[],
  { env = {}, cwd, columns = 80, rows = 24, onScreen }: TerminalOptions = {},
): TestTerminal {
  const emulator = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  let isCursorHidden = false;
  for (const final of ['h', 'l']) {
    emulator.parser.registerCsiHandler({ prefix: '?', final }, ([mode]) => {
      if (mode === 25) isCursorHidden = final === 'l';
      return false;
    });
  }
  const lines = (): string[] => {
    const { active } = emulator.buffer;
    return Array.from({ length: emulator.rows }, (_, at) => active.getLine(active.viewportY + at)!.translateToString(true));
  };
  const process = spawn('python3', [PTY, String(columns), String(rows), ...program], {
    env: { PATH: globalThis.process.env.PATH, TERM: 'xterm-256color', ...quickStart(), ...env },
    ...(cwd !== undefined && { cwd }),
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
  });
  const show = (): void => {
    // Half of a change is no screen.
    if (!emulator.modes.synchronizedOutputMode) onScreen?.(lines());
  };
  process.stdout!.on('data', (data: Buffer) => emulator.write(data, show));
  const ended = once(process, 'close').then(async ([code]) => {
    await new Promise<void>((done) => emulator.write('', done));
    return code as number;
  });
  return {
    emulator,
    lines,
    ended,
    isCursorHidden: () => isCursorHidden,
    hangUp: () => void process.stdin!.end(),
    press: (keys) => void process.stdin!.write(keys),
    resize: (newColumns, newRows) => {
      emulator.resize(newColumns, newRows);
      (process.stdio[3] as Writable).write(`${newColumns} ${newRows}\n`);
    },
  };
}
