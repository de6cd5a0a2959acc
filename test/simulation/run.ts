/** Runs the worlds of seeds: `node test/simulation/run.ts 7`, or `1..100`; a file after that gets the log of the last one. */
import { writeFileSync } from 'node:fs';
import { planOf } from './plan.ts';
import { enclose } from './world/process.ts';
import { warmed } from './world/snapshot.ts';

const [seeds = '1', file] = process.argv.slice(2);
const [first, last = first] = seeds.split('..').map(Number);
const shell = await enclose(0);
const { migrated, runWorld } = await import('./world.ts');
const cold = await migrated(shell);
// The first world has the engine meet the statements of all others.
await runWorld(shell, { ...planOf(5), seed: 0 }, cold);
const snapshot = warmed(shell.engine, cold);
let failed = 0;
for (let seed = first!; seed <= last!; seed++) {
  const began = shell.stopwatch();
  const before = process.cpuUsage();
  const { problems, digest, figures, log } = await runWorld(shell, planOf(seed), snapshot);
  if (file !== undefined) writeFileSync(file, log.join(''));
  if (problems.length > 0) failed++;
  const cpu = Math.round(process.cpuUsage(before).user / 1_000);
  console.log(JSON.stringify({ seed, digest, ...figures, ms: Math.round(shell.stopwatch() - began), cpu, problems }));
}
process.exit(failed === 0 ? 0 : 1);
