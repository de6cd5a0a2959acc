/** Whether an hour of work at full speed leaves the daemon and its tables as they were: memory, cost, bloat. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { type Database, type Lab, type Part, webhookTo } from '../lab.ts';
import { median, type Spent, spending } from '../measure.ts';
import type { Row } from '../report.ts';
import { seed } from '../seed.ts';

const PURCHASES = 60_000;
/** Less than it takes to poll them all once, so that polls are always due. */
const EVERY = 400;
const SAMPLES = 60;
const LEAST_BETWEEN = 5_000;
const MINUTES = 60;
const QUICK_MINUTES = 2;

export const soak: Bench = async (lab, { quick, minutes, say }) => {
  const ms = (minutes ?? (quick ? QUICK_MINUTES : MINUTES)) * 60_000;
  await lab.service.ask('reset');
  await lab.service.ask('set', { changeEvery: 50, note: false });
  const database = await lab.database();
  await seed(database.sql, { count: PURCHASES, dueEach: 1 });
  const receiver = await lab.start('receiver');
  const { daemon } = await lab.daemon(database, { every: EVERY, env: await webhookTo(receiver) });
  await delay(quick ? 10_000 : 60_000);
  const between = Math.max(ms / SAMPLES, LEAST_BETWEEN);
  const sample = await sampling(lab, { database, daemon, receiver });
  const samples: Sample[] = [];
  const end = performance.now() + ms;
  while (performance.now() < end) {
    await delay(between);
    samples.push(await sample());
    say(line(samples.at(-1)!));
  }
  await Promise.all([daemon.stop(), receiver.stop()]);
  await database.drop();
  return {
    bench: 'soak',
    how: `${PURCHASES} purchases at full speed for ${(ms / 60_000).toFixed(0)} minutes, ${samples.length} samples; first and last: medians of the first and of the last quarter`,
    rows: trends(samples),
    samples: samples.map((each) => ({ ...each })),
  };
};

/** What was seen at a moment, and what happened since the sample before. Sizes in MB. */
interface Sample {
  readonly minute: number;
  readonly rss: number;
  /** A second, since the sample before. */
  readonly polls: number;
  readonly deliveries: number;
  /** Processor time of a poll with its share of events and deliveries, in microseconds. */
  readonly daemonCost: number;
  readonly postgresCost: number;
  /** Since the beginning. */
  readonly events: number;
  readonly autovacuums: number;
  readonly purchasesTable: number;
  readonly purchasesIndexes: number;
  readonly purchasesDead: number;
  readonly deliveriesDead: number;
  /** All tables but that of purchases, with their indexes. */
  readonly others: number;
}

type Tables = Pick<
  Sample,
  'events' | 'autovacuums' | 'purchasesTable' | 'purchasesIndexes' | 'purchasesDead' | 'deliveriesDead' | 'others'
>;

/** A function that takes a sample; the first one covers the time since this call. */
async function sampling(
  lab: Lab,
  { database, daemon, receiver }: { database: Database; daemon: Part; receiver: Part },
): Promise<() => Promise<Sample>> {
  const counts = async () => ({
    at: performance.now(),
    polls: await lab.service.ask<number>('answered'),
    deliveries: await receiver.ask<number>('received'),
  });
  const begun = performance.now();
  let last = await counts();
  let spent: () => Promise<Spent> = await spending(lab, daemon);
  return async () => {
    const [now, { daemonMs, postgresMs, rss }] = [await counts(), await spent()];
    const tables = await tablesOf(database);
    const polls = now.polls - last.polls;
    const seconds = (now.at - last.at) / 1_000;
    const sample: Sample = {
      minute: (now.at - begun) / 60_000,
      rss: rss / 1e6,
      polls: polls / seconds,
      deliveries: (now.deliveries - last.deliveries) / seconds,
      daemonCost: (daemonMs / polls) * 1_000,
      postgresCost: (postgresMs / polls) * 1_000,
      ...tables,
    };
    // What the sample itself cost is not counted.
    last = await counts();
    spent = await spending(lab, daemon);
    return sample;
  };
}

async function tablesOf({ sql }: Database): Promise<Tables> {
  const [row] = await sql<[Tables]>`
    with t as (
      select relname as name, pg_table_size(relid) / 1e6 as data, pg_indexes_size(relid) / 1e6 as indexes, n_dead_tup as dead, autovacuum_count as runs
      from pg_stat_user_tables)
    select sum(runs)::float8 as autovacuums,
      (select max(position) from purchase_watch_internal.events)::float8 as events,
      sum(data) filter (where name = 'purchases')::float8 as "purchasesTable",
      sum(indexes) filter (where name = 'purchases')::float8 as "purchasesIndexes",
      sum(dead) filter (where name = 'purchases')::float8 as "purchasesDead",
      sum(dead) filter (where name = 'deliveries')::float8 as "deliveriesDead",
      sum(data + indexes) filter (where name <> 'purchases')::float8 as others
    from t`;
  return row;
}

function line(sample: Sample): string {
  const { minute, rss, polls, deliveries, daemonCost, postgresCost, purchasesTable, purchasesIndexes, others } = sample;
  return [
    `${minute.toFixed(1)} min: ${rss.toFixed(0)} MB, ${polls.toFixed(0)} polls/s at ${daemonCost.toFixed(1)} + ${postgresCost.toFixed(1)} µs`,
    `${deliveries.toFixed(0)} deliveries/s`,
    `purchases ${purchasesTable.toFixed(0)} + ${purchasesIndexes.toFixed(0)} MB, other tables ${others.toFixed(0)} MB`,
    `dead rows ${sample.purchasesDead} + ${sample.deliveriesDead}, autovacuum ran ${sample.autovacuums} times`,
  ].join('; ');
}

/** First against last quarter. */
function trends(samples: readonly Sample[]): Row[] {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const [first, last] = [samples.slice(0, quarter), samples.slice(-quarter)];
  const rows = (
    what: string,
    value: (sample: Sample) => number,
    unit: Row['unit'],
    bound: Pick<Row, 'atMost' | 'atLeast'>,
  ): Row[] => {
    const [before, after] = [median(first.map(value)), median(last.map(value))];
    return [
      { what: `${what}, first`, value: before, unit },
      { what: `${what}, last`, value: after, unit },
      { what: `${what}, last to first`, value: after / before, unit: 'ratio', ...bound },
    ];
  };
  const most = (value: (sample: Sample) => number): number => Math.max(...samples.map(value));
  const bytesOfEvent = (part: readonly Sample[]): number => {
    const [from, to] = [part[0]!, part.at(-1)!];
    return ((to.others - from.others) * 1_000) / (to.events - from.events);
  };
  return [
    ...rows('memory of the daemon (RSS)', ({ rss }) => rss, 'MB', { atMost: 1.1 }),
    { what: 'memory of the daemon (RSS), most', value: most(({ rss }) => rss), unit: 'MB', atMost: 200 },
    ...rows('processor time of a poll, daemon', ({ daemonCost }) => daemonCost, 'µs', { atMost: 1.2 }),
    ...rows('processor time of a poll, Postgres', ({ postgresCost }) => postgresCost, 'µs', { atMost: 1.2 }),
    ...rows('polls', ({ polls }) => polls, '/s', { atLeast: 0.8 }),
    ...rows('table of purchases', ({ purchasesTable }) => purchasesTable, 'MB', { atMost: 1.2 }),
    ...rows('indexes of purchases', ({ purchasesIndexes }) => purchasesIndexes, 'MB', { atMost: 1.2 }),
    { what: 'dead rows of purchases, most', value: most(({ purchasesDead }) => purchasesDead), unit: '' },
    { what: 'dead rows of deliveries, most', value: most(({ deliveriesDead }) => deliveriesDead), unit: '' },
    { what: 'runs of autovacuum, all tables', value: samples.at(-1)!.autovacuums - samples[0]!.autovacuums, unit: '' },
    { what: 'events written', value: samples.at(-1)!.events - samples[0]!.events, unit: '' },
    { what: 'disk space of an event in all tables, first', value: bytesOfEvent(first), unit: 'kB' },
    { what: 'disk space of an event in all tables, last', value: bytesOfEvent(last), unit: 'kB' },
  ];
}
