/** Plans that fail become short and readable, and the command says what it expects. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Plan, planOf } from '../acts/plan.ts';
import { Scheduler } from '../world/time.ts';
import { shrink } from './shrink.ts';
import { storyOf } from './story.ts';

const MINUTE = 60_000;
const AN_HOUR_LATE: Plan = {
  seed: 7,
  daemons: 3,
  receivers: 2,
  lasts: 8 * MINUTE,
  acts: [
    { at: 2_000, does: 'registers', by: 'sql', life: 'card-paid', count: 4 },
    { at: 9_100, does: 'starts', daemon: 0 },
    { at: 12_345, does: 'kills', daemon: 1 },
    { at: 31_000, does: 'slows the network', ms: 900, lasts: 4_000 },
    { at: 61_234, does: 'loses statements', share: 0.21, lasts: 31_000 },
    { at: 70_000, does: 'freezes', daemon: 2, lasts: 9_000 },
    { at: 75_000, does: 'restarts the database' },
    { at: 3 * MINUTE, does: 'stops', daemon: 2 },
  ],
};
/** Purchases are registered, and after the death of a daemon statements get lost for longer than 5 s. */
const failsLate = ({ acts }: Plan): boolean => {
  const kill = acts.findIndex(({ does }) => does === 'kills');
  return (
    acts.some((act) => act.does === 'registers' && act.count >= 2) &&
    acts.some((act, index) => act.does === 'loses statements' && act.lasts > 5_000 && kill >= 0 && kill < index)
  );
};

test.each([1, 2])('a plan that fails becomes the shortest that still fails, %i at once', async (jobs) => {
  const shortest = await shrink(AN_HOUR_LATE, { jobs, most: 500, fails: async (plan) => failsLate(plan) });
  expect(shortest).toEqual({
    seed: 7,
    daemons: 1,
    receivers: 1,
    lasts: 4_000,
    acts: [
      { at: 1_000, does: 'registers', by: 'sql', life: 'card-paid', count: 2 },
      { at: 2_000, does: 'kills', daemon: 0 },
      { at: 3_000, does: 'loses statements', share: 1, lasts: 7_000 },
    ],
  });
});

test('no plan is tried twice, and no more than are allowed', async () => {
  const tried: string[] = [];
  const fails = async (plan: Plan): Promise<boolean> => {
    tried.push(JSON.stringify(plan));
    return failsLate(plan);
  };
  await shrink(AN_HOUR_LATE, { jobs: 2, most: 500, fails });
  expect(new Set(tried).size).toBe(tried.length);
  const all = tried.splice(0).length;
  await shrink(AN_HOUR_LATE, { jobs: 2, most: 10, fails });
  expect([all > 10, tried.length]).toEqual([true, 10]);
});

test('a plan is told act by act, with what was broken', () => {
  expect(storyOf(AN_HOUR_LATE, ['shop0: change 3 came as number 2'])).toEqual([
    'Seed 7: 3 daemons, 2 receivers.',
    '   0:02  a shop registers 4 purchases by SQL (card-paid)',
    '   0:09  daemon 0 is started, unless it runs',
    '   0:12  daemon 1 is killed',
    '   0:31  each packet takes up to 900 ms longer, for 4 s',
    '   1:01  the database loses 21 % of the statements, before or after their commit, for 31 s',
    '   1:10  daemon 2 is frozen, for 9 s',
    '   1:15  the database restarts',
    '   3:00  daemon 2 is stopped',
    '   8:00  every fault is mended',
    'Broken: shop0: change 3 came as number 2',
  ]);
});

test('acts of every kind are told, those without a sentence by their fields', () => {
  const plans = Array.from({ length: 300 }, (_, index) => planOf(index + 1));
  for (const plan of plans) {
    const lines = storyOf(plan);
    expect(lines).toHaveLength(plan.acts.length + 2);
    expect(lines.filter((line) => /undefined|NaN|object Object/.test(line))).toEqual([]);
  }
  const unknown = { ...AN_HOUR_LATE, acts: [{ at: 5_000, does: 'tilts', by: -2, to: { x: 1 }, lasts: 7_200_000 }] };
  expect(storyOf(unknown as unknown as Plan)[1]).toBe('   0:05  tilts (by -2, to {"x":1}), for 2 h');
});

test.each([
  [['80..1'], 'the seeds are "80..1"; give one from 1 to 70000, or several as in 1..80'],
  [['seven'], 'the seeds are "seven"; give'],
  [['7', 'log', 'more'], '"more" is one value too many'],
  [['7', '--jobs', 'two'], '--jobs is "two"; give a whole number from 1 to'],
  [['--plan', '{"seed":1}'], '--plan is no plan: seed, daemons, receivers, lasts and acts are needed'],
  [['--plan', 'absent.json'], '--plan is "absent.json"; give the JSON of a plan, or a file that has it'],
  [['--sed', '7'], "Unknown option '--sed'"],
])('the mistyped %j is answered with what is expected', (values, words) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, '../run.ts'), ...values], {
    encoding: 'utf8',
  });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain(words);
  expect(stderr).toContain('usage: npm run prove -- [SEEDS] [LOG]');
});

test('the world of any seed begins at a moment for which the queue has places, also for bulk registrations', () => {
  const scheduler = new Scheduler();
  const slots = [1, 1_999, 2_000, 5_999, 69_999].map((seed) => {
    scheduler.reset(seed);
    return 1_000_000_000 + scheduler.begin / 10_000;
  });
  expect(Math.max(...slots)).toBeLessThan(2 ** 31);
});
