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
import { type Row, shownWithUnit } from '../../report.ts';
import { type Contender, KINDS, openContender, PURCHASES } from './contenders.ts';
import { SCENARIOS, type Scenario, type World } from './scenarios.ts';

/** What does not come while no webhook comes for so long is missing: longer than pg-boss needs to try a job of a killed process again. */
const PATIENCE = 18_000;
/** The share of the first webhooks that must be there before a fault strikes amid them. */
const AMID = 0.05;
/** Of each purchase: its first event is that of the state in which it begins, its second warms up. */
const FIRST_UNDER_FAULT = 3;
const IDLE = 20_000;
/** What follows work, such as counts and statistics, is written within it. */
const AT_REST_AFTER = 10_000;
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
        for (const kind of KINDS) {
          const wire = await startWire(postgres.url);
          const contender = await openContender(lab, kind, new URL(wire.url).port);
          const found = await run(lab, sql, scenario, { postgres, wire, contender });
          await contender.close();
          await wire.stop();
          const named = found.map((row) => ({ ...row, what: `${scenario.name}: ${kind.name}, ${row.what}` }));
          for (const row of named) say(`${row.what}: ${shownWithUnit(row)}`);
          rows.push(...named);
        }
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
    how: `${PURCHASES} purchases each, one contender after the other on Postgres 15; ${named.join(', ')}; Node ${process.version}; ${new Date().toISOString().slice(0, 10)}`,
    rows,
  };
};

/** A scenario from the first change, which warms up, to the last, which shows whether all work goes on. */
async function run(lab: Lab, sql: Sql, scenario: Scenario, world: World): Promise<Row[]> {
  const { contender } = world;
  const { receiver } = contender;
  const { ms } = scenario;
  let waves = 0;
  const change = async (): Promise<number> => {
    waves += 1;
    await lab.service.ask('move', PURCHASES);
    const at = machineTime();
    await contender.makeDue();
    return at;
  };
  const settle = (): Promise<void> => arrive(contender, waves * PURCHASES);

  await change();
  await settle();
  const before = scenario.waves > 1 ? await deadRows(contender) : 0;
  let end = scenario.begins === 'before' ? await scenario.strike(world) : null;
  const changed: number[] = [];
  for (let wave = 0; wave < scenario.waves; wave++) {
    changed.push(await change());
    if (ms === null) await settle();
  }
  while (end === null) {
    if ((await receiver.ask<number>('noted')) > PURCHASES * (1 + AMID)) end = await scenario.strike(world);
    else await delay(2);
  }
  const more: Row[] = [];
  if (scenario.waves > 1) {
    const value = ((await deadRows(contender)) - before) / (scenario.waves * PURCHASES);
    more.push({ what: 'dead rows for each change', value, unit: '' });
  }
  if (scenario.name === 'no fault') more.push(...(await idling(sql, contender)));
  await delay(ms ?? 0);
  const mended = machineTime();
  await end();
  if (ms !== null) await settle();
  await change();
  await settle();
  const receipts = await receiver.ask<Receipt[]>('receipts');
  return [
    ...outcome(receipts, { scenario, waves, changed, mended }),
    { what: 'process ended', value: contender.exits(), unit: '' },
    ...more,
  ];
}

/** Waits until so many different webhooks are there, or none comes for a while; its process is started again when it ends. */
async function arrive(contender: Contender, count: number): Promise<void> {
  const { receiver } = contender;
  let noted = 0;
  for (let at = machineTime(); machineTime() < at + PATIENCE; await delay(100)) {
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
  readonly mended: number;
}

function outcome(receipts: readonly Receipt[], { scenario, waves, changed, mended }: Course): Row[] {
  // The first of each purchase is that of the state in which it begins.
  const expected = Array.from({ length: PURCHASES * waves }, (_, at) => ({
    index: at % PURCHASES,
    sequence: 2 + Math.floor(at / PURCHASES),
  }));
  const { lost, repeats, overtaken } = tally(expected, receipts);
  const rows: Row[] = [
    { what: 'missing', value: lost, unit: '' },
    { what: 'repeated', value: repeats, unit: '' },
    { what: 'out of order', value: overtaken, unit: '' },
  ];
  const lastOf = (wave: number): number | null => {
    const firsts = new Map<number, number>();
    for (const { index, sequence, at } of receipts)
      if (sequence === FIRST_UNDER_FAULT + wave && !firsts.has(index)) firsts.set(index, at);
    return firsts.size < PURCHASES ? null : Math.max(...firsts.values());
  };
  const seconds = (what: string, since: number, at: number | null | undefined): void => {
    if (at != null) rows.push({ what, value: Math.max(0, at - since) / 1_000, unit: 's' });
  };
  if (scenario.ms === null) {
    seconds('all there after', changed[0]!, lastOf(0));
    if (scenario.waves > 1) seconds('all there after, fifth time', changed.at(-1)!, lastOf(scenario.waves - 1));
  } else {
    seconds('first after', mended, receipts.find(({ at, sequence }) => at > mended && sequence === FIRST_UNDER_FAULT)?.at);
    seconds('all there after', mended, lastOf(0));
  }
  return rows;
}

async function deadRows({ database }: Contender): Promise<number> {
  await delay(COUNTED_AFTER);
  const [row] = await database.sql<[{ count: number }]>`select sum(n_dead_tup)::float8 as count from pg_stat_user_tables`;
  return row.count;
}

/** Statements and bytes of the log ahead in a minute without work. */
async function idling(sql: Sql, { database }: Contender): Promise<Row[]> {
  const read = async () => {
    const [row] = await sql<[{ calls: number; bytes: number }]>`
      select sum(s.calls)::float8 as calls, sum(s.wal_bytes)::float8 as bytes
      from pg_stat_statements s join pg_database d on d.oid = s.dbid
      where d.datname = ${new URL(database.url).pathname.slice(1)}`;
    return row;
  };
  await delay(AT_REST_AFTER);
  const before = await read();
  await delay(IDLE);
  const after = await read();
  const aMinute = 60_000 / IDLE;
  return [
    { what: 'statements a minute without work', value: (after.calls - before.calls) * aMinute, unit: '' },
    { what: 'WAL a minute without work', value: ((after.bytes - before.bytes) * aMinute) / 1_000, unit: 'kB' },
  ];
}
