/** Several replicas on one database: what they do together, and how soon others go on when one is killed. */
import { setTimeout as delay } from 'node:timers/promises';
import { SHARDS } from '../../src/domain/replicas/ownership.ts';
import type { Sql } from '../../src/postgres/connection/database.ts';
import type { Lab, Part } from '../lab.ts';
import { median, until } from '../measure.ts';
import type { Row } from '../report.ts';
import { EVERY, type Filled, hotEach, pollingTurn, sum, type Work } from './at-work.ts';
import { setDue } from './fill.ts';

const TURNS = 3;

/** One, two, four and again one replica, a few turns each: replicas cannot rest, or others would take their shards. */
export async function replicasTogether(lab: Lab, filled: Filled, { turn, warmUp, say }: Work): Promise<Row[]> {
  const { database } = filled;
  await setDue(database.sql, { first: 1, each: hotEach(filled), isDue: true });
  const replicas: Part[] = [];
  const measured: { readonly count: number; readonly rate: number; readonly cost: number; readonly batch: number }[] = [];
  for (const count of [1, 2, 4, 1]) {
    while (replicas.length < count) replicas.push((await lab.daemon(database, { every: EVERY })).daemon);
    while (replicas.length > count) await replicas.pop()!.stop();
    await until(`${count} replicas share the shards`, async () => isShared(await owners(database.sql), count), 60_000);
    // New processes share the cores while they compile their code.
    await delay(warmUp * count);
    const turns = [];
    const done = async () => ({ polls: await lab.service.ask<number>('answered'), transactions: await database.transactions() });
    const before = await done();
    for (let round = 0; round < TURNS; round++) turns.push(await pollingTurn(lab, replicas, turn));
    const after = await done();
    const batch = (after.polls - before.polls) / (after.transactions - before.transactions);
    const found = { count, batch, rate: median(turns.map(({ rate }) => rate)), cost: median(turns.map(sum)) };
    say(`${count} replicas: ${found.rate.toFixed(0)} polls a second, ${found.cost.toFixed(1)} µs each`);
    measured.push(found);
  }
  for (const replica of replicas) await replica.stop();
  await setDue(database.sql, { first: 1, each: hotEach(filled), isDue: false });
  const mean = (count: number, value: (each: (typeof measured)[number]) => number): number => {
    const all = measured.filter((each) => each.count === count).map(value);
    return all.reduce((total, each) => total + each, 0) / all.length;
  };
  const rate = (each: (typeof measured)[number]): number => each.rate;
  const cost = (each: (typeof measured)[number]): number => each.cost;
  const batch = (each: (typeof measured)[number]): number => each.batch;
  return [
    { what: 'one replica, polls (before and after the others)', value: mean(1, rate), unit: '/s' },
    { what: 'one replica, processor time of a poll', value: mean(1, cost), unit: 'µs' },
    { what: 'one replica, polls for each transaction of any kind', value: mean(1, batch), unit: '' },
    ...[2, 4].flatMap((count): Row[] => [
      { what: `${count} replicas together, polls`, value: mean(count, rate), unit: '/s' },
      {
        what: `${count} replicas, polls to one replica's`,
        value: mean(count, rate) / mean(1, rate),
        unit: 'ratio',
        ...(count === 2 ? { atLeast: 1 } : {}),
      },
      { what: `${count} replicas, cost of a poll to one replica's`, value: mean(count, cost) / mean(1, cost), unit: 'ratio' },
      { what: `${count} replicas, polls for each transaction of any kind`, value: mean(count, batch), unit: '' },
    ]),
  ];
}

/** The usual time-out, from which the length of a lease follows. */
const USUAL_TIMEOUT = { CHECKOUT_TIMEOUT: '10s' };

/** Kills one of two replicas, and waits until the other one has polled each hot purchase of the killed one. */
export async function failover(
  lab: Lab,
  filled: Filled,
  { times, say }: { times: number; say(line: string): void },
): Promise<Row[]> {
  const { database } = filled;
  await setDue(database.sql, { first: 1, each: hotEach(filled), isDue: true });
  const { daemon: stays } = await lab.daemon(database, { every: EVERY, env: USUAL_TIMEOUT });
  await until('the first replica has all shards', async () => isShared(await owners(database.sql), 1), 60_000);
  const [staying] = (await owners(database.sql)).keys();
  const rows: Row[] = [];
  for (const where of ['on the same machine', 'elsewhere'] as const) {
    const took: Takeover[] = [];
    for (let time = 0; time < times; time++) {
      const { daemon } = await lab.daemon(database, { every: EVERY, env: USUAL_TIMEOUT });
      await until('two replicas share the shards', async () => isShared(await owners(database.sql), 2), 60_000);
      const [killed] = [...(await owners(database.sql)).keys()].filter((owner) => owner !== staying);
      // Whether a process of another machine has ended cannot be seen: its lease has to run out.
      if (where === 'elsewhere') {
        await database.sql`update purchase_watch_internal.replicas set process = 'elsewhere 1 1' where id = ${killed!}`;
      }
      await delay(3_000 + Math.random() * 2_000);
      took.push(await takeover(filled, { daemon, killed: killed!, staying: staying! }));
      say(
        `killed ${where}: shards taken after ${took.at(-1)!.shards.toFixed(1)} s, all polled after ${took.at(-1)!.polled.toFixed(1)} s`,
      );
    }
    const of = (value: (each: Takeover) => number): number => median(took.map(value)) * 1_000;
    rows.push(
      { what: `a replica killed ${where}: its shards have another owner after`, value: of(({ shards }) => shards), unit: 'ms' },
      {
        what: `a replica killed ${where}: each of its purchases is polled again after`,
        value: of(({ polled }) => polled),
        unit: 'ms',
      },
    );
  }
  await stays.stop();
  await setDue(database.sql, { first: 1, each: hotEach(filled), isDue: false });
  return rows;
}

/** Seconds since the kill. */
interface Takeover {
  readonly shards: number;
  readonly polled: number;
}

async function takeover(
  filled: Filled,
  { daemon, killed, staying }: { daemon: Part; killed: string; staying: string },
): Promise<Takeover> {
  const { sql } = filled.database;
  const rows = await sql<{ id: number }[]>`select id from purchase_watch_internal.shards where owner = ${killed}`;
  const shards = rows.map(({ id }) => id);
  const killedAt = performance.now();
  await daemon.kill();
  await until('the shards are taken over', async () => (await owners(sql)).get(staying) === SHARDS, 120_000, 20);
  const taken = (performance.now() - killedAt) / 1_000;
  const [{ at }] = await sql<[{ at: string }]>`select clock_timestamp()::text as at`;
  const isPolled = async (): Promise<boolean> => {
    const [row] = await sql<[{ isLeft: boolean }]>`
      select exists (
        select from purchase_watch.purchases where shard = any(${shards}::smallint[]) and last_polled_at < ${at}::text::timestamptz
          and id = any(array(select generate_series(1, (select max(id) from purchase_watch.purchases), ${hotEach(filled)}::bigint)))) as "isLeft"`;
    return !row.isLeft;
  };
  await until('all are polled again', isPolled, 120_000, 20);
  return { shards: taken, polled: (performance.now() - killedAt) / 1_000 };
}

/** How many shards each replica owns. */
async function owners(sql: Sql): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ owner: string; count: number }[]>`
    select owner, count(*)::float8 as count from purchase_watch_internal.shards where owner is not null group by owner`;
  return new Map(rows.map(({ owner, count }) => [owner, count]));
}

function isShared(counts: ReadonlyMap<string, number>, replicas: number): boolean {
  return counts.size === replicas && [...counts.values()].every((count) => count === SHARDS / replicas);
}
