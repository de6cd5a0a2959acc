/** Runs the worlds of seeds and says what they showed: `npm run prove -- 1..80`. */
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type Plan, planOf } from './acts/plan.ts';
import { type Report, runAlone, runTasks, type Task } from './prove/processes.ts';
import { shrink } from './prove/shrink.ts';
import { storyOf } from './prove/story.ts';
import { add, hoursOf, nothing, tableOf } from './prove/table.ts';

const USAGE = `usage: npm run prove -- [SEEDS] [LOG] [--jobs N] [--json]
       npm run prove -- --plan PLAN [LOG]
  SEEDS   a seed such as 7, or several as in 1..80 (without: 1..20)
  LOG     a file for the log of the last world, or of the shortest one that breaks a promise
  --jobs  processes side by side (without: 1)
  --json  a line of JSON for each world, and nothing else
  --plan  runs one plan: its JSON, or a file that has it`;
/** A progress line comes this often at most. */
const SAYS_EVERY = 5_000;
/** Plans tried at most to shrink one; each takes seconds. */
const MOST_TRIED = 100;
const LAST_SEED = 70_000;

class Mistyped extends Error {}

function read(values: readonly string[]) {
  const { values: options, positionals } = parseArgs({
    args: [...values],
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false }, jobs: { type: 'string', default: '1' }, plan: { type: 'string' } },
  });
  const most = availableParallelism();
  const jobs = Number(options.jobs);
  if (!(Number.isInteger(jobs) && jobs >= 1 && jobs <= most)) {
    throw new Mistyped(`--jobs is "${options.jobs}"; give a whole number from 1 to ${most}, the processors of this machine`);
  }
  const rest = [...positionals];
  const seeds = options.plan === undefined ? seedsOf(rest.shift() ?? '1..20') : null;
  if (rest.length > 1) throw new Mistyped(`"${rest[1]}" is one value too many`);
  return { jobs, seeds, log: rest[0], json: options.json, plan: options.plan === undefined ? null : readPlan(options.plan) };
}

function seedsOf(text: string): readonly [number, number] {
  const found = /^(\d+)(?:\.\.(\d+))?$/.exec(text);
  const [first, last] = [Number(found?.[1]), Number(found?.[2] ?? found?.[1])];
  if (first >= 1 && first <= last && last <= LAST_SEED) return [first, last];
  throw new Mistyped(`the seeds are "${text}"; give one from 1 to ${LAST_SEED}, or several as in 1..80`);
}

function readPlan(given: string): Plan {
  if (!given.startsWith('{') && !existsSync(given))
    throw new Mistyped(`--plan is "${given}"; give the JSON of a plan, or a file that has it`);
  try {
    const plan = JSON.parse(given.startsWith('{') ? given : readFileSync(given, 'utf8')) as Plan;
    const isWhole = [plan.seed, plan.daemons, plan.receivers, plan.lasts].every(Number.isFinite) && Array.isArray(plan.acts);
    if (!isWhole) throw new Error('seed, daemons, receivers, lasts and acts are needed');
    return plan;
  } catch (error) {
    throw new Mistyped(`--plan is no plan: ${(error as Error).message}`);
  }
}

let isStopped = false;
process.once('SIGINT', () => {
  isStopped = true;
});

function* tasksOf([first, last]: readonly [number, number], log: string | undefined): Generator<Task, void> {
  for (let seed = first; seed <= last && !isStopped; seed++) yield { plan: planOf(seed), log: seed === last ? log : undefined };
}

/** Runs the worlds of seeds. Answers the first of those with problems. */
async function runSeeds(given: Given & { seeds: readonly [number, number] }): Promise<Report | null> {
  const { seeds, jobs, json, log } = given;
  const total = nothing();
  const count = seeds[1] - seeds[0] + 1;
  let saidAt = performance.now();
  let first: Report | null = null;
  await runTasks(tasksOf(seeds, log), jobs, (report, { plan }) => {
    add(total, report, plan);
    if (report.problems.length > 0 && report.seed < (first?.seed ?? Number.POSITIVE_INFINITY)) first = report;
    if (json) {
      console.log(JSON.stringify(report));
      return;
    }
    if (report.problems.length > 0) console.log(`seed ${report.seed}: ${shown(report.problems)}`);
    if (performance.now() - saidAt < SAYS_EVERY) return;
    saidAt = performance.now();
    console.log(`${total.worlds} of ${count} worlds, ${hoursOf(total)} virtual hours, ${total.broken} with a broken promise`);
  });
  if (!json) console.log(['', ...tableOf(total), ''].join('\n'));
  return first;
}

const shown = (problems: readonly string[]): string =>
  problems.length === 1 ? problems[0]! : `${problems[0]} (and ${problems.length - 1} more)`;

/** Problems without ids, times and numbers, which differ from plan to plan. */
const kindsOf = ({ problems }: Report): Set<string> =>
  new Set(problems.map((each) => each.replaceAll(/\S*\d\S*|null|undefined/g, '…')));

/** Shrinks the plan of a world that broke a promise, and tells it. */
async function tell({ seed }: Report, { jobs, log }: Given): Promise<void> {
  const plan = planOf(seed);
  console.log(
    `Shrinking the plan of seed ${seed}, which has ${plan.acts.length} acts; Ctrl-C ends that with the shortest so far …`,
  );
  const alone = await runAlone(plan, log);
  if (alone.problems.length === 0) {
    console.log(
      [
        ...storyOf(plan),
        '',
        `Alone, this world keeps every promise: something of the worlds before it was left in its process.`,
      ].join('\n'),
    );
    return;
  }
  const kinds = kindsOf(alone);
  const shortest = await shrink(plan, {
    jobs,
    most: MOST_TRIED,
    fails: async (each) => !isStopped && !kindsOf(await runAlone(each)).isDisjointFrom(kinds),
    onShorter: ({ acts, lasts }, tried) =>
      console.log(`  after ${tried} plans: ${acts.length} acts within ${Math.ceil(lasts / 1_000)} s`),
  });
  const { problems } = await runAlone(shortest, log);
  console.log(
    ['', ...storyOf(shortest, problems), '', `Repeat it: npm run prove -- --plan '${JSON.stringify(shortest)}'`].join('\n'),
  );
}

type Given = ReturnType<typeof read>;

/** Answers the exit code. */
async function main(given: Given): Promise<number> {
  const { plan, seeds, log, json } = given;
  if (plan !== null) {
    const report = await runAlone(plan, log);
    console.log(json ? JSON.stringify(report) : storyOf(plan, report.problems).join('\n'));
    if (!json && report.problems.length === 0) console.log('Every promise was kept.');
    return report.problems.length === 0 ? 0 : 1;
  }
  const first = await runSeeds({ ...given, seeds: seeds! });
  if (first !== null && !json) await tell(first, given);
  return isStopped ? 130 : first === null ? 0 : 1;
}

try {
  process.exitCode = await main(read(process.argv.slice(2)));
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  if (!(error instanceof Mistyped) && !code?.startsWith('ERR_PARSE_ARGS')) throw error;
  console.error(`${message}\n${USAGE}`);
  process.exitCode = 2;
}
