/** Runs worlds of the product without one of its guards, until a world shows that the guard is missing. */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Guard, without } from './guard.ts';

const ROOT = join(import.meta.dirname, '../../..');
const COPIED = ['package.json', 'src', 'packages', 'migrations', 'assets', 'test/simulation'];
/** A world takes seconds; one that does not come to rest, or on a busy machine, minutes. */
const WORLD_WITHIN = 15 * 60_000;

/** A line that the command of the worlds writes. */
export interface World {
  readonly seed: number;
  readonly digest: string;
  readonly problems: readonly string[];
}

export interface Worlds {
  readonly worlds: readonly World[];
  /** Why the worlds ended before the last seed, though none had a problem; null: they did not. */
  readonly broken: string | null;
}

/** Copies the sources, without a guard where one is given, into a folder of their own. */
function copyOf(guard: Guard | null): string {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-sabotage-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'tmp'));
  if (guard === null) return folder;
  const path = join(folder, guard.file);
  writeFileSync(path, without(guard, readFileSync(path, 'utf8')));
  return folder;
}

/** Runs the worlds of these seeds, without the guard where one is given, in one process, up to the first one with a problem. */
export async function runWithout(guard: Guard | null, [first, last]: readonly [number, number]): Promise<Worlds> {
  const folder = copyOf(guard);
  const child = spawn(process.execPath, [join(folder, 'test/simulation/run.ts'), `${first}..${last}`, '--json'], {
    detached: true,
    env: { PATH: process.env.PATH, TMPDIR: join(folder, 'tmp') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  // The worlds run in a child of that process.
  const end = (): void => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL');
  };
  const leave = (): void => {
    end();
    rmSync(folder, { recursive: true, force: true });
  };
  // A person ends the command while worlds run.
  process.once('exit', leave);
  let timer = setTimeout(end, WORLD_WITHIN);
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors = `${errors}${chunk}`.slice(-2_000);
  });
  const worlds: World[] = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      clearTimeout(timer);
      timer = setTimeout(end, WORLD_WITHIN);
      const world = JSON.parse(line) as World;
      worlds.push(world);
      if (world.problems.length > 0) return { worlds, broken: null };
    }
    await ended;
    const seed = worlds.at(-1)?.seed ?? first - 1;
    if (seed === last) return { worlds, broken: null };
    const cause = child.signalCode === null ? errors.split('\n').findLast((each) => each.includes('Error')) : 'it did not end';
    return { worlds, broken: `the world of seed ${seed + 1}: ${cause ?? 'it ended the process'}` };
  } finally {
    clearTimeout(timer);
    end();
    await ended;
    process.off('exit', leave);
    leave();
  }
}
