/** The daemon as an operator runs it: a process of its own, which can be killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { MACHINE_DIR } from './machine.ts';

export interface Daemon {
  readonly process: ChildProcess;
  /** Everything it has written so far. */
  output(): string;
  /** Resolves when a line of its output holds the text. */
  says(text: string, timeout?: number): Promise<void>;
  /** Sends the signal and waits for the end; answers the exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | string>;
}

/** For the environment of a process that runs our sources: it starts in half the time. */
export const quickStart = (): Record<string, string> => {
  const { NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
};

const PROJECT = join(import.meta.dirname, '../..');

/**
 * Starts `purchase-watch` with the given arguments and nothing but the given environment. `openFiles`: how many files and
 * sockets it may have open; `program`: the folder of another version than this one.
 */
export function startDaemon(
  args: readonly string[],
  env: Record<string, string>,
  { openFiles, program = PROJECT }: { openFiles?: number; program?: string } = {},
): Daemon {
  const command = [process.execPath, join(program, 'bin/purchase-watch.mjs'), ...args];
  const limited = openFiles === undefined ? command : ['sh', '-c', 'ulimit -n "$0" && exec "$@"', `${openFiles}`, ...command];
  const child = spawn(limited[0]!, limited.slice(1), {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      ...quickStart(),
      ...(env.DATABASE_URL !== undefined && { DATA_DIR: MACHINE_DIR }),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  let listeners: (() => void)[] = [];
  const heard = (chunk: Buffer): void => {
    text += chunk;
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', heard);
  child.stderr.on('data', heard);
  const ended = new Promise<number | string>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown')),
  );
  return {
    process: child,
    output: () => text,
    says: (wanted, timeout = 60_000) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`the daemon never said "${wanted}"; it said:\n${text}`)), timeout);
        const look = (): void => {
          if (!text.includes(wanted)) return;
          clearTimeout(timer);
          listeners = listeners.filter((listener) => listener !== look);
          resolve();
        };
        listeners.push(look);
        look();
      }),
    end: (signal) => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
  };
}
