/** Looks for what shows that a guard of the product is missing: the world of a seed or of a plan made for it, or a test of the suite. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Plan, planOf } from '../acts/plan.ts';
import { type Report, startProcess } from '../prove/processes.ts';
import type { Guard } from './guard.ts';
import type { Way } from './noticed.ts';
import { PLANS } from './plans.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** What showed it, and the first problem; null: nothing of what was tried. */
export type Found = { readonly way: Way; readonly problem: string } | null;

const planOfWay = (way: Exclude<Way, { test: string }>): Plan => ('seed' in way ? planOf(way.seed) : PLANS[way.plan]!);

/** Worlds in one process, which is started anew where it ended or where its clock would have to go back. */
export function createHunt() {
  let own: ReturnType<typeof startProcess> | null = null;
  /** The last seed of each guard. */
  const seeds = new Map<string | undefined, number>();
  /** Problems of worlds of the product with all its guards. */
  const whole = new Map<string, readonly string[]>();

  const run = async (plan: Plan, guard?: string): Promise<Report> => {
    if (own?.isOver() || plan.seed <= (seeds.get(guard) ?? -1)) {
      await own?.end();
      own = null;
      seeds.clear();
    }
    own ??= startProcess();
    seeds.set(guard, plan.seed);
    return own.run({ plan, ...(guard === undefined ? {} : { without: guard }) });
  };
  /** Throws when the world has problems with all guards, too. */
  const expectWhole = async (plan: Plan, way: Way): Promise<void> => {
    const key = JSON.stringify(way);
    if (!whole.has(key)) whole.set(key, (await run(plan)).problems);
    const [problem] = whole.get(key)!;
    if (problem !== undefined) throw new Error(`the product with all its guards has a problem with ${key}: ${problem}`);
  };

  return {
    /** Tries these one after the other. */
    find: async (guard: Guard, ways: readonly Way[]): Promise<Found> => {
      for (const way of ways) {
        if ('test' in way) {
          const problem = failureOf(way.test, guard);
          if (problem !== null) return { way, problem };
          continue;
        }
        const plan = planOfWay(way);
        const [problem] = (await run(plan, guard.name)).problems;
        if (problem === undefined) continue;
        await expectWhole(plan, way);
        return { way, problem };
      }
      return null;
    },
    end: async (): Promise<void> => own?.end(),
  };
}

/** The name of the first test of a file that fails without a guard; null: none does. */
function failureOf(file: string, { name }: Guard): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-sabotage-'));
  const report = join(folder, 'report.json');
  const values = [
    'run',
    '--config',
    join(import.meta.dirname, 'vitest.config.ts'),
    '--reporter',
    'json',
    '--outputFile',
    report,
    '--bail',
    '1',
    file,
  ];
  const { status, stderr } = spawnSync(join(ROOT, 'node_modules/.bin/vitest'), values, {
    cwd: ROOT,
    env: { ...process.env, SABOTAGE: name },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (!existsSync(report)) throw new Error(`${file} could not be run: ${stderr.slice(-500)}`);
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { assertionResults: { status: string; fullName: string }[] }[];
  };
  rmSync(folder, { recursive: true });
  const failed = testResults.flatMap(({ assertionResults }) => assertionResults).find(({ status }) => status === 'failed');
  return failed?.fullName.trim() ?? (status === 0 ? null : 'an error that no test expects');
}
