/**
 * Takes guards out of the product one at a time, and shows which seeds' worlds notice: `npm run sabotage`, of some guards
 * `npm run sabotage -- 'epoch' 'lease'` (parts of names), `--seeds 60` or `--seeds 61..500` (500 unless given), `--json`.
 */
import { parseArgs } from 'node:util';
import type { Guard } from './guard.ts';
import { GUARDS } from './guards.ts';
import { type Hunt, hunt } from './hunt.ts';

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

const hunts: Hunt[] = [];
const waiting: Guard[] = [...wanted];
const work = async (): Promise<void> => {
  for (let guard = waiting.shift(); guard !== undefined; guard = waiting.shift()) {
    const found = await hunt(guard, seeds);
    hunts.push(found);
    console.log(values.json ? JSON.stringify({ ...found, guard: guard.name }) : line(found));
  }
};
if (!values.json) console.log('| guard | promise | found | problem |\n|---|---|---|---|');
await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
const caught = hunts.filter(({ kind }) => kind === 'caught').length;
if (!values.json) console.log(`\n${caught} of ${hunts.length} guards were missed by a world of seeds ${seeds.join(' to ')}.`);
process.exitCode = caught === hunts.length ? 0 : 1;

function line({ guard, kind, seed, problem, problems, seconds }: Hunt): string {
  const more = problems > 1 ? ` (and ${problems - 1} more)` : '';
  const found = kind === 'caught' ? `seed ${seed}` : kind === 'missed' ? `not up to seed ${seed}` : 'broken';
  return `| ${guard.name} | ${guard.promise} | ${found}, ${seconds} s | ${problem.replaceAll('|', '\\|')}${more} |`;
}
