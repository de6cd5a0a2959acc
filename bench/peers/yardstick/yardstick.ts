/** What becomes of changes and webhooks under the faults that benches of Postgres queues publish: the daemon beside pg-boss and graphile-worker. */
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { startKillablePostgres } from '../../../test/support/killable-postgres.ts';
import { startWire } from '../../../test/support/wire.ts';
import { installOwnPackages } from '../../../tools/own-packages.ts';
import type { Bench } from '../../bench.ts';
import { tally } from '../../deliver/tally.ts';
import { type Lab, openLab } from '../../lab.ts';
import { machineTime, type Receipt } from '../../processes/messages.ts';
import type { Row } from '../../report.ts';
import { type Contender, openContenders, PURCHASES } from './contenders.ts';
import { haveSent, SCENARIOS, type Scenario, type World } from './scenarios.ts';

/** What does not come while no webhook comes for so long is missing … */
const PATIENCE = 30_000;
/** … and after the last change. */
const PATIENCE_AT_THE_END = 10_000;
/** The share of the first webhooks that must be there before a fault strikes amid them. */
const AMID = 0.05;
const IDLE = 30_000;
/** Sessions of Postgres hand in what they counted within a second. */
const COUNTED_AFTER = 1_500;

export const yardstick: Bench = async (_lab, { quick, say }) => {
  const versions = installOwnPackages(`${import.meta.dirname}/..`, say);
  const postgres = await startKillablePostgres(['shared_preload_libraries=pg_stat_statements', 'max_connections=200']);
  const rows: Row[] = [];
  try {
    const lab = await openLab(postgres.url);
    const sql = connect(postgres.url, { max: 1, name: 'bench' });
    try {
      await sql`create extension pg_stat_statements`;
      await lab.service.ask('set', { changeEvery: 0, note: false });
      for (const scenario of quick ? SCENARIOS.slice(0, 3) : SCENARIOS) {
        say(scenario.name);
        await lab.service.ask('reset');
        const wire = await startWire(postgres.url);
        const contenders = await openContenders(lab, new URL(wire.url).port);
        const world: World = { postgres, wire, contenders };
        const found = await run(lab, sql, scenario, world);
        for (const { what, value, unit } of found) say(`  ${what}: ${value.toFixed(1)} ${unit}`);
        rows.push(...found.map((row) => ({ ...row, what: `${scenario.name}: ${row.what}` })));
        await Promise.all(contenders.map((contender) => contender.close()));
        await wire.stop();
      }
    } finally {
      await sql.end({ timeout: 1 });
      await lab.close();
    }
  } finally {
    await postgres.stop();
  }
  const named = ['pg-boss', 'graphile-worker', 'pg'].map((name) => `${name} ${versions.get(name)}`);
  return {
    bench: 'yardstick',
    how: `${PURCHASES} purchases each, all at the same time on one Postgres 15; ${named.join(', ')}; Node ${process.version}; ${new Date().toISOString().slice(0, 10)}`,
    rows,
  };
};

/** A scenario from the first change, which warms up, to the last, which shows whether all work goes on. */
async function run(lab: Lab, sql: Sql, scenario: Scenario, world: World): Promise<Row[]> {
  const { contenders } = world;
  let waves = 0;
  const change = async (): Promise<number> => {
    waves += 1;
    for (const { from } of contenders) await lab.service.ask('move', { from, count: PURCHASES });
    const at = machineTime();
    await Promise.all(contenders.map((contender) => contender.makeDue()));
    return at;
  };
  const settle = (ms: number): Promise<unknown> =>
    Promise.all(contenders.map((contender) => arrive(contender, waves * PURCHASES, ms)));

  await change();
  await settle(PATIENCE);
  const before = await deadRows(contenders);
  let end = scenario.begins === 'before' ? await scenario.strike(world) : null;
  const changed: number[] = [];
  for (let wave = 0; wave < scenario.waves; wave++) {
    changed.push(await change());
    if (scenario.ms === null) await settle(PATIENCE);
  }
  if (end === null) {
    await haveSent(contenders, PURCHASES * (1 + AMID));
    end = await scenario.strike(world);
  }
  const dead = scenario.ms === null ? await deadRows(contenders) : [];
  const idle = scenario.name === 'nothing' ? await idling(sql, contenders) : [];
  if (scenario.ms !== null) await delay(scenario.ms);
  await end();
  const mending = machineTime();
  if (scenario.ms !== null) await settle(PATIENCE);
  await change();
  await settle(PATIENCE_AT_THE_END);
  const found = await Promise.all(
    contenders.map(async (contender, at): Promise<Row[]> => {
      const receipts = await contender.receiver.ask<Receipt[]>('receipts');
      const growth = (dead[at]! - before[at]!) / (scenario.waves * PURCHASES);
      const more: Row[] = scenario.waves > 1 ? [{ what: 'dead rows for each change', value: growth, unit: '' }] : [];
      return [...outcome(contender, receipts, { scenario, waves, changed, mending }), ...more].map((row) => ({
        ...row,
        what: `${contender.name}, ${row.what}`,
      }));
    }),
  );
  return [...found.flat(), ...idle];
}

/** Waits until so many different webhooks are there, or none comes for a while; its process is started again when it ends. */
async function arrive(contender: Contender, count: number, patience: number): Promise<void> {
  const { receiver } = contender;
  let noted = 0;
  for (let at = machineTime(); machineTime() < at + patience; await delay(100)) {
    await contender.supervise();
    const now = await receiver.ask<number>('noted');
    if (now === noted) continue;
    [noted, at] = [now, machineTime()];
    if (now < count) continue;
    const receipts = await receiver.ask<Receipt[]>('receipts');
    if (new Set(receipts.map(({ index, sequence }) => `${index} ${sequence}`)).size >= count) return;
  }
}

interface Course {
  readonly scenario: Scenario;
  /** How often all purchases changed, the first and the last time among them. */
  readonly waves: number;
  /** When they changed while the scenario went on. Machine times, as the next one. */
  readonly changed: readonly number[];
  readonly mending: number;
}

function outcome(
  { from, exits, restartedAt }: Contender,
  receipts: readonly Receipt[],
  { scenario, waves, changed, mending }: Course,
): Row[] {
  const expected = Array.from({ length: PURCHASES * waves }, (_, at) => ({
    index: from + (at % PURCHASES),
    // The first is that of the state in which each purchase begins.
    sequence: 2 + Math.floor(at / PURCHASES),
  }));
  const { lost, repeats, overtaken } = tally(expected, receipts);
  const rows: Row[] = [
    { what: 'missing', value: lost, unit: '' },
    { what: 'repeated', value: repeats, unit: '' },
    { what: 'out of order', value: overtaken, unit: '' },
    { what: 'process ended', value: exits(), unit: '' },
  ];
  const lastOf = (wave: number): number | null => {
    const firsts = new Map<number, number>();
    for (const { index, sequence, at } of receipts) if (sequence === 3 + wave && !firsts.has(index)) firsts.set(index, at);
    return firsts.size < PURCHASES ? null : Math.max(...firsts.values());
  };
  const seconds = (what: string, since: number, at: number | null | undefined): void => {
    if (at != null) rows.push({ what, value: Math.max(0, at - since) / 1_000, unit: 's' });
  };
  if (scenario.ms === null) {
    seconds('all there after', changed[0]!, lastOf(0));
    if (scenario.waves > 1) seconds('all there after, last', changed.at(-1)!, lastOf(scenario.waves - 1));
  } else {
    const since = restartedAt() ?? mending;
    seconds('first after', since, receipts.find(({ at }) => at > since)?.at);
    seconds('all there after', since, lastOf(0));
  }
  return rows;
}

async function deadRows(contenders: readonly Contender[]): Promise<number[]> {
  await delay(COUNTED_AFTER);
  return Promise.all(
    contenders.map(async ({ database }) => {
      const rows = await database.sql<
        { count: number }[]
      >`select coalesce(sum(n_dead_tup), 0)::float8 as count from pg_stat_user_tables`;
      return rows[0]?.count ?? Number.NaN;
    }),
  );
}

/** Statements and bytes of the log ahead in a minute without work. */
async function idling(sql: Sql, contenders: readonly Contender[]): Promise<Row[]> {
  const read = () =>
    Promise.all(
      contenders.map(async ({ database }) => {
        const [row] = await sql<[{ calls: number; bytes: number }]>`
          select coalesce(sum(s.calls), 0)::float8 as calls, coalesce(sum(s.wal_bytes), 0)::float8 as bytes
          from pg_stat_statements s join pg_database d on d.oid = s.dbid
          where d.datname = ${new URL(database.url).pathname.slice(1)}`;
        return row;
      }),
    );
  await delay(5_000);
  const before = await read();
  await delay(IDLE);
  const after = await read();
  const aMinute = 60_000 / IDLE;
  return contenders.flatMap(({ name }, at): Row[] => [
    { what: `${name}, statements a minute without work`, value: (after[at]!.calls - before[at]!.calls) * aMinute, unit: '' },
    { what: `${name}, WAL a minute without work`, value: ((after[at]!.bytes - before[at]!.bytes) * aMinute) / 1_000, unit: 'kB' },
  ]);
}
