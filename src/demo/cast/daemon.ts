/** The daemon of the demo: a process of its own, so that it can be killed while the rest goes on. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { PACKAGE_FOLDER } from '../../runtime/process/package-folder.ts';
import { delay } from '../../runtime/time.ts';

const BIN = join(PACKAGE_FOLDER, 'bin/purchase-watch.mjs');
const LOOK_AGAIN: Milliseconds = 100;

export type DaemonProcess = ReturnType<typeof createDaemon>;

/** A daemon with these settings as its environment, which listens at `port`. */
export function createDaemon(settings: NodeJS.ProcessEnv, { port, logFile }: { port: number; logFile: string }) {
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | null = null;
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    if (child === null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  return {
    /** The address of the daemon's API and console. */
    url,
    isRunning: () => child !== null,
    /** Starts the daemon, and waits until it does its work. Throws AppError when it ends instead. */
    start: async (): Promise<void> => {
      if (child !== null) return;
      const { PATH = '', HOME = '' } = process.env;
      const started = spawn(process.execPath, [BIN, 'start'], {
        env: { PATH, HOME, ...settings, PORT: String(port) },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = started;
      let said = '';
      const log = createWriteStream(logFile, { flags: 'a' });
      started.stdout.pipe(log);
      for (const output of [started.stdout, started.stderr])
        output.setEncoding('utf8').on('data', (text: string) => {
          said = (said + text).slice(-10_000);
        });
      started.once('exit', () => {
        if (child === started) child = null;
      });
      while (child === started && !(await isReady(url))) await delay(LOOK_AGAIN);
      if (child !== started)
        throw new AppError('unavailable', `the daemon did not start: ${complaintOf(said)} (log: ${logFile})`);
    },
    /** Ends the daemon at once, as a power cut would. */
    kill: () => end('SIGKILL'),
    /** Stops the daemon, which finishes the work under way first. */
    stop: () => end('SIGTERM'),
  };
}

/** The reason of a start that failed: the last line of the log, or of the output of a process that had no log yet. */
function complaintOf(said: string): string {
  const last = said.trim().split('\n').at(-1) ?? '';
  try {
    return (JSON.parse(last) as { readonly error: { readonly message: string } }).error.message;
  } catch {
    return last;
  }
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok === true;
}
