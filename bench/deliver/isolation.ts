/** Healthy subscribers at a constant rate, alone and beside another one that is in trouble with a long backlog. */
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchOptions } from '../bench.ts';
import type { Lab } from '../lab.ts';
import { median, percentile, until } from '../measure.ts';
import { machineTime, type Receipt } from '../processes/messages.ts';
import type { Row } from '../report.ts';
import { addBacklog } from './backlog.ts';
import { deadUrl, openScene, type Scene } from './scene.ts';
import { LAST_RECEIPT, RATE } from './steady.ts';
import { type Stretch, sum, tally, waits } from './tally.ts';

const HEALTHY = ['/one', '/two', '/three'];
const CHANGING = 500;
const EVENTS_EACH = 5;
/** Longer than the slow one takes, so that it is only slow; the silent one's attempts end within a stretch. */
const TIMEOUT = '3s';
const SLOW = 2_000;
/** Before a stretch counts, so that caches and connections are filled for both sides. */
const SETTLES_WITHIN = 1_000;
/** A trouble is made again this often, so that the daemon never comes to rest. */
const AGAIN_EVERY = 1_000;

interface Trouble {
  readonly name: string;
  readonly what: string;
  /** Done every second while it lasts: its pauses run on their own clock, which is much slower than a bench. */
  again?(scene: Scene): Promise<void>;
}

const TROUBLES: readonly Trouble[] = [
  {
    name: 'dead',
    what: 'refuses connections, failing again every second',
    again: (scene) => scene.health('dead', null),
  },
  {
    name: 'dead',
    what: 'refuses connections, its pause ending every second',
    again: (scene) => scene.health('dead', { failures: 10, pauses: 7, forMs: 0 }),
  },
  {
    name: 'silent',
    what: 'never answers, failing again every second',
    again: (scene) => scene.health('silent', null),
  },
  { name: 'slow', what: `answers after ${SLOW / 1_000} s` },
];

export async function isolation(lab: Lab, { quick, say }: BenchOptions): Promise<Row[]> {
  const size = quick ? 20_000 : 100_000;
  const others = size / EVENTS_EACH;
  const [receiver, silent, slow, back] = await Promise.all([1, 2, 3, 4].map(() => lab.start('receiver')));
  const url = async (part = receiver, path = ''): Promise<string> => new URL(path, await part!.ask<string>('url')).href;
  const inTrouble = { dead: await deadUrl(), silent: await url(silent), slow: await url(slow), back: await url(back) };
  const scene = await openScene(lab, {
    changing: CHANGING,
    others,
    subscribers: {
      one: await url(receiver, '/one'),
      two: await url(receiver, '/two'),
      three: await url(receiver, '/three'),
      ...inTrouble,
    },
    timeout: TIMEOUT,
  });
  await silent!.ask('answerAfter', null);
  await slow!.ask('answerAfter', SLOW);
  const names = Object.keys(inTrouble);
  for (const name of names) await scene.turn(name, 'off');
  say(`isolation: ${size} deliveries are made for each of ${names.join(', ')}`);
  await addBacklog(scene.database, {
    subscribers: names,
    from: CHANGING,
    to: CHANGING + others,
    events: EVENTS_EACH,
    sinceMs: 0,
  });

  const stretch = async (): Promise<Stretch> => {
    await delay(SETTLES_WITHIN);
    const from = machineTime();
    await delay(quick ? 3_000 : 4_000);
    return { from, to: machineTime() };
  };
  await receiver!.ask('note', true);
  await scene.begin(RATE);
  await delay(2 * SETTLES_WITHIN);
  const pairs = TROUBLES.map((): { alone: Stretch; beside: Stretch; waiting: number }[] => []);
  const rounds = quick ? 1 : 5;
  for (let round = 0; round < rounds; round++) {
    for (const [index, trouble] of TROUBLES.entries()) {
      const alone = await stretch();
      const [beside, waiting] = await during(scene, trouble, stretch);
      pairs[index]!.push({ alone, beside, waiting });
    }
    say(`isolation: round ${round + 1} of ${rounds} is over`);
  }
  const before = await stretch();
  const draining = await drained(scene, 'back');
  const commits = await scene.end();
  await delay(LAST_RECEIPT);
  const receipts = await receiver!.ask<Receipt[]>('receipts');
  const { rss } = await scene.daemon.usage();
  await scene.close();
  await Promise.all([receiver, silent, slow, back].map((part) => part!.stop()));

  const byPath = HEALTHY.map((path) => receipts.filter((receipt) => receipt.path === path));
  const p99 = (when: Stretch): number =>
    percentile(
      byPath.flatMap((receipts) => waits(commits, receipts, when).sinceCommit),
      0.99,
    );
  const { lost, repeats, overtaken } = sum(byPath.map((receipts) => tally(commits, receipts)));
  const alone = median([before, ...pairs.flat().map((pair) => pair.alone)].map(p99));
  const rows = TROUBLES.flatMap(({ what }, index): Row[] => {
    const ratios = pairs[index]!.map((pair) => p99(pair.beside) / p99(pair.alone));
    const beside = median(pairs[index]!.map((pair) => p99(pair.beside)));
    const waiting = Math.min(...pairs[index]!.map((pair) => pair.waiting));
    say(`${what}: p99 ${beside.toFixed(1)} ms, ${waiting} waited, ratios ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`);
    return [{ what: `p99 beside one that ${what}`, value: median(ratios), unit: 'ratio', atMost: 1.5 }];
  });
  return [
    { what: `${HEALTHY.length} healthy ones alone, commit to receipt, p99`, value: alone, unit: 'ms', atMost: 50 },
    ...rows,
    { what: `p99 beside one that came back and drains ${size}`, value: p99(draining.stretch) / p99(before), unit: 'ratio' },
    { what: 'that one drains', value: draining.rate, unit: '/s' },
    { what: 'lost by healthy ones', value: lost, unit: '', atMost: 0 },
    { what: 'repeated to healthy ones', value: repeats, unit: '', atMost: 0 },
    { what: 'out of order at healthy ones', value: overtaken, unit: '', atMost: 0 },
    { what: 'memory of the daemon with these backlogs (RSS)', value: rss / 1e6, unit: 'MB' },
  ];
}

/** The trouble begins, lasts for a stretch, and is over; answers how much waited for that subscriber at the end. */
async function during(scene: Scene, { name, again }: Trouble, stretch: () => Promise<Stretch>): Promise<[Stretch, number]> {
  await scene.turn(name, 'active');
  let over = false;
  const stirring = (async () => {
    while (!over && again !== undefined) {
      await again(scene);
      await delay(AGAIN_EVERY);
    }
  })();
  const lasted = await stretch();
  over = true;
  await stirring;
  const waiting = await scene.waiting(name);
  await scene.turn(name, 'off');
  return [lasted, waiting];
}

/** A subscriber that was off comes back: when its backlog drained, and how fast. */
async function drained(scene: Scene, name: string): Promise<{ stretch: Stretch; rate: number }> {
  const before = await scene.waiting(name);
  const from = machineTime();
  await scene.turn(name, 'active');
  // What is committed meanwhile waits for a moment too.
  const few = RATE / 4;
  await until('the one that came back has its backlog', async () => (await scene.waiting(name)) <= few, 180_000, 250);
  const to = machineTime();
  return { stretch: { from, to }, rate: (before / (to - from)) * 1_000 };
}
