/** The process as a world: time, network, database engine. Made once; each world in it begins again from nothing. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { type Engine, startEngine } from './database.ts';
import { Network, useNetwork } from './network.ts';
import { createRandom, type Random } from './random.ts';
import { Scheduler, takeOver } from './time.ts';

export interface Shell {
  readonly engine: Engine;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly random: Random;
  /** Real milliseconds. */
  readonly stopwatch: () => number;
}

/** Begins the world of a seed: nothing of the last one goes on. Within a process seeds must grow. */
export function beginAgain({ scheduler, network, random }: Shell, seed: number): void {
  scheduler.reset(seed);
  network.reset();
  random.reseed(seed);
}

/** Takes time, chance and network of this process away from it. */
export async function enclose(seed: number): Promise<Shell> {
  const stopwatch = performance.now.bind(performance);
  const engine = await startEngine();
  const random = createRandom(seed);
  const scheduler = new Scheduler();
  takeOver(scheduler, random);
  const network = new Network(scheduler);
  useNetwork(network);
  readKernelOnce();
  return { engine, scheduler, network, random, stopwatch };
}

/** Daemons ask the kernel at each tick which processes there are: always this one. */
function readKernelOnce(): void {
  const { readFileSync } = fs;
  const known = new Map<unknown, unknown>();
  const read = (path: string, how: 'utf8'): unknown => {
    if (!`${path}`.startsWith('/proc/')) return readFileSync(path, how);
    if (!known.has(path)) known.set(path, readFileSync(path, how));
    return known.get(path);
  };
  Object.assign(fs, { readFileSync: read });
  syncBuiltinESMExports();
}
