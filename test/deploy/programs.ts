/** Programs that tests of `deploy/` run to their end. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const MOST_OUTPUT = 64 * 1024 ** 2;

/** Answers what it printed, without the last line's end; throws with all that it said when its exit code is not 0. */
export async function run(command: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { maxBuffer: MOST_OUTPUT, encoding: 'utf8' });
    return stdout.trim();
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${`${stdout}${stderr}`.slice(-4_000)}`);
  }
}

export interface Outcome {
  readonly code: number;
  readonly output: string;
}

/** The same for one that may fail; -1 when it cannot be started, or a signal ended it. */
export function outcomeOf(command: string, args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(command, args, { maxBuffer: MOST_OUTPUT, encoding: 'utf8' }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, output: `${stdout}${stderr}` });
    });
  });
}
