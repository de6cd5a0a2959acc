/** Runs the world of a seed: `node test/simulation/run.ts 7`. */
import { writeFileSync } from 'node:fs';
import { planOf } from './plan.ts';
import { enclose } from './world/process.ts';

const [seed = '1', file] = process.argv.slice(2);
const plan = planOf(Number(seed));
const shell = await enclose(plan.seed);
const { runWorld } = await import('./world.ts');
const began = shell.stopwatch();
const { problems, digest, figures, log } = await runWorld(shell, plan);
if (file !== undefined) writeFileSync(file, log.join(''));
console.log(JSON.stringify({ seed: plan.seed, digest, ...figures, ms: Math.round(shell.stopwatch() - began), cpu: Math.round(process.cpuUsage().user / 1000), problems }));
process.exit(problems.length === 0 ? 0 : 1);
