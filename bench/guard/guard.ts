/** Whether this commit costs more than the last release: both daemons take turns in one run. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import type { Database, Lab } from '../lab.ts';
import type { Result, Row } from '../report.ts';
import { hashOf, namedCommit, present, unpack } from './other-commit.ts';
import { type Both, grownInAll, type Measured, rowsOf, type Side, takeTurns } from './rounds.ts';
import { delivering, filled, type Place, polling, waiting } from './sides.ts';

const UNITS: Readonly<Record<string, Row['unit']>> = {
  'processor time of a poll, daemon': 'µs',
  'processor time of a poll, Postgres': 'µs',
  'memory at full speed (RSS)': 'MB',
  'processor time of a delivery, daemon': 'µs',
  'processor time of a delivery, Postgres': 'µs',
  'queries in a minute without work': '',
};
/** How many numbers of purchases each commit has for itself. */
const RANGE = 1 << 18;

/** Until what a daemon does once at its start is done. */
const AFTER_START = 15_000;

/** What grew too far is measured so often before it counts. */
const MOST_MEASUREMENTS = 3;

/** How much is measured. */
interface Plan {
  /** Pairs of new processes: two processes of the same code differ, by what each compiled and when. */
  readonly pairs: number;
  readonly rounds: number;
  readonly turn: number;
  readonly warmUp: number;
  readonly idle: number;
}

const FULL: Plan = { pairs: 2, rounds: 6, turn: 1_500, warmUp: 6_000, idle: 60_000 };
const QUICK: Plan = { pairs: 1, rounds: 5, turn: 1_500, warmUp: 6_000, idle: 20_000 };

export const guard: Bench = async (lab, options) => {
  const { against, quick, say } = options;
  const revision = against ?? namedCommit();
  const hash = hashOf(revision);
  if (hash === null) return notCompared(revision, against !== null);
  say(`unpacking ${hash.slice(0, 10)}`);
  const before = await unpack(hash, join(lab.folder, 'before'));
  const places: Both<Place> = { before: { commit: before, from: 0 }, now: { commit: await present(), from: RANGE } };
  const plan = quick ? QUICK : FULL;
  await lab.service.ask('reset');
  await lab.service.ask('set', { changeEvery: 50, note: false });

  const due = await filledBoth(lab, places, 1);
  const waitingFor = await filledBoth(lab, places, 0);
  const measures = [
    pairs(plan, {
      start: (side) => polling(lab, places[side], { database: due[side], turn: plan.turn }),
      // At the same time: both have the same disturbances while their code is compiled.
      warm: async ({ before, now }) => {
        await delay(plan.warmUp);
        before.rest();
        now.rest();
      },
    }),
    pairs(plan, {
      start: (side) => delivering(lab, places[side], waitingFor[side]),
      warm: async (sides) => void (await takeTurns(sides, 2)),
    }),
    () => idle(lab, { places, databases: waitingFor, ms: plan.idle }),
  ];
  const rows: Row[] = [];
  for (const measure of measures) {
    const measured = [await measure()];
    for (
      let tooMuch = grownInAll(measured);
      tooMuch.length > 0 && measured.length < MOST_MEASUREMENTS;
      tooMuch = grownInAll(measured)
    ) {
      say(`measured again, because it grew: ${tooMuch.join('; ')}`);
      measured.push(await measure());
    }
    const found = rowsOf(measured, UNITS);
    for (const { what, value, unit } of found) if (unit === 'ratio') say(`${what}: ${value.toFixed(2)}`);
    rows.push(...found);
  }
  await Promise.all([due, waitingFor].flatMap(({ before, now }) => [before.drop(), now.drop()]));
  return {
    bench: 'guard',
    how: `this commit to ${hash.slice(0, 10)}, in turns; medians of ${plan.pairs * plan.rounds} rounds of ${plan.pairs} pairs of processes`,
    rows,
    mustHold: true,
  };
};

/** In CI a shallow clone may lack the commit: that is no reason to fail. A person who names one expects it to be there. */
function notCompared(revision: string, isAsked: boolean): Result {
  const missing = `this repository has no commit ${JSON.stringify(revision)}`;
  if (isAsked) throw new Error(`--against: ${missing}; name a commit, tag or branch that it has`);
  return {
    bench: 'guard',
    how: `NOT COMPARED: ${missing}, which bench/guard/commit names (a shallow clone? fetch its history)`,
    rows: [],
  };
}

async function filledBoth(lab: Lab, { before, now }: Both<Place>, dueEach: number): Promise<Both<Database>> {
  return { before: await filled(lab, before, dueEach), now: await filled(lab, now, dueEach) };
}

interface Sides {
  start(side: keyof Both<unknown>): Promise<Side>;
  warm(sides: Both<Side>): Promise<void>;
}

/** A measurement by several pairs of processes, one after the other. */
function pairs(plan: Plan, { start, warm }: Sides): () => Promise<Measured> {
  return async () => {
    const rounds: Measured[] = [];
    for (let pair = 0; pair < plan.pairs; pair++) {
      const sides = { before: await start('before'), now: await start('now') };
      await warm(sides);
      rounds.push(await takeTurns(sides, plan.rounds));
      await Promise.all([sides.before.stop(), sides.now.stop()]);
    }
    return rounds.flat();
  };
}

/** Both without work, at the same time. */
async function idle(
  lab: Lab,
  { places, databases, ms }: { places: Both<Place>; databases: Both<Database>; ms: number },
): Promise<Measured> {
  const sides = [await delivering(lab, places.before, databases.before), await delivering(lab, places.now, databases.now)];
  await delay(AFTER_START);
  const [before, now] = await Promise.all([waiting(databases.before, ms), waiting(databases.now, ms)]);
  await Promise.all(sides.map((side) => side.stop()));
  return [{ before, now }];
}
