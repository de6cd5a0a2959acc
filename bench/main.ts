/** `npm run bench`: which benches, how long, and where the results go. */
import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { suggestion } from '../src/config/kinds/nearest.ts';
import type { Bench, BenchOptions } from './bench.ts';
import { budget } from './budget/budget.ts';
import { change } from './change.ts';
import { deliver } from './deliver/deliver.ts';
import { exports } from './exports.ts';
import { scale } from './growth/scale.ts';
import { soak } from './growth/soak.ts';
import { guard } from './guard/guard.ts';
import { idle } from './idle.ts';
import { insert } from './insert.ts';
import { openLab } from './lab.ts';
import { pages } from './pages.ts';
import { peers } from './peers/peers.ts';
import { peersSend } from './peers/send.ts';
import { yardstick } from './peers/yardstick/yardstick.ts';
import { polls } from './polls.ts';
import { read } from './read.ts';
import { hasFailed, holds, type Result, table } from './report.ts';
import { send } from './send.ts';
import { synchronous } from './synchronous.ts';

const BENCHES: Readonly<Record<string, Bench>> = {
  polls,
  change,
  insert,
  idle,
  send,
  budget,
  deliver,
  peers,
  'peers-send': peersSend,
  yardstick,
  scale,
  soak,
  guard,
  read,
  pages,
  synchronous,
  exports,
};
/** These take minutes, gigabytes, another commit or packages from a registry: only by name. */
const BY_NAME = new Set([
  'peers',
  'peers-send',
  'yardstick',
  'scale',
  'soak',
  'guard',
  'read',
  'pages',
  'synchronous',
  'exports',
]);

const USAGE = `npm run bench -- [names] [options]

  names         ${Object.keys(BENCHES).join(' ')}; all but ${[...BY_NAME].join(' ')} when none is given
  --quick       shorter runs: less certain, but soon
  --large       idle with a million purchases
  --against REV guard compares with this commit, tag or branch instead of the one in bench/guard/commit
  --minutes N   how long soak works; 60 unless given
  --watched N,… scale compares databases of so many purchases, with an event each, and leaves out those of more events
  --json FILE   results as JSON, too; - for standard output instead of tables

BENCH_DATABASE_URL or DATABASE_URL name a Postgres that may create databases; otherwise an embedded one is used.
`;

const NOTHING_WRONG = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

process.exitCode = await main();

async function main(): Promise<number> {
  const wanted = readArguments();
  if (wanted === 'help') {
    process.stdout.write(USAGE);
    return NOTHING_WRONG;
  }
  if (wanted === 'wrong') {
    process.stderr.write(USAGE);
    return WRONG_USAGE;
  }
  const { names, json, ...options } = wanted;
  const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
  const lab = await openLab(process.env.BENCH_DATABASE_URL ?? process.env.DATABASE_URL ?? null);
  // The parts are stopped and the folder removed, however this ends. A bench that is interrupted fails for want of its parts.
  let interruption: Promise<never> | null = null;
  process.once('SIGINT', () => {
    interruption = lab.close().then(() => process.exit(130));
  });
  const results: Result[] = [];
  try {
    for (const name of names) {
      process.stderr.write(`${name}\n`);
      const result = await BENCHES[name]!(lab, { ...options, say });
      results.push(result);
      if (json !== '-') process.stdout.write(`\n${table(result)}\n`);
    }
  } finally {
    await (interruption ?? lab.close());
  }
  if (json !== undefined) {
    const machine = { node: process.version, platform: `${process.platform} ${process.arch}`, cores: availableParallelism() };
    const data = results.map((result) => ({ ...result, rows: result.rows.map((row) => ({ ...row, holds: holds(row) })) }));
    const text = `${JSON.stringify({ machine: { ...machine, load: loadavg()[0] }, quick: options.quick, results: data }, null, 2)}\n`;
    if (json === '-') process.stdout.write(text);
    else writeFileSync(json, text);
  }
  return results.some(hasFailed) ? FAILED : NOTHING_WRONG;
}

interface Wanted extends Omit<BenchOptions, 'say'> {
  readonly names: string[];
  readonly json: string | undefined;
}

function readArguments(): Wanted | 'help' | 'wrong' {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        large: { type: 'boolean', default: false },
        against: { type: 'string' },
        minutes: { type: 'string' },
        watched: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return 'help';
    const unknown = positionals.filter((name) => !Object.hasOwn(BENCHES, name));
    const complaints = unknown.map(
      (name) => `There is no bench named ${JSON.stringify(name)}${suggestion(name, Object.keys(BENCHES))}.\n`,
    );
    if (unknown.length > 0) {
      process.stderr.write(`${complaints.join('')}\n`);
      return 'wrong';
    }
    const minutes = values.minutes === undefined ? null : Number(values.minutes);
    if (minutes !== null && !(minutes > 0)) {
      process.stderr.write(`--minutes ${JSON.stringify(values.minutes)}: give a number above 0.\n\n`);
      return 'wrong';
    }
    const watched = values.watched?.split(',').map(Number) ?? null;
    if (watched !== null && !watched.every((count) => Number.isInteger(count) && count >= 10_000)) {
      process.stderr.write(
        `--watched ${JSON.stringify(values.watched)}: give whole numbers from 10000 on, separated by commas.\n\n`,
      );
      return 'wrong';
    }
    const names = positionals.length > 0 ? positionals : Object.keys(BENCHES).filter((name) => !BY_NAME.has(name));
    return {
      names,
      quick: values.quick,
      large: values.large,
      against: values.against ?? null,
      minutes,
      watched,
      json: values.json,
    };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n`);
    return 'wrong';
  }
}
