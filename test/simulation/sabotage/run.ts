/**
 * Takes guards out of the product one at a time, and shows which seeds' worlds notice: `npm run sabotage`, of some guards
 * `npm run sabotage -- 'epoch' 'lease'` (parts of names), `--seeds 60` or `--seeds 61..500` (500 unless given), `--json`.
 *
 * A guard that no world missed is shown with how many worlds went otherwise without it: if none did, a fault is needed that strikes
 * there; if some did, a check.
 */
import { parseArgs } from 'node:util';
import type { Guard } from './guard.ts';
import { GUARDS } from './guards.ts';
import { runWithout } from './hunt.ts';

/** Each world keeps a core busy. */
const SIDE_BY_SIDE = 2;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seeds: { type: 'string', default: '500' }, json: { type: 'boolean', default: false } },
});
const bounds = /^(?:(\d+)\.\.)?(\d+)$/.exec(values.seeds);
const seeds = [Number(bounds?.[1] ?? 1), Number(bounds?.[2])] as const;
if (!(seeds[0] <= seeds[1])) throw new Error(`--seeds is ${values.seeds}; give a number, or two as in 61..500`);
const wanted = GUARDS.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
if (wanted.length === 0) throw new Error(`no guard has one of these words in its name: ${positionals.join(', ')}`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const whole = await runWithout(null, seeds);
const fault = whole.broken ?? whole.worlds.at(-1)?.problems[0];
if (fault !== undefined)
  throw new Error(`the product with all its guards has a problem with seed ${whole.worlds.at(-1)?.seed}: ${fault}`);
const digests = new Map(whole.worlds.map(({ seed, digest }) => [seed, digest]));

/** `caught`: a world had a problem. `missed`: none had. `broken`: the worlds could not be run to their end. */
async function hunt(guard: Guard) {
  const began = Date.now();
  const { worlds, broken } = await runWithout(guard, seeds);
  const problems = worlds.at(-1)?.problems ?? [];
  return {
    ...guard,
    kind: broken !== null ? 'broken' : problems.length > 0 ? 'caught' : 'missed',
    /** Of the last world. */
    seed: worlds.at(-1)?.seed ?? null,
    /** Worlds that went otherwise than with the guard. */
    others: worlds.filter(({ seed, digest }) => digests.get(seed) !== digest).length,
    problem: broken ?? problems[0] ?? '',
    problems: problems.length,
    seconds: Math.round((Date.now() - began) / 1_000),
  };
}

function line({ name, promise, kind, seed, others, problem, problems }: Awaited<ReturnType<typeof hunt>>): string {
  const more = problems > 1 ? ` (and ${problems - 1} more)` : '';
  const found = kind === 'caught' ? `seed ${seed}` : kind === 'missed' ? `no; ${others} worlds went otherwise` : 'broken';
  return `| ${name} | ${promise} | ${found} | ${problem.replaceAll('|', '\\|')}${more} |`;
}

const kinds: string[] = [];
const waiting = [...wanted];
const work = async (): Promise<void> => {
  for (let guard = waiting.shift(); guard !== undefined; guard = waiting.shift()) {
    const { from: _from, to: _to, ...found } = await hunt(guard);
    kinds.push(found.kind);
    console.log(values.json ? JSON.stringify(found) : line({ ...guard, ...found }));
  }
};
if (!values.json) console.log('| guard taken out | promise | noticed | problem |\n|---|---|---|---|');
await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
const caught = kinds.filter((kind) => kind === 'caught').length;
if (!values.json)
  console.log(`\nWorlds of seeds ${seeds.join(' to ')} noticed ${caught} of ${kinds.length} guards that were taken out.`);
process.exitCode = caught === kinds.length ? 0 : 1;
