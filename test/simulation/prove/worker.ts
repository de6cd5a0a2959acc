/**
 * Runs the world of each plan that comes in, a line each, and answers with a line about it: a `Task`, then a `Report`. The input is read
 * while no world runs, because nothing but its plan may decide what happens in a world.
 */
import { readSync, writeFileSync, writeSync } from 'node:fs';
import { planOf } from '../acts/plan.ts';
import { enclose } from '../world/process.ts';
import { warmed } from '../world/snapshot.ts';
import type { Report, Task } from './processes.ts';

// Who ends the command waits for the world under way.
process.on('SIGINT', () => undefined);
const shell = await enclose(0);
const whole = await import('../world.ts');
const cold = await whole.migrated(shell);
// The first world has the engine meet the statements of all others: its plan is a short one in which nearly all of them occur.
await whole.runWorld(shell, { ...planOf(26), seed: 0 }, cold);
const snapshot = warmed(shell.engine, cold);

const still = new Int32Array(new SharedArrayBuffer(4));
/** Waits for the next line; null at the end of the input. */
function nextLine(): string | null {
  const chunks: Buffer[] = [];
  const chunk = Buffer.alloc(65_536);
  for (;;) {
    let size: number;
    try {
      size = readSync(0, chunk);
    } catch (error) {
      // Nothing has come yet, and the process has made its input one that does not wait.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(still, 0, 0, 10);
      continue;
    }
    if (size === 0) return null;
    chunks.push(Buffer.from(chunk.subarray(0, size)));
    if (chunk[size - 1] === 0x0a) return Buffer.concat(chunks).toString();
  }
}

for (let line = nextLine(); line !== null; line = nextLine()) {
  const { plan, log: file, without } = JSON.parse(line) as Task;
  const world = without === undefined ? whole : await (await import('../sabotage/missing.ts')).worldWithout(without);
  const began = shell.stopwatch();
  const before = process.cpuUsage();
  const { problems, digest, figures, log } = await world.runWorld(shell, plan, snapshot, { untilProblem: without !== undefined });
  if (file !== undefined) writeFileSync(file, log.join(''));
  const cpu = Math.round(process.cpuUsage(before).user / 1_000);
  const report: Report = { seed: plan.seed, digest, ...figures, ms: Math.round(shell.stopwatch() - began), cpu, problems };
  writeSync(1, `${JSON.stringify(report)}\n`);
}
process.exit(0);
