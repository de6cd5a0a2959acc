/**
 * Takes guards out of the product one at a time, and shows what notices: `npm run sabotage` tries what noticed each of them last, of some
 * guards `npm run sabotage -- 'epoch' 'lease'` (parts of names). `--seeds 60` or `--seeds 61..500` looks for a seed instead, `--plans` for a
 * plan, `--test FILE` tries a test of the suite. `--write` keeps what noticed and writes the table of docs/proof.md.
 */
import { parseArgs } from 'node:util';
import { GUARDS } from './guards.ts';
import { createHunt, type Found } from './hunt.ts';
import { keep, type Noticed, readNoticed, type Way } from './noticed.ts';
import { PLANS } from './plans.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string' },
    plans: { type: 'boolean', default: false },
    test: { type: 'string' },
    write: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const wanted = GUARDS.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
if (wanted.length === 0) throw new Error(`no guard has one of these words in its name: ${positionals.join(', ')}`);

const known = readNoticed();
function waysFor(name: string): readonly Way[] {
  if (values.test !== undefined) return [{ test: values.test }];
  if (values.plans) return Object.keys(PLANS).map((plan) => ({ plan }));
  if (values.seeds !== undefined) return seedsOf(values.seeds).map((seed) => ({ seed }));
  const way = known[name]?.way;
  return way === undefined ? [] : [way];
}

function seedsOf(text: string): number[] {
  const bounds = /^(?:(\d+)\.\.)?(\d+)$/.exec(text);
  const [first, last] = [Number(bounds?.[1] ?? 1), Number(bounds?.[2])];
  if (!(first <= last)) throw new Error(`--seeds is ${text}; give a number, or two as in 61..500`);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

const hunt = createHunt();
const found: Record<string, Noticed> = {};
for (const guard of wanted) {
  const { name, promise } = guard;
  const noticed: Found = await hunt.find(guard, waysFor(name));
  if (noticed !== null) found[name] = { ...noticed, ...(known[name]?.why === undefined ? {} : { why: known[name].why }) };
  const by = noticed === null ? 'no' : Object.entries(noticed.way).flat().join(' ');
  console.log(
    values.json
      ? JSON.stringify({ name, promise, ...noticed })
      : `| ${name} | ${promise} | ${by} | ${(noticed?.problem ?? '').replaceAll('|', '\\|')} |`,
  );
}
await hunt.end();
const count = Object.keys(found).length;
if (!values.json) console.log(`\n${count} of ${wanted.length} guards that were taken out were noticed.`);
if (values.write) keep(found);
process.exitCode = count === wanted.length ? 0 : 1;
