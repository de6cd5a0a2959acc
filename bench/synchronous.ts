/** What a commit that waits for a standby costs: the same daemon on a Patroni cluster of two nodes, with and without synchronous mode. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Sql } from '../src/postgres/connection/database.ts';
import { startPatroni } from '../test/support/patroni/cluster.ts';
import { type Bench, compete } from './bench.ts';
import { openLab } from './lab.ts';
import { observe, percentile, until } from './measure.ts';
import { addSilentSubscriber, seed } from './seed.ts';

const PURCHASES = 60_000;
/** Less than it takes to poll them all once, so that polls are always due. */
const EVERY = 400;
/** Patience that a machine at its limit needs, where Patroni gets little of a processor. */
const PATIENT = { ttl: 120, loop_wait: 2, retry_timeout: 50 };
const WITHIN = 60_000;

export const synchronous: Bench = async (_lab, { quick, say }) => {
  const turn = quick ? 3_000 : 8_000;
  const commits = quick ? 200 : 1_000;
  const cluster = await startPatroni(2, { dcs: PATIENT, parameters: {} });
  try {
    const leader = await cluster.leader();
    const lab = await openLab(leader.url('postgres'));
    try {
      await lab.service.ask('set', { changeEvery: 50, note: false });
      const database = await lab.database();
      await seed(database.sql, { count: PURCHASES, dueEach: 1 });
      await database.sql`create table commits (number integer primary key, count integer not null)`;
      await database.sql`insert into commits values (1, 0)`;
      const { daemon } = await lab.daemon(database, { every: EVERY });
      await addSilentSubscriber(database.sql);
      say('warming up');
      await delay(turn);
      daemon.pause();
      const taken = new Map<boolean, number[]>();
      const contender = (isSynchronous: boolean) => ({
        name: isSynchronous ? 'synchronous' : 'asynchronous',
        turn: async () => {
          await cluster.configure({ synchronous_mode: isSynchronous });
          await until('the mode', async () => (await waitsForStandby(database.sql)) === isSynchronous, WITHIN);
          taken.set(isSynchronous, [...(taken.get(isSynchronous) ?? []), ...(await commitTimes(database.sql, commits))]);
          daemon.resume();
          await delay(1_000);
          const { pollsPerSecond } = await observe(lab, database, daemon, turn);
          daemon.pause();
          return pollsPerSecond;
        },
      });
      const [without, withStandby] = await compete([contender(false), contender(true)], quick ? 3 : 5, say);
      daemon.resume();
      await daemon.stop();
      const at = (share: number, isSynchronous: boolean): number => percentile(taken.get(isSynchronous)!, share);
      return {
        bench: 'synchronous',
        how: `a Patroni cluster of two nodes on this machine, so without a network between them; commits of one row by one session, ${commits} a round`,
        rows: [
          { what: 'asynchronous, polls recorded', value: without!.rate, unit: '/s' },
          { what: 'synchronous, polls recorded', value: withStandby!.rate, unit: '/s' },
          { what: 'synchronous to asynchronous, polls recorded', value: withStandby!.ratio, unit: 'ratio' },
          { what: 'asynchronous, a commit, p50', value: at(0.5, false), unit: 'ms' },
          { what: 'synchronous, a commit, p50', value: at(0.5, true), unit: 'ms' },
          { what: 'asynchronous, a commit, p99', value: at(0.99, false), unit: 'ms' },
          { what: 'synchronous, a commit, p99', value: at(0.99, true), unit: 'ms' },
          { what: 'synchronous to asynchronous, a commit, p50', value: at(0.5, true) / at(0.5, false), unit: 'ratio' },
        ],
      };
    } finally {
      await lab.close();
    }
  } finally {
    await cluster.stop();
  }
};

async function waitsForStandby(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ names: string }]>`select current_setting('synchronous_standby_names') as names`;
  return row.names !== '';
}

/** Milliseconds of each of so many commits in a row. */
async function commitTimes(sql: Sql, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let commit = 0; commit < count; commit++) {
    const begun = performance.now();
    await sql`update commits set count = count + 1`;
    times.push(performance.now() - begun);
  }
  return times;
}
