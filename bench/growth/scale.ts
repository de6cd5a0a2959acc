/** Whether anything costs more when many more purchases are watched, or many more events are kept. */
import type { Bench, BenchOptions } from '../bench.ts';
import type { Lab } from '../lab.ts';
import type { Row } from '../report.ts';
import { atRest } from './at-rest.ts';
import { deliveriesAtWork, type Filled, pollsAtWork, type Work } from './at-work.ts';
import { checkRoom, fill, type Size } from './fill.ts';
import { failover, replicasTogether } from './replicas.ts';

interface Plan extends Omit<Work, 'say'> {
  /** Sizes that are compared with each other are there at the same time. */
  readonly groups: readonly (readonly Size[])[];
  readonly idle: number;
  readonly pages: number;
  readonly kills: number;
}

const FULL: Plan = {
  groups: [
    [10_000, 1_000_000, 10_000_000].map((watched) => ({ watched, eventsEach: 1 })),
    [5, 50].map((eventsEach) => ({ watched: 1_000_000, eventsEach })),
  ],
  ...{ rounds: 7, turn: 8_000, warmUp: 12_000, idle: 120_000, pages: 1_000, kills: 5 },
};
const QUICK: Plan = {
  groups: [
    [10_000, 100_000, 1_000_000].map((watched) => ({ watched, eventsEach: 1 })),
    [5, 50].map((eventsEach) => ({ watched: 10_000, eventsEach })),
  ],
  ...{ rounds: 5, turn: 3_000, warmUp: 6_000, idle: 15_000, pages: 200, kills: 1 },
};

export const scale: Bench = async (lab, options) => {
  const usual = options.quick ? QUICK : FULL;
  const plan: Plan =
    options.watched === null ? usual : { ...usual, groups: [options.watched.map((watched) => ({ watched, eventsEach: 1 }))] };
  const work: Work = { ...plan, say: options.say };
  for (const group of plan.groups) checkRoom(lab, group);
  await lab.service.ask('reset');
  await lab.service.ask('set', { changeEvery: 50, note: false });
  const rows: Row[] = [];
  for (const [index, group] of plan.groups.entries()) {
    const filled: Filled[] = [];
    for (const size of group) {
      const { rows: sizes, ...each } = await filledDatabase(lab, size, options);
      rows.push(...sizes);
      filled.push(each);
    }
    for (const { name, size, database } of filled) {
      rows.push(...(await atRest(lab, database, { name, size, ms: plan.idle, pages: plan.pages, say: options.say })));
    }
    rows.push(...(await pollsAtWork(lab, filled, work)), ...(await deliveriesAtWork(lab, filled, work)));
    if (index === 0) {
      const largest = filled.at(-1)!;
      rows.push(...(await replicasTogether(lab, largest, work)));
      rows.push(...(await failover(lab, largest, { times: plan.kills, say: options.say })));
    }
    for (const { database } of filled) await database.drop();
  }
  const how = `medians of ${plan.rounds} rounds in which the sizes of a group take turns; costs are processor time of daemon and Postgres together`;
  return { bench: 'scale', how, rows };
};

/** A size with its name, its database, and what the database takes on the disk. */
async function filledDatabase(lab: Lab, size: Size, { say }: BenchOptions): Promise<Filled & { readonly rows: Row[] }> {
  const name = `${short(size.watched)} watched, ${short(size.watched * size.eventsEach)} events`;
  const started = performance.now();
  const database = await lab.database();
  await fill(database.sql, size);
  const [bytes] = await database.sql<[{ whole: number; indexes: number }]>`
    select pg_database_size(current_database())::float8 as whole, pg_indexes_size('purchase_watch.purchases')::float8 as indexes`;
  say(`${name}: filled in ${((performance.now() - started) / 1_000).toFixed(0)} s`);
  const rows: Row[] = [
    { what: `${name}: size of the database`, value: bytes.whole / 1e6, unit: 'MB' },
    { what: `${name}: indexes of the purchases among it`, value: bytes.indexes / 1e6, unit: 'MB' },
  ];
  return { name, size, database, rows };
}

/** 10 k, 5 M. */
function short(count: number): string {
  return count >= 1e6 ? `${count / 1e6} M` : `${count / 1e3} k`;
}
