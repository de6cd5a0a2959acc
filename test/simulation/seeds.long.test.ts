/** Worlds of a few seeds keep every promise, and a seed replays to the byte. `npm run prove -- 1..1000` runs more of them. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Runs worlds in a process of their own, whose time and network they take over. */
async function worlds(
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

test('worlds keep their promises whatever the plan of their seed breaks', async () => {
  const [several, alone] = await Promise.all([worlds('1..6'), worlds('6')]);
  expect(several).toHaveLength(6);
  expect(several.flatMap(({ seed, problems }) => problems.map((problem) => `${seed}: ${problem}`))).toEqual([]);
  expect(several.every(({ purchases, statements }) => purchases > 0 && statements > 500)).toBe(true);
  expect(several.at(-1)!.digest).toBe(alone[0]!.digest);
});
