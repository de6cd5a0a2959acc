/** Worlds that tests run. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Runs worlds in a process of their own, whose time and network they take over. */
export async function worlds(
  seeds: string,
): Promise<{ seed: number; digest: string; problems: string[]; purchases: number; statements: number }[]> {
  const run = join(import.meta.dirname, 'run.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [run, seeds, '--json'], {
    env: { PATH: process.env.PATH },
  }).catch((error) => error);
  return stdout
    .trim()
    .split('\n')
    .map((line: string) => JSON.parse(line));
}
