/** Runs worlds of the product without one of its guards, until a world shows that the guard is missing. */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Guard, without } from './guard.ts';

const ROOT = join(import.meta.dirname, '../../..');
const COPIED = ['package.json', 'src', 'packages', 'migrations', 'assets', 'test/simulation'];
/** A world takes seconds. */
const WORLD_WITHIN = 5 * 60_000;

/** `caught`: a world had a problem. `missed`: none had. `broken`: the worlds could not be run to their end. */
export interface Hunt {
  readonly guard: Guard;
  readonly kind: 'caught' | 'missed' | 'broken';
  /** The seed of the world that had the problem, or of the last one that ran. */
  readonly seed: number | null;
  /** The problem; how many problems that world had. */
  readonly problem: string;
  readonly problems: number;
  readonly seconds: number;
}

/** Copies the sources without a guard into a folder of their own. */
function copyWithout(guard: Guard): string {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-sabotage-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const path = join(folder, guard.file);
  writeFileSync(path, without(guard, readFileSync(path, 'utf8')));
  mkdirSync(join(folder, 'tmp'));
  return folder;
}

/** Runs the worlds of these seeds without the guard, in one process, up to the first one with a problem. */
export async function hunt(guard: Guard, [first, last]: readonly [number, number]): Promise<Hunt> {
  const folder = copyWithout(guard);
  const began = Date.now();
  const child = spawn(process.execPath, [join(folder, 'test/simulation/run.ts'), `${first}..${last}`], {
    env: { PATH: process.env.PATH, TMPDIR: join(folder, 'tmp') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const end = (): boolean => child.kill('SIGKILL');
  let timer = setTimeout(end, WORLD_WITHIN);
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors = `${errors}${chunk}`.slice(-2_000);
  });
  const is = (kind: Hunt['kind'], seed: number | null, problems: readonly string[]): Hunt => {
    const seconds = Math.round((Date.now() - began) / 1_000);
    return { guard, kind, seed, problem: problems[0] ?? '', problems: problems.length, seconds };
  };
  let seed: number | null = null;
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      clearTimeout(timer);
      timer = setTimeout(end, WORLD_WITHIN);
      const world = JSON.parse(line) as { seed: number; problems: string[] };
      seed = world.seed;
      if (world.problems.length > 0) return is('caught', seed, world.problems);
    }
    await ended;
    if (seed === last) return is('missed', seed, []);
    const cause =
      child.signalCode === null
        ? errors
            .trim()
            .split('\n')
            .findLast((each) => each.includes('Error'))
        : 'it did not end';
    return is('broken', seed, [`the world of seed ${(seed ?? first - 1) + 1}: ${cause ?? 'it ended the process'}`]);
  } finally {
    clearTimeout(timer);
    end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}
